"""The GEMM operations of the backward pass beside PyTorch, as cases.py has the others."""

import math

import torch
import torch.nn.functional as F
from capi import contraction, rows
from cases import Case, Maker, factor, norm_of, number_of, parts, rstd_of, squares_of, wide
from torch_layer import EPSILON


def with_slope(activation: str, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """f(x) and f'(x)."""
    if activation == "silu":
        s = torch.sigmoid(x)
        return x * s, s * (1 + x * (1 - s))
    if activation == "gelu":
        below = 0.5 * (1 + torch.erf(x * 0.5**0.5))
        return x * below, below + x * torch.exp(-0.5 * x * x) * (2 * math.pi) ** -0.5
    if activation == "gelu_tanh":
        scale, cubic = (2 / math.pi) ** 0.5, 0.044715
        t = torch.tanh(scale * (x + cubic * x * x * x))
        inner = scale * (1 + 3 * cubic * x * x)
        return 0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner
    return F.relu(x), (x > 0).to(x.dtype)


def linear_swiglu_backward(make: Maker, M: int, N: int, K: int, activation: str = "silu") -> Case:
    """N = F, K = h: A is the gradient of the stream, B is Wd [h, F] read as [F, h]."""
    a, wd = make.activation(M, K), make.weight(K, N)
    gate, up, x = make.activation(M, N), make.activation(M, N), make.activation(M, K)
    squares = squares_of(x)
    dgate, dup, out = make.empty(M, N), make.empty(M, N), make.empty(M, N)
    dots = make.partials(parts(N), M)

    def coda(run):
        ports = dict(gate=gate, up=up, dgate=dgate, dup=dup, out=out, dots=dots)
        ports |= dict(activation=number_of(activation))
        run("linear_swiglu_backward", make.type, a, wd.t(), **ports, **factor(K, squares))
        return dict(dgate=dgate, dup=dup, out=out, dots=dots.sum(0))

    def usual(v):
        da, g, u = v["a"] @ v["wd"], v["gate"], v["up"]
        f, slope = with_slope(activation, wide(g))
        dg = wide(da) * wide(u) * slope
        return dict(
            dgate=dg.to(g.dtype), dup=(wide(da) * f).to(g.dtype), out=(f * wide(u)).to(g.dtype)
        )

    def function(v):
        r, t, one = rstd_of(v["squares"], K), v["gate"].dtype, usual(v)
        dots = (wide(v["gate"]) * wide(one["dgate"]) + wide(v["up"]) * wide(one["dup"])).sum(1)
        scaled = {name: (wide(one[name]) * r).to(t) for name in ("dgate", "dup")}
        return one | scaled | dict(dots=dots)

    def operator():
        more = dict(recompute=True, activation=activation)
        return torch.ops.coda.linear_swiglu_backward(a, wd, gate, up, *norm_of(squares, K), **more)

    inputs = dict(a=a, wd=wd, gate=gate, up=up, squares=squares)
    named, rest = ("linear_swiglu_backward", make.type), (usual, 2.0 * M * N * K, operator)
    options = "" if activation == "silu" else activation
    return Case(*named, inputs, function, coda, (a, wd), *rest, options)


def linear_norm_backward(make: Maker, M: int, N: int, K: int, segments: int, form: str) -> Case:
    """N = h; A is r·dz [M, K] in `segments` tensors, B the weights [K, h] read as [h, K]."""
    a, w = make.activation(M, K), make.weight(N, K).t().contiguous()
    x, dx_in, gamma = make.activation(M, N), make.activation(M, N), make.gamma(N)
    squares, dots = squares_of(x), N * torch.randn(1, M, device=make.device) * (not make.zeros)
    dx, dgamma = make.empty(M, N), make.partials(parts(M), N)
    pieces = [one.contiguous() for one in a.chunk(segments, dim=1)]
    kept = dict(gamma=gamma, dgamma=dgamma) if form == "kept" else {}

    def coda(run):
        operands = contraction(*pieces), contraction(*(one.t() for one in w.chunk(segments)))
        ports = dict(x=x, dx_in=dx_in, dots=dots, dots__width=float(N), dx=dx, **kept)
        variant = f"{form}-{make.type}"
        run("linear_norm_backward", variant, *operands, **ports, **factor(N, squares))
        return dict(dx=dx) | (dict(dgamma=dgamma.sum(0)) if kept else {})

    def function(v):
        r, d = rstd_of(v["squares"], N), wide(v["a"] @ v["w"])
        mean = wide(v["dots"]).sum(0)[:, None] / N
        scaled = d * wide(v["gamma"]) if kept else d
        through = (scaled - wide(v["x"]) * (r * r * mean)).to(v["x"].dtype)
        return dict(dx=v["dx_in"] + through) | (
            dict(dgamma=(d * wide(v["x"])).sum(0)) if kept else {}
        )

    def usual(v):  # dz and the norm's own backward
        x, d = wide(v["x"]), wide(v["a"] @ v["w"])
        r = torch.rsqrt(x.square().mean(1, keepdim=True) + EPSILON)
        scaled = d * wide(v["gamma"])
        through = r * scaled - x * (r * r * r * (scaled * x).mean(1, keepdim=True))
        dgamma = (d * x * r).sum(0).to(v["x"].dtype)
        return dict(dx=v["dx_in"] + through.to(v["x"].dtype), dgamma=dgamma)

    def operator():
        norm = (x, squares, EPSILON, dots, dx_in, gamma if kept else None)
        return torch.ops.coda.linear_norm_backward(pieces, w.chunk(segments), *norm)

    inputs = dict(a=a, w=w, x=x, dx_in=dx_in, gamma=gamma, squares=squares, dots=dots)
    named, rest = ("linear_norm_backward", f"{form}-{make.type}"), (usual, 2.0 * M * N * K)
    return Case(*named, inputs, function, coda, (a, w), *rest, operator)


def linear_weight_grad(
    make: Maker, M: int, N: int, K: int, segments: int, out_type: str, squared: bool = False
) -> Case:
    """dW [N, K] from dZ [M, N], in `segments` tensors, and X [M, K]; squared: and the row sums of
    its squares."""
    dz, x = make.activation(M, N), make.activation(M, K)
    dtype = torch.float32 if out_type == "fp32" else make.dtype
    dw, pieces = make.empty(N, K, dtype=dtype), [c.contiguous() for c in dz.chunk(segments, dim=1)]
    variant = make.type if dtype == make.dtype else f"{make.type}-{out_type}"
    squares = make.partials(parts(K), N) if squared else None

    def coda(run):
        operands = rows(*(one.t() for one in pieces)), x.t()
        run("linear_weight_grad", variant, *operands, out=dw, squares=squares)
        return dict(out=dw) | (dict(squares=squares.sum(0)) if squared else {})

    def function(v):
        product = v["dz"].t() @ v["x"]
        out = product.float() if out_type == "fp32" and product.element_size() < 4 else product
        return dict(out=out) | (dict(squares=wide(out).square().sum(1)) if squared else {})

    def operator():
        return torch.ops.coda.linear_weight_grad(pieces, x, dtype)

    named, options = ("linear_weight_grad", variant), "squares" if squared else ""
    rest = (None, 2.0 * M * N * K, operator, options)
    return Case(*named, dict(dz=dz, x=x), function, coda, (dz.t(), x), *rest)


def folded_weight_grad(make: Maker, M: int, N: int, K: int) -> Case:
    """dW [N, K] and dγ [K] from dZ [M, N], X [M, K] and γ, which the weight W' = W⊙γ carries."""
    dz, x, w, gamma = make.activation(M, N), make.activation(M, K), make.weight(N, K), make.gamma(K)
    dw = make.empty(N, K, dtype=torch.float32)
    squares, dgamma = make.partials(parts(K), N), make.partials(parts(N), K)
    variant = f"folded-{make.type}-fp32"

    def coda(run):
        ports = dict(weight=w, gamma=gamma, out=dw, squares=squares, dgamma=dgamma)
        run("linear_weight_grad", variant, dz.t(), x.t(), **ports)
        return dict(out=dw, dgamma=dgamma.sum(0), squares=squares.sum(0))

    def function(v):
        _, backward = torch.func.vjp(torch.mul, v["w"], v["gamma"])
        out, dgamma = backward(v["dz"].t() @ v["x"])
        return dict(out=out, dgamma=dgamma, squares=wide(out).square().sum(1))

    inputs = dict(dz=dz, x=x, w=w, gamma=gamma)
    return Case("linear_weight_grad", variant, inputs, function, coda, (dz.t(), x))
