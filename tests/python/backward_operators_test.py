"""The operators of a backward pass, chained as a layer does, against autograd of the unfused layer;
and those of an optimizer's step against its formula."""

from typing import Any

import error_rule
import formulas
import pytest
import torch
import torch.nn.functional as F
from cases import EPSILON, normal
from error_rule import Draw
from torch import Tensor

OPS = torch.ops.coda
M, H, FFN, HEAD_DIM = 37, 136, 72, 64
Tensors = dict[str, Tensor]


def autograd(formula: Any, inputs: Tensors, dout: list[Tensor]) -> Tensors:
    leaves = {name: t.clone().requires_grad_() for name, t in inputs.items()}
    made = formula(**leaves)
    torch.autograd.backward(made, [d.to(o.dtype) for d, o in zip(dout, made)])
    return {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}


def check(fused: Any, formula: Any, draw: Any, dout: list[Tensor]) -> None:
    inputs = [draw() for _ in range(4)]
    mine = fused(**inputs[0])
    stock = [autograd(formula, case, dout) for case in inputs]
    exact = [autograd(formula, {n: t.double() for n, t in case.items()}, dout) for case in inputs]
    assert mine.keys() == exact[0].keys()
    for name in mine:
        draws = [Draw(s[name], e[name]) for s, e in zip(stock, exact)]
        error_rule.check(name, mine[name], draws, 2 * H)


@pytest.fixture(params=[torch.float32, torch.bfloat16], ids=str)
def dtype(request: pytest.FixtureRequest, device: str) -> torch.dtype:
    if device == "cuda" and request.param == torch.float32:
        pytest.skip("on a GPU GEMMs take no fp32")
    return request.param


@pytest.mark.parametrize("activation", ["silu", "gelu", "gelu_tanh", "relu"])
def test_back_through_an_mlp(device: str, dtype: torch.dtype, activation: str) -> None:
    """x + down(f(gate)·up) behind an RMSNorm: B3 to B6."""
    kind: dict[str, Any] = {"dtype": dtype, "device": device}
    dy = normal(M, H, **kind)

    def draw() -> Tensors:
        return {
            "x": normal(M, H, **kind), "gamma": normal(H, **kind),
            "gate": normal(FFN, H, **kind, scale=H**-0.5),
            "up": normal(FFN, H, **kind, scale=H**-0.5),
            "down": normal(H, FFN, **kind, scale=FFN**-0.5),
        }  # fmt: skip

    def formula(x: Tensor, gamma: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> list[Tensor]:
        n = formulas.rms_norm(x, gamma, EPSILON)
        f = formulas.ACTIVATIONS[activation]
        return [x + F.linear(f(F.linear(n, gate)) * F.linear(n, up), down)]

    def fused(x: Tensor, gamma: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensors:
        scaled, squares = OPS.norm_inputs(x, gamma)
        norm = (squares, EPSILON, H)
        a, g, u = OPS.linear_swiglu(scaled, gate, up, *norm, activation)
        dg, du, again, dots = OPS.linear_swiglu_backward(dy, down, g, u, *norm, activation, True)
        assert torch.allclose(a.float(), again.float(), rtol=2**-6, atol=1e-3)
        dx, scaled_again, dgamma = OPS.linear_norm_backward(
            [dg, du], [gate, up], x, squares, EPSILON, dots, dy, gamma, True
        )
        assert torch.equal(scaled, scaled_again)
        dgate, dup = OPS.linear_weight_grad([dg, du], scaled).split(FFN)
        ddown = OPS.linear_weight_grad([dy], again)
        return {"x": dx, "gamma": dgamma, "gate": dgate, "up": dup, "down": ddown}

    check(fused, formula, draw, [dy])


@pytest.mark.parametrize("options", ["plain", "biases", "norms"])
def test_back_to_attention_inputs(device: str, dtype: torch.dtype, options: str) -> None:
    """q, k, v behind an RMSNorm, and x handed on beside them: B0 to B2."""
    kind: dict[str, Any] = {"dtype": dtype, "device": device}
    widths = dict(zip("qkv", (4 * HEAD_DIM, 2 * HEAD_DIM, 2 * HEAD_DIM)))
    dq, dk, dv = (normal(M, n, **kind) for n in widths.values())
    dx_in = normal(M, H, **kind)
    positions = torch.arange(M, device=device)
    angle = torch.rand(M, HEAD_DIM // 2, device=device) * 6
    cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)

    def draw() -> Tensors:
        made = {"x": normal(M, H, **kind), "gamma": normal(H, **kind)}
        made |= {
            f"{n}_weight": normal(width, H, **kind, scale=H**-0.5) for n, width in widths.items()
        }
        if options == "biases":
            made |= {f"{n}_bias": normal(width, **kind) for n, width in widths.items()}
        if options == "norms":
            made |= {f"{n}_norm": 1 + 0.3 * normal(HEAD_DIM, **kind) for n in "qk"}
        return made

    def formula(x: Tensor, gamma: Tensor, **rest: Tensor) -> list[Tensor]:
        n = formulas.rms_norm(x, gamma, EPSILON)
        turn = {"cos": cos.to(x.dtype), "sin": sin.to(x.dtype), "norm_epsilon": 1e-6}
        q, k, v = formulas.linear_rope(n, head_dim=HEAD_DIM, positions=positions, **turn, **rest)
        return [q, k, v, x]

    def fused(x: Tensor, gamma: Tensor, **rest: Tensor) -> Tensors:
        scaled, squares = OPS.norm_inputs(x, gamma)
        norm = {"squares": squares, "epsilon": EPSILON, "width": H}
        turn = {"positions": positions, "cos": cos, "sin": sin, "norm_epsilon": 1e-6}
        q, k, v, zq, zk = OPS.linear_rope(scaled, head_dim=HEAD_DIM, **norm, **turn, **rest)
        saved = (zq, zk, v) if options == "norms" else (q, k, v)
        others = {name: t for name, t in rest.items() if not name.endswith("weight")}
        *dz, sums, dqb, dkb, dvb, dqn, dkn = OPS.rope_backward(
            dq, dk, dv, *saved, HEAD_DIM, **norm, **turn, **others
        )
        weights = [rest[f"{n}_weight"] for n in "qkv"]
        dx, _, dgamma = OPS.linear_norm_backward(
            dz, weights, x, squares, EPSILON, sums, dx_in, gamma
        )
        dw = OPS.linear_weight_grad(dz, scaled).split(list(widths.values()))
        made = {"x": dx, "gamma": dgamma} | {f"{n}_weight": d for n, d in zip("qkv", dw)}
        if options == "biases":
            made |= {"q_bias": dqb, "k_bias": dkb, "v_bias": dvb}
        if options == "norms":
            made |= {"q_norm": dqn, "k_norm": dkn}
        return made

    check(fused, formula, draw, [dq, dk, dv, dx_in])


def test_adamw_takes_the_step_of_torch(device: str) -> None:
    kind: dict[str, Any] = {"dtype": torch.float32, "device": device}
    master, gradient, gamma = normal(9, 72, **kind), normal(9, 72, **kind), normal(72, **kind)
    parameter = torch.nn.Parameter(master.double())
    stock = torch.optim.AdamW([parameter], lr=0.01, betas=(0.9, 0.95), eps=1e-6, weight_decay=0.1)
    state = (master, torch.zeros_like(master), torch.zeros_like(master))
    norm, factor = OPS.clip_factor(OPS.square_sums(gradient), 2.0)
    assert torch.allclose(norm.double(), gradient.double().norm(), rtol=1e-6)
    for step in range(1, 4):
        parameter.grad = gradient.double()
        torch.nn.utils.clip_grad_norm_([parameter], 2.0)
        stock.step()
        rates = torch.tensor([0.01, 1 / (1 - 0.9**step), 1 / (1 - 0.95**step)], device=device)
        before = [t.clone() for t in state]
        *after, weight, folded = OPS.adamw(
            *state, gradient, rates, factor, gamma, 0.9, 0.95, 1e-6, 0.1, torch.float32
        )
        assert all(torch.equal(a, b) for a, b in zip(state, before))
        state = tuple(after)
        assert torch.allclose(state[0].double(), parameter, rtol=1e-5, atol=1e-6)
        assert torch.equal(weight, state[0])
        assert torch.equal(folded, weight * gamma)


def test_adamw_leaves_all_where_the_gradient_is_not_finite(device: str) -> None:
    kind: dict[str, Any] = {"dtype": torch.float32, "device": device}
    state = [normal(8, 64, **kind) for _ in range(3)]
    gamma = normal(64, dtype=torch.bfloat16, device=device)
    clip, rates = torch.full((1,), float("nan"), device=device), torch.ones(3, device=device)
    made = OPS.adamw(*state, state[0], rates, clip, gamma, dtype=torch.bfloat16)
    assert all(torch.equal(a, b) for a, b in zip(made, state))
    assert torch.equal(made[3], state[0].bfloat16())
    assert torch.equal(made[4], state[0].bfloat16() * gamma)


def test_embedding_backward_adds_rows_of_equal_tokens(device: str) -> None:
    tokens = torch.tensor([3, 0, 3, 3, 5], device=device)
    for dtype, out in ((torch.bfloat16, torch.float32), (torch.bfloat16, None),
                       (torch.float16, torch.float32), (torch.float32, None)):  # fmt: skip
        dx = torch.randint(-4, 5, (5, 72), device=device).to(dtype)
        for kind in (torch.int64, torch.int32):
            table = OPS.embedding_backward(dx, tokens.to(kind), 7, out)
            expected = torch.zeros(7, 72, device=device).index_add(0, tokens, dx.float())
            assert table.dtype == (out or dtype)
            assert torch.equal(table.float(), expected)
