"""The halves of a decoder layer against the unfused one in fp64: values, gradients, policies."""

import sys

import pytest
import torch
import unfused_layer
from error_rule import check_errors
from operator_calls import Calls
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend
from torch.utils.checkpoint import checkpoint

from coda import layer

EPSILONS = (1e-5, 1e-6)


class Problem:
    """A layer's parameters and a batch; attention is replaced by a function of q, k and v."""

    def __init__(self, tokens=70, width=80, head_dim=16, heads=4, kv_heads=2, ffn=104, biases=False,
                 norms=False, dtype=torch.float32, parameters=None, seed=0):  # fmt: skip
        draw = torch.Generator().manual_seed(seed)

        def random(*shape, scale=1.0):
            return torch.randn(*shape, generator=draw, dtype=torch.float64) * scale

        def weight(rows, columns):
            return random(rows, columns, scale=columns**-0.5)

        q, kv = heads * head_dim, kv_heads * head_dim
        p = {"gamma": 1 + random(width, scale=0.2), "gamma2": 1 + random(width, scale=0.2)}
        p |= {"q_weight": weight(q, width), "k_weight": weight(kv, width)}
        p |= {"v_weight": weight(kv, width), "o_weight": weight(width, q)}
        p |= {"gate_weight": weight(ffn, width), "up_weight": weight(ffn, width)}
        p |= {"down_weight": weight(width, ffn)}
        if biases:
            p |= {"q_bias": random(q), "k_bias": random(kv), "v_bias": random(kv)}
            p |= {"o_bias": random(width)}
        if norms:
            p |= {"q_norm": 1 + random(head_dim, scale=0.2), "k_norm": 1 + random(head_dim)}
        angle = torch.arange(tokens + 3)[:, None] * 0.6 ** torch.arange(head_dim // 2)
        self.head_dim, self.repeats = head_dim, heads // kv_heads
        self.positions = torch.randint(tokens + 3, (tokens,), generator=draw)
        self.cos, self.sin = angle.cos().to(dtype), angle.sin().to(dtype)
        kind = parameters or dtype
        self.parameters = {name: value.to(kind).requires_grad_() for name, value in p.items()}
        self.x = random(tokens, width).to(dtype).requires_grad_()
        self.dout = random(tokens, width).to(dtype)

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Any function will do, if all of q, k and v count."""
        return q.tanh() + (k.sin() * v).repeat(1, self.repeats)

    def fused(self, x=None, recompute="activation", activation="silu", positions=None) -> Tensor:
        p = dict(self.parameters)
        half = ("o_weight", "gamma2", "gate_weight", "up_weight", "down_weight")
        o, gamma2, gate, up, down = (p.pop(name) for name in half)
        o_bias = p.pop("o_bias", None)
        q, k, v, stream = layer.attention_inputs(
            self.x if x is None else x,
            **p,
            head_dim=self.head_dim,
            epsilon=EPSILONS[0],
            norm_epsilon=EPSILONS[1],
            positions=self.positions if positions is None else positions,
            cos=self.cos,
            sin=self.sin,
            recompute=recompute,
        )
        return layer.attention_outputs(
            self.attend(q, k, v), stream, o, gamma2, gate, up, down, o_bias=o_bias,
            epsilon=EPSILONS[0], activation=activation, recompute=recompute
        )[0]  # fmt: skip

    def unfused(self, leaves: dict[str, Tensor], activation="silu") -> Tensor:
        x = leaves["x"]
        tables = (self.cos.to(x.dtype), self.sin.to(x.dtype), self.positions)
        y = self.attend(*unfused_layer.attention_inputs(leaves, x, tables, self.head_dim, EPSILONS))
        return unfused_layer.attention_outputs(leaves, y, x, EPSILONS[0], activation)

    def leaves(self, dtype=None) -> dict[str, Tensor]:
        every = {"x": self.x, **self.parameters}
        if dtype is None:
            return every
        return {name: t.detach().to(dtype).requires_grad_() for name, t in every.items()}

    def results(self, out: Tensor, leaves: dict[str, Tensor]) -> dict[str, Tensor]:
        """out and the gradients of the leaves that need one."""
        wanted = {name: leaf for name, leaf in leaves.items() if leaf.requires_grad}
        gradients = torch.autograd.grad(out, list(wanted.values()), self.dout.to(out.dtype))
        return {"out": out.detach(), **dict(zip(wanted, gradients))}

    def exact(self, dtype=torch.float64, activation="silu") -> dict[str, Tensor]:
        leaves = self.leaves(dtype)
        return self.results(self.unfused(leaves, activation), leaves)


OPTIONS = [{}, {"biases": True}, {"norms": True}, {"biases": True, "norms": True}]


@pytest.mark.parametrize("recompute", layer.RECOMPUTE)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_error_rule(options, dtype, recompute):
    problem = Problem(dtype=dtype, **options)
    got = problem.results(problem.fused(recompute=recompute), problem.leaves())
    check_errors(got, problem.exact(dtype), problem.exact(), contraction=104)
    assert all(got[name].dtype == leaf.dtype for name, leaf in problem.leaves().items())


@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh", "relu"])
def test_activations(activation):
    problem = Problem(dtype=torch.bfloat16)
    got = problem.results(problem.fused(activation=activation), problem.leaves())
    check_errors(
        got, problem.exact(torch.bfloat16, activation), problem.exact(activation=activation), 104
    )


@pytest.mark.parametrize("tokens", [1, 2, 65])
def test_ragged_shapes(tokens):
    problem = Problem(tokens=tokens, width=38, head_dim=6, heads=3, kv_heads=1, ffn=21)
    got = problem.results(problem.fused(), problem.leaves())
    check_errors(got, problem.exact(torch.float32), problem.exact(), contraction=70)


def test_no_tokens():
    problem = Problem(tokens=0)
    got = problem.results(problem.fused(), problem.leaves())
    assert got.pop("out").shape == got.pop("x").shape == (0, 80)
    assert all(not gradient.any() for gradient in got.values())


@pytest.mark.parametrize("policy", layer.RECOMPUTE)
def test_gated_mlp(policy):
    problem = Problem(dtype=torch.bfloat16)
    names = ("gamma2", "gate_weight", "up_weight", "down_weight")

    def results(leaves, fused):
        leaves = {name: leaves[name] for name in ("x", *names)}
        if fused:
            weights = [leaves[name] for name in names]
            out = layer.gated_mlp(leaves["x"], *weights, epsilon=EPSILONS[0], recompute=policy)
        else:
            out = unfused_layer.mlp(leaves, leaves["x"], EPSILONS[0], "silu")
        return problem.results(out, leaves)

    got = results(problem.leaves(), fused=True)
    stock = results(problem.leaves(torch.bfloat16), fused=False)
    check_errors(got, stock, results(problem.leaves(torch.float64), fused=False), 104)
    weights = [problem.parameters[name] for name in names]
    with torch.no_grad():
        again = layer.gated_mlp(problem.x, *weights, epsilon=EPSILONS[0], recompute=policy)
    assert torch.equal(again, got["out"])


@pytest.mark.parametrize("policy", ["activation", "block"])
def test_frozen_weights_cost_no_gemm(policy):
    problem = Problem()
    learning = {"q_weight", "v_weight", "gamma2", "up_weight"}
    want = {name: value for name, value in problem.exact(torch.float64).items()}
    for name, parameter in problem.parameters.items():
        parameter.requires_grad_(name in learning)
    problem.x.requires_grad_(False)
    with Calls() as calls:
        got = problem.results(problem.fused(recompute=policy), problem.leaves())
    assert set(got) == {"out"} | learning
    stock = problem.exact(torch.float32)
    check_errors(got, stock, {name: want[name] for name in got}, contraction=104)
    # up; q and v in one. The gradient by x is not needed: one linear_norm_backward.
    assert calls.names.count("linear_weight_grad") == 2
    assert calls.names.count("linear_norm_backward") == 1


def test_one_gemm_for_the_weights_of_a_norm():
    problem = Problem()
    with Calls() as calls:
        out = problem.fused()
        forward = list(calls.names)
        problem.results(out, problem.leaves())
    assert forward == [
        "norm_inputs",
        "linear_rope",
        "linear_residual_norm",
        "linear_swiglu",
        "linear",
    ]
    assert calls.names[len(forward) :] == [
        "linear_swiglu_backward", "linear_weight_grad",
        "linear_norm_backward", "linear_weight_grad",
        "linear", "linear_weight_grad",
        "rope_backward", "linear_norm_backward", "linear_weight_grad",
    ]  # fmt: skip


def test_without_gradients_nothing_is_kept():
    problem = Problem(dtype=torch.bfloat16, biases=True, norms=True)
    want = problem.fused().detach()
    with torch.no_grad():
        got = problem.fused()
    assert torch.equal(got, want) and not got.requires_grad


@pytest.mark.parametrize("wide", [(), ("q_weight", "up_weight")], ids=["bf16", "some fp32"])
def test_parameters_of_other_types(wide):
    """bf16 beside an fp32 stream: computed in fp32, every gradient rounded once to its own type."""
    problem = Problem(biases=True, norms=True)
    every = {name: p.detach().bfloat16() for name, p in problem.parameters.items()}
    problem.parameters = {name: p.float().requires_grad_() for name, p in every.items()}
    want = problem.results(problem.fused(), problem.leaves())
    every |= {name: every[name].float() for name in wide}
    problem.parameters = {name: p.requires_grad_() for name, p in every.items()}
    got = problem.results(problem.fused(), problem.leaves())
    for name, leaf in problem.leaves().items():
        assert got[name].dtype == leaf.dtype
        assert torch.equal(got[name], want[name].to(leaf.dtype)), name


def test_autocast():
    """Parameters and stream in fp32, computed in bf16: gradients in fp32."""
    problem = Problem(dtype=torch.bfloat16, parameters=torch.float32, biases=True, norms=True)
    problem.x = problem.x.detach().float().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        out = problem.fused()
    got = problem.results(out, problem.leaves())
    assert out.dtype == torch.bfloat16
    assert all(got[name].dtype == torch.float32 for name in problem.leaves())
    got["out"] = got["out"].float()
    stock = {name: t.float() for name, t in problem.exact(torch.bfloat16).items()}
    check_errors(got, stock, problem.exact(), contraction=104)


@pytest.mark.parametrize("recompute", ["activation", "block"])
def test_compiled_for_any_number_of_tokens(recompute):
    counter = CompileCounterWithBackend("aot_eager")
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda problem, x, positions: problem.fused(x, recompute, positions=positions),
        fullgraph=True,
        dynamic=True,
        backend=counter,
    )
    problem = Problem(tokens=90, biases=True, norms=True)
    graphs = []
    for tokens in (37, 64, 90):
        x, positions = problem.x[:tokens], problem.positions[:tokens]
        results = []
        for out in (
            compiled(problem, x, positions),
            problem.fused(x, recompute, positions=positions),
        ):
            leaves = list(problem.leaves().values())
            results.append((out, *torch.autograd.grad(out, leaves, problem.dout[:tokens])))
        for got, want in zip(*results):
            torch.testing.assert_close(got, want)
        graphs.append(counter.frame_count)
    assert graphs == graphs[:1] * 3


def test_one_derivative():
    problem = Problem()
    (dx,) = torch.autograd.grad(problem.fused().sum(), problem.x, create_graph=True)
    with pytest.raises(RuntimeError, match="has one derivative"):
        dx.sum().backward()


def test_bad_input(monkeypatch):
    with pytest.raises(TypeError, match="torch.float16 has no gradients.*torch.bfloat16"):
        Problem(dtype=torch.float16).fused()
    problem = Problem()
    problem.cos.requires_grad_()
    with pytest.raises(ValueError, match="cos or sin wants a gradient.*detach"):
        problem.fused()
    problem.cos.requires_grad_(False)
    with pytest.raises(ValueError, match="recompute is 'all', expected one of 'nothing'"):
        problem.fused(recompute="all")
    monkeypatch.setattr(sys.modules[__name__], "EPSILONS", (-1e-5, 1e-6))
    with pytest.raises(ValueError, match="a norm's epsilon is -1e-05, expected 0 or more"):
        problem.fused()


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint(reentrant):
    problem = Problem(dtype=torch.bfloat16)
    want = problem.results(problem.fused(), problem.leaves())
    out = checkpoint(problem.fused, problem.x, use_reentrant=reentrant)
    out.backward(problem.dout)
    assert torch.equal(out, want["out"])
    for name, leaf in problem.leaves().items():
        assert torch.equal(leaf.grad, want[name]), name
