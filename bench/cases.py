"""Each operation beside PyTorch: inputs, the same computation in PyTorch, coda's call, the bare
GEMM.

`function` computes from the same inputs what the operation computes, in the type of its inputs: in
bf16 it is the eager contender (and, compiled, torch.compile), in fp64 the truth. `usual` is what a
framework would run there, where that is less: it has no use for row sums that coda's next operation
reads. Row factors come as the partial sums that the operation before has left. `coda` calls the C
interface, `operator` the PyTorch package; the first result of both is the same.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch
import torch.nn.functional as F
from capi import NAMES, halves, pair
from torch_layer import EPSILON, HEAD_DIM, rotate

Values = dict[str, torch.Tensor]
ACTIVATIONS = {  # in the order of coda's numbers
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
}


@dataclass
class Case:
    operation: str
    variant: str
    inputs: Values
    function: Callable[[Values], Values]
    coda: Callable[[Callable], Values]  # of a function like Coda.run
    gemm: tuple[torch.Tensor, torch.Tensor] | None  # torch.mm of these
    usual: Callable[[Values], Values] | None = None
    flops: float = 0.0
    operator: Callable[[], object] | None = None  # the same call of torch.ops.coda
    options: str = ""  # what sets the case apart from others of the variant


def wide(t: torch.Tensor) -> torch.Tensor:
    """What a framework computes in: fp32 at least."""
    return t.float() if t.element_size() < 4 else t


class Maker:
    def __init__(self, device: str, dtype: torch.dtype = torch.bfloat16, zeros: bool = False):
        self.device, self.dtype, self.zeros = device, dtype, zeros

    def normal(self, *size, scale: float = 1.0) -> torch.Tensor:
        return (torch.randn(*size, device=self.device) * scale).to(self.dtype)

    def activation(self, *size) -> torch.Tensor:
        made = torch.zeros if self.zeros else torch.randn
        return made(*size, device=self.device).to(self.dtype)

    def weight(self, N: int, K: int) -> torch.Tensor:
        return self.normal(N, K, scale=K**-0.5)

    def gamma(self, h: int) -> torch.Tensor:
        return 1 + self.normal(h, scale=0.25)

    def empty(self, *size, dtype=None) -> torch.Tensor:
        return torch.empty(*size, device=self.device, dtype=dtype or self.dtype)

    def partials(self, parts: int, columns: int) -> torch.Tensor:
        return self.empty(parts, columns, dtype=torch.float32)

    @property
    def type(self) -> str:
        return NAMES[self.dtype]


def parts(extent: int, width: int = 64) -> int:
    return (extent + width - 1) // width


def squares_of(x: torch.Tensor) -> torch.Tensor:
    """[⌈h/64⌉, M] of x [M, h]."""
    padded = F.pad(x.float().square(), (0, -x.shape[1] % 64))
    return padded.view(x.shape[0], -1, 64).sum(2).t().contiguous()


def factor(width: int, squares: torch.Tensor) -> dict:
    return dict(rstd=squares, rstd__width=float(width), rstd__epsilon=EPSILON)


def number_of(activation: str) -> float:
    return float(list(ACTIVATIONS).index(activation))


def norm_of(squares: torch.Tensor | None, width: int) -> tuple:
    """Row factor of an operator: squares, epsilon, width."""
    return () if squares is None else (squares, EPSILON, width)


def rstd_of(squares: torch.Tensor, width: int) -> torch.Tensor:
    """[M, 1]"""
    return torch.rsqrt(wide(squares).sum(0) / width + EPSILON)[:, None]


def linear(make: Maker, M: int, N: int, K: int, normed: bool = False) -> Case:
    """normed: with the row factor of a norm."""
    a, w, out = make.activation(M, K), make.weight(N, K), make.empty(M, N)
    squares = squares_of(a) if normed else None

    def coda(run):
        run("linear", make.type, a, w, out=out, **(factor(K, squares) if normed else {}))
        return dict(out=out)

    def usual(v):  # from the normalised input
        return dict(out=v["a"] @ v["w"].t())

    def function(v):
        out = usual(v)["out"]
        return dict(out=(wide(out) * rstd_of(squares, K)).to(out.dtype) if normed else out)

    def operator():
        return torch.ops.coda.linear(a, w, None, *norm_of(squares, K))

    gemm, flops = (a, w.t()), 2.0 * M * N * K
    return Case("linear", make.type, dict(a=a, w=w), function, coda, gemm, usual, flops, operator)


def linear_sum(make: Maker, M: int, N: int, K: int, biased: bool) -> Case:
    """α·A Bᵀ + β·C; biased: and a bias."""
    a, w, c, out = make.activation(M, K), make.weight(N, K), make.activation(M, N), make.empty(M, N)
    bias, alpha, beta = make.normal(N) if biased else None, 0.75, -1.5

    def coda(run):
        run("linear", make.type, a, w, alpha=alpha, beta=beta, c=c, bias=bias, out=out)
        return dict(out=out)

    def function(v):
        out = torch.addmm(v["c"], v["a"], v["w"].t(), beta=beta, alpha=alpha)
        return dict(out=out + v["bias"] if biased else out)

    inputs = dict(a=a, w=w, c=c) | (dict(bias=bias) if biased else {})
    options = "α, β·C, bias" if biased else "α, β·C"
    return Case("linear", make.type, inputs, function, coda, (a, w.t()), options=options)


def linear_residual_norm(make: Maker, M: int, N: int, K: int, form: str) -> Case:
    a, w, x, gamma = make.activation(M, K), make.weight(N, K), make.activation(M, N), make.gamma(N)
    out, squares = make.empty(M, N), make.partials(parts(N), M)
    scaled = make.empty(M, N) if form == "kept" else None
    weight = gamma if form == "kept" else None

    def coda(run):
        ports = dict(residual=x, gamma=weight, out=out, scaled=scaled, squares=squares)
        run("linear_residual_norm", f"{form}-{make.type}", a, w, **ports)
        result = dict(out=out, squares=squares.sum(0))
        return result | (dict(scaled=scaled) if form == "kept" else {})

    def function(v):
        out = v["a"] @ v["w"].t() + v["x"]
        result = dict(out=out, squares=wide(out).square().sum(1))
        return result | (dict(scaled=out * v["gamma"]) if form == "kept" else {})

    def usual(v):
        out = v["a"] @ v["w"].t() + v["x"]
        return dict(out=out, scaled=F.rms_norm(out, v["gamma"].shape, v["gamma"], EPSILON))

    def operator():
        return torch.ops.coda.linear_residual_norm(a, w, x, weight)

    inputs = dict(a=a, w=w, x=x, gamma=gamma)
    named, rest = ("linear_residual_norm", f"{form}-{make.type}"), (usual, 2.0 * M * N * K)
    return Case(*named, inputs, function, coda, (a, w.t()), *rest, operator)


def linear_swiglu(make: Maker, M: int, N: int, K: int, activation: str = "silu") -> Case:
    a, w = make.activation(M, K), make.weight(2 * N, K)
    squares, activate = squares_of(a), ACTIVATIONS[activation]
    gate, up, out = make.empty(M, N), make.empty(M, N), make.empty(M, N)

    def coda(run):
        ports = dict(gate=gate, up=up, out=out, activation=number_of(activation))
        ports |= factor(K, squares)
        run("linear_swiglu", make.type, a, pair(w[:N], w[N:]), **ports)
        return dict(out=out, gate=gate, up=up)

    def function(v):
        z = (wide(v["a"]) * rstd_of(v["squares"], K)).to(v["a"].dtype) @ v["w"].t()
        gate, up = z.chunk(2, dim=1)
        return dict(gate=gate, up=up, out=activate(gate) * up)

    def usual(v):  # from the normalised input
        gate, up = (v["a"] @ v["w"].t()).chunk(2, dim=1)
        return dict(gate=gate, up=up, out=activate(gate) * up)

    def operator():
        norm = norm_of(squares, K)
        return torch.ops.coda.linear_swiglu(a, w[:N], w[N:], *norm, activation=activation)

    inputs, named = dict(a=a, w=w, squares=squares), ("linear_swiglu", make.type)
    rest, options = (usual, 4.0 * M * N * K, operator), "" if activation == "silu" else activation
    return Case(*named, inputs, function, coda, (a, w.t()), *rest, options)


def after_norm(case: Case) -> Case:
    """For a framework the norm of A before the operation is an operator; the case's own row factor
    is what is left of it."""
    a, usual = case.inputs["a"], case.usual
    gamma = torch.ones(a.shape[1], device=a.device, dtype=a.dtype)

    def with_norm(v):
        return usual(v | dict(a=F.rms_norm(v["a"], gamma.shape, gamma, EPSILON)))

    return replace(case, usual=with_norm)


def angles_of(make: Maker, M: int, d: int) -> tuple[dict, Values]:
    """coda's ports, and cosines and sines [M, 1, d/2] in fp64."""
    inv_freq = (10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)).float()
    inv_freq = inv_freq.to(make.device)
    positions = torch.arange(M, device=make.device, dtype=torch.int64) % 8192
    angle = torch.outer(positions.double(), inv_freq.double())[:, None, :]
    return dict(positions=positions, inv_freq=inv_freq), dict(cos=angle.cos(), sin=angle.sin())


def linear_rope(make: Maker, M: int, N: int, K: int) -> Case:
    """N: of q, k and v together, as many columns each."""
    a, w, d = make.activation(M, K), make.weight(N, K), HEAD_DIM
    squares, widths = squares_of(a), [N // 3] * 3
    angles, turns = angles_of(make, M, d)
    out = tuple(make.empty(M, n) for n in widths)

    def coda(run):
        ports = dict(out=out, **angles, **factor(K, squares))
        run("linear_rope", make.type, a, halves(d, *w.split(widths)), **ports)
        return dict(zip("qkv", out))

    def turned(z, cos, sin):
        q, k, v = z.split(widths, dim=1)
        return dict(q=rotate(q, cos, sin, d), k=rotate(k, cos, sin, d), v=v)

    def function(v):
        tables = (v[name].to(v["a"].dtype) for name in ("cos", "sin"))
        return turned(
            (wide(v["a"]) * rstd_of(v["squares"], K)).to(v["a"].dtype) @ v["w"].t(), *tables
        )

    tables = {name: turn.to(make.dtype) for name, turn in turns.items()}

    def usual(v):  # from the normalised input
        return turned(v["a"] @ v["w"].t(), tables["cos"], tables["sin"])

    def operator():
        given = (d, angles["positions"], None, None, angles["inv_freq"])
        return torch.ops.coda.linear_rope(a, *w.split(widths), *given, *norm_of(squares, K))

    inputs = dict(a=a, w=w, squares=squares, **turns)
    gemm, flops = (a, w.t()), 2.0 * M * N * K
    return Case("linear_rope", make.type, inputs, function, coda, gemm, usual, flops, operator)
