"""Values and gradients of the operators by the error rule."""

from typing import Any

import error_rule
import formulas
import pytest
import torch
import torch.nn.functional as F
from cases import EPSILON, Case, all_cases, linear_case, normal, swiglu_case
from error_rule import Draw
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

OPS = torch.ops.coda
DTYPES = [torch.float32, torch.bfloat16, torch.float16]
DRAWS = 8


def outputs(result: Any) -> list[Tensor]:
    made = [result] if isinstance(result, Tensor) else list(result)
    return [out for out in made if out is not None]


def with_gradients(
    arguments: dict[str, Any], function: Any, fixed: frozenset[str] = frozenset()
) -> dict[str, Tensor]:
    """Outputs and, for random gradients of those, the gradients of every tensor."""
    leaves = {
        name: value.detach().clone().requires_grad_()
        for name, value in arguments.items()
        if isinstance(value, Tensor) and value.is_floating_point() and name not in fixed
    }
    made = outputs(function(**{**arguments, **leaves}))
    flowing = [out for out in made if out.requires_grad and out.numel() > 0]
    generator = torch.Generator().manual_seed(3)
    incoming = [  # such as every type holds
        torch.randn(out.shape, generator=generator).bfloat16().half().to(out.device, out.dtype)
        for out in flowing
    ]
    result = {f"output {i}": out.detach() for i, out in enumerate(made)}
    if flowing:
        torch.autograd.backward(flowing, incoming)
    return result | {
        f"gradient by {name}": leaf.grad for name, leaf in leaves.items() if leaf.grad is not None
    }


def in_double(arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.double() if isinstance(value, Tensor) and value.is_floating_point() else value
        for name, value in arguments.items()
    }


def check_case(draws: tuple[Case, ...], operator: Any = None, formula: Any = None) -> None:
    """The first draw's results by the error rule, whose yardstick are all draws."""
    case = draws[0]
    operator = operator or getattr(OPS, case.operator)
    formula = formula or getattr(formulas, case.operator)
    mine = with_gradients(case.arguments, operator, case.fixed)
    stock = [with_gradients(draw.arguments, formula, case.fixed) for draw in draws]
    exact = [with_gradients(in_double(draw.arguments), formula, case.fixed) for draw in draws]
    assert {key for key in exact[0] if "by" in key} == {key for key in mine if "by" in key}
    for key in exact[0]:
        pairs = [Draw(s[key], e[key]) for s, e in zip(stock, exact)]
        error_rule.check(f"{case}: {key}", mine[key], pairs, case.contraction)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("rows", [37, 1, 0])
def test_values_and_gradients(device: str, dtype: torch.dtype, rows: int) -> None:
    if device == "cuda" and dtype != torch.bfloat16:
        pytest.skip("on a GPU GEMMs take no fp32, and gradients no fp16")
    for draws in zip(*(all_cases(dtype, device, rows) for _ in range(DRAWS))):
        check_case(draws)


@settings(deadline=None, max_examples=15, derandomize=True)
@given(
    m=st.integers(0, 70),
    n=st.integers(0, 70),
    k=st.integers(1, 70),
    dtype=st.sampled_from(DTYPES),
    activation=st.sampled_from(["silu", "gelu", "gelu_tanh", "relu"]),
)
def test_any_shape(m: int, n: int, k: int, dtype: torch.dtype, activation: str) -> None:
    draws = [linear_case(dtype, "cpu", m, n, k) for _ in range(DRAWS)]
    check_case(tuple(draws))
    draws = [swiglu_case(dtype, "cpu", m, n, k, activation) for _ in range(DRAWS)]
    check_case(tuple(draws))


def test_small_integers_are_exact(device: str) -> None:
    x, w = (torch.randint(-3, 4, (s, 64)).bfloat16().to(device) for s in (40, 24))
    c = torch.randint(-9, 9, (40, 24)).float().to(device)
    result = OPS.linear(x, w, c=c, alpha=2.0, beta=-1.0, dtype=torch.float32)
    assert torch.equal(result.cpu().double(), 2 * (x.cpu().double() @ w.cpu().double().T) - c.cpu())
    factor = torch.tensor(-3.0, device=device)
    for gradient, dtype in ((c, None), (c, torch.bfloat16), (x, None)):
        scaled = OPS.scale_gradient(gradient, factor, dtype)
        assert scaled.dtype == (dtype or gradient.dtype)
        assert torch.equal(scaled.double(), -3 * gradient.double())
    dw = OPS.linear_weight_grad([x, x[:, :16]], x, torch.float32, 3.0)
    wide = torch.cat([x, x[:, :16]], 1).double()
    assert torch.equal(dw.double(), 3 * (wide.T @ x.double()))


@pytest.mark.parametrize("dtype", DTYPES[:2], ids=str)
@pytest.mark.parametrize("keep", [True, False])
def test_norm_and_swiglu_together(device: str, dtype: torch.dtype, keep: bool) -> None:
    """RMSNorm before an MLP: gradients flow through x⊙γ and through the sums of squares."""
    if device == "cuda" and dtype != torch.bfloat16:
        pytest.skip("on a GPU GEMMs take no fp32")

    def fused(x: Tensor, gamma: Tensor, gate: Tensor, up: Tensor) -> Tensor:
        scaled, squares = OPS.norm_inputs(x, gamma)
        out, _, _ = OPS.linear_swiglu(scaled, gate, up, squares, EPSILON, x.shape[1], keep=keep)
        return out

    def formula(x: Tensor, gamma: Tensor, gate: Tensor, up: Tensor) -> Tensor:
        n = formulas.rms_norm(x, gamma, EPSILON)
        return F.silu(F.linear(n, gate)) * F.linear(n, up)

    def draw() -> Case:
        kind: dict[str, Any] = {"dtype": dtype, "device": device}
        weights = {name: normal(72, 136, **kind, scale=136**-0.5) for name in ("gate", "up")}
        return Case("MLP", {"x": normal(41, 136, **kind), "gamma": normal(136, **kind), **weights},
                    136)  # fmt: skip

    check_case(tuple(draw() for _ in range(DRAWS)), fused, formula)


def test_stream_in_fp32(device: str) -> None:
    """bf16 operands beside a residual stream of fp32."""

    def draw() -> Case:
        kind: dict[str, Any] = {"dtype": torch.bfloat16, "device": device}
        arguments = {
            "x": normal(37, 136, **kind),
            "weight": normal(72, 136, **kind),
            "residual": normal(37, 72, dtype=torch.float32, device=device),
            "gamma": normal(72, **kind),
        }
        return Case("linear_residual_norm", arguments, 136)

    check_case(tuple(draw() for _ in range(DRAWS)))


def test_views_are_read_as_they_are(device: str) -> None:
    """Either major, rows with a pitch, an expanded gradient, every other column."""
    x, w = (
        normal(48, 64, dtype=torch.bfloat16, device=device),
        normal(64, 64, dtype=torch.bfloat16, device=device),
    )
    expected = OPS.linear(x, w)
    wide = torch.cat([x, x], 1)
    assert torch.equal(OPS.linear(wide[:, :64], w), expected)
    assert torch.equal(OPS.linear(x, w.t().contiguous().t()), expected)
    spread = torch.stack([x, x], 2).flatten(1)[:, ::2]  # no step of 1: copied
    assert torch.equal(OPS.linear(spread, w), expected)
    bias = torch.stack([x[0], x[0]], 1)[:, 0]
    assert torch.equal(OPS.linear(x, w, bias), OPS.linear(x, w, x[0].clone()))
    leaf = x.clone().requires_grad_()
    OPS.linear(leaf, w).sum().backward()
    assert torch.equal(leaf.grad, OPS.linear(torch.ones_like(expected), w.t()))


def test_variants_of_the_embedding(device: str) -> None:
    """Tokens of either integer type, and a stream of fp32 from a table of bf16."""
    table = normal(7, 72, dtype=torch.bfloat16, device=device).requires_grad_()
    gamma, tokens = table[3].detach(), torch.tensor([2, 6, 2], device=device)
    expected = OPS.embedding_norm(table.detach(), tokens, gamma)
    assert torch.equal(expected[0], table[tokens])
    for mine, wanted in zip(OPS.embedding_norm(table, tokens.int(), gamma), expected):
        assert torch.equal(mine, wanted)
    stream, scaled, squares = OPS.embedding_norm(table, tokens, gamma, torch.float32)
    assert torch.equal(stream, table[tokens].float())
    assert torch.equal(scaled, expected[1]) and torch.equal(squares, expected[2])
    stream.sum().backward()
    counts = torch.tensor([0, 0, 2, 0, 0, 0, 1], device=device)
    assert torch.equal(table.grad, counts.bfloat16().unsqueeze(1).expand(7, 72))
