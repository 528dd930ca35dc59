"""The halves of a decoder layer with LayerNorm, and their operators, against the unfused layer in
fp64: values, gradients, policies."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from error_rule import Draw, check
from operator_calls import Calls
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend
from unfused_layer import ACTIVATIONS

from coda.layer import RECOMPUTE
from coda.layer_norm_layer import layer_norm_linear, layer_norm_outputs

OPS = torch.ops.coda
EPSILON = 1e-5
DRAWS = 4
OUTPUT_NAMES = (
    "o_weight", "o_bias", "gamma2", "beta2", "up_weight", "up_bias", "down_weight", "down_bias"
)  # fmt: skip
Tensors = dict[str, Tensor]


class Problem:
    """A layer's parameters and a batch; attention is replaced by a function of q, k and v."""

    def __init__(
        self, tokens: int = 70, width: int = 80, ffn: int = 104, dtype: Any = torch.float32,
        device: str = "cpu", seed: int = 0,
    ):  # fmt: skip
        draw = torch.Generator().manual_seed(seed)

        def random(*shape: int, scale: float = 1.0) -> Tensor:
            return torch.randn(*shape, generator=draw, dtype=torch.float64) * scale

        values = {"x": random(tokens, width) + 0.3}
        for i, (name, rows, columns) in enumerate(
            (
                ("qkv", width, 3 * width),
                ("o", width, width),
                ("up", width, ffn),
                ("down", ffn, width),
            )
        ):
            values[f"{name}_weight"] = random(rows, columns, scale=rows**-0.5)
            values[f"{name}_bias"] = random(columns)
            if i < 2:
                values[f"gamma{i + 1}"] = 1 + random(width, scale=0.2)
                values[f"beta{i + 1}"] = random(width, scale=0.5)
        self.leaves = {n: t.to(device, dtype).requires_grad_() for n, t in values.items()}
        self.dout = random(tokens, width).to(device, dtype)

    @staticmethod
    def attend(qkv: Tensor) -> Tensor:
        """Any function will do, if all of q, k and v count."""
        q, k, v = qkv.chunk(3, -1)
        return q.tanh() + k.sin() * v

    def fused(self, recompute: str = "activation", activation: str = "gelu_tanh") -> Tensor:
        p = self.leaves
        first = (p[name] for name in ("x", "gamma1", "beta1", "qkv_weight", "qkv_bias"))
        qkv, x = layer_norm_linear(*first, epsilon=EPSILON)
        return layer_norm_outputs(
            self.attend(qkv), x, *(p[name] for name in OUTPUT_NAMES), epsilon=EPSILON,
            activation=activation, recompute=recompute,
        )[0]  # fmt: skip

    @classmethod
    def unfused(cls, p: Tensors, activation: str) -> Tensor:
        def norm(x: Tensor, i: int) -> Tensor:
            return F.layer_norm(x, x.shape[1:], p[f"gamma{i}"], p[f"beta{i}"], EPSILON)

        y = cls.attend(torch.addmm(p["qkv_bias"], norm(p["x"], 1), p["qkv_weight"]))
        x1 = torch.addmm(p["o_bias"], y, p["o_weight"]) + p["x"]
        a = ACTIVATIONS[activation](torch.addmm(p["up_bias"], norm(x1, 2), p["up_weight"]))
        return torch.addmm(p["down_bias"], a, p["down_weight"]) + x1

    def results(self, out: Tensor, leaves: Tensors) -> Tensors:
        """out and the gradients of the leaves that need one."""
        wanted = {name: leaf for name, leaf in leaves.items() if leaf.requires_grad}
        gradients = torch.autograd.grad(out, list(wanted.values()), self.dout.to(out.dtype))
        return {"out": out.detach(), **dict(zip(wanted, gradients))}

    def unfused_results(self, dtype: torch.dtype, activation: str = "gelu_tanh") -> Tensors:
        leaves = {n: t.detach().to(dtype).requires_grad_() for n, t in self.leaves.items()}
        return self.results(self.unfused(leaves, activation), leaves)


def check_problem(
    recompute: str = "activation", activation: str = "gelu_tanh", dtype: Any = torch.float32,
    **options: Any,
) -> None:  # fmt: skip
    """The error rule; what stock PyTorch does is seen over several draws."""
    problems = [Problem(dtype=dtype, seed=seed, **options) for seed in range(DRAWS)]
    got = problems[0].results(problems[0].fused(recompute, activation), problems[0].leaves)
    stock = [p.unfused_results(dtype, activation) for p in problems]
    exact = [p.unfused_results(torch.float64, activation) for p in problems]
    assert got.keys() == exact[0].keys()
    for name, result in got.items():
        check(name, result, [Draw(s[name], e[name]) for s, e in zip(stock, exact)], 240)


@pytest.fixture(params=[torch.float32, torch.bfloat16], ids=["fp32", "bf16"])
def dtype(request: pytest.FixtureRequest, device: str) -> torch.dtype:
    if device == "cuda" and request.param == torch.float32:
        pytest.skip("on a GPU GEMMs take no fp32")
    return request.param


@pytest.mark.parametrize("recompute", RECOMPUTE)
def test_error_rule(device: str, dtype: torch.dtype, recompute: str) -> None:
    check_problem(recompute, dtype=dtype, device=device)


@pytest.mark.parametrize("activation", ["gelu", "silu", "relu"])
def test_activations(device: str, activation: str) -> None:
    check_problem(activation=activation, dtype=torch.bfloat16, device=device)
    check_problem("nothing", activation, torch.bfloat16, device=device)


@pytest.mark.parametrize("tokens", [1, 2, 65])
def test_ragged_shapes(tokens: int) -> None:
    check_problem(tokens=tokens, width=38, ffn=21)


def test_no_tokens() -> None:
    problem = Problem(tokens=0)
    got = problem.results(problem.fused(), problem.leaves)
    assert got.pop("out").shape == got.pop("x").shape == (0, 80)
    assert all(not gradient.any() for gradient in got.values())


def test_parameters_of_another_type() -> None:
    """bf16 beside an fp32 stream: computed in fp32, every gradient rounded once to its own type."""
    problem = Problem()
    stream = {"x": problem.leaves.pop("x")}
    narrow = {name: p.detach().bfloat16().requires_grad_() for name, p in problem.leaves.items()}
    problem.leaves = {name: p.detach().float().requires_grad_() for name, p in narrow.items()}
    problem.leaves |= stream
    want = problem.results(problem.fused(), problem.leaves)
    problem.leaves = narrow | stream
    got = problem.results(problem.fused(), problem.leaves)
    for name, leaf in problem.leaves.items():
        assert torch.equal(got[name], want[name].to(leaf.dtype)), name


def test_frozen_weights_cost_no_gemm() -> None:
    problem = Problem()
    learning = {"qkv_bias", "beta2", "up_weight"}
    exact = problem.unfused_results(torch.float64)
    stock = problem.unfused_results(torch.float32)
    for name, leaf in problem.leaves.items():
        leaf.requires_grad_(name in learning)
    with Calls() as calls:
        got = problem.results(problem.fused(), problem.leaves)
    assert set(got) == {"out"} | learning
    for name in got:
        check(name, got[name], [Draw(stock[name], exact[name])], 240)
    assert calls.names.count("linear_weight_grad") == 1
    assert calls.names.count("linear_layer_norm_backward") == 1


def test_the_operators_of_a_layer() -> None:
    problem = Problem()
    with Calls() as calls:
        out = problem.fused()
        forward = list(calls.names)
        problem.results(out, problem.leaves)
    assert forward == [
        "layer_norm_inputs", "linear", "linear_activation",
        "linear_residual_layer_norm", "linear", "linear_activation", "linear_residual_layer_norm",
    ]  # fmt: skip
    assert calls.names[len(forward) :] == [
        "linear_activation_backward", "linear_weight_grad", "linear_layer_norm_backward",
        "linear", "linear_weight_grad", "linear_weight_grad",
        "layer_norm_sums", "linear_layer_norm_backward", "linear_weight_grad",
    ]  # fmt: skip


def test_without_gradients_the_same_bits(device: str) -> None:
    problem = Problem(dtype=torch.bfloat16, device=device)
    want = problem.fused().detach()
    with torch.no_grad():
        got = problem.fused()
    assert torch.equal(got, want) and not got.requires_grad


def test_compiled_for_any_number_of_tokens() -> None:
    counter = CompileCounterWithBackend("aot_eager")
    torch._dynamo.reset()
    compiled = torch.compile(Problem.fused, fullgraph=True, dynamic=True, backend=counter)
    graphs = []
    for tokens in (37, 64, 90):
        problem = Problem(tokens=tokens)
        want = problem.results(problem.fused(), problem.leaves)
        for name, got in problem.results(compiled(problem), problem.leaves).items():
            torch.testing.assert_close(got, want[name])
        graphs.append(counter.frame_count)
    assert graphs == graphs[:1] * 3


def test_one_derivative() -> None:
    problem = Problem()
    (dx,) = torch.autograd.grad(problem.fused().sum(), problem.leaves["x"], create_graph=True)
    with pytest.raises(RuntimeError, match="has one derivative"):
        dx.sum().backward()
