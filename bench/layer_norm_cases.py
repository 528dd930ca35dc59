"""The operations of blocks with LayerNorm beside PyTorch, as cases.py has the others. A framework
has its own LayerNorm, of the stream; a GEMM of coda's behind it takes x⊙γ and finishes the norm
from row sums (docs/numerics.md). Rows have a mean of half their deviation."""

import torch
import torch.nn.functional as F
from backward_cases import with_slope
from cases import ACTIVATIONS, Case, Maker, Values, number_of, parts, wide
from torch_layer import EPSILON


def stream(make: Maker, M: int, h: int) -> torch.Tensor:
    return make.activation(M, h) + 0.5


def moments_of(x: torch.Tensor) -> torch.Tensor:
    """(Σx, Σx²) per 64 columns, [⌈h/64⌉, M] states, of x [M, h]."""
    blocks = F.pad(x.float(), (0, -x.shape[1] % 64)).view(x.shape[0], -1, 64)
    states = torch.stack((blocks.sum(2), blocks.square().sum(2)), 2)  # [M, ⌈h/64⌉, 2]
    return states.transpose(0, 1).flatten(1).contiguous()


def finish_moments(moments: torch.Tensor) -> Values:
    first, second = moments.view(len(moments), -1, 2).sum(0).unbind(1)
    return {"moments.0": first, "moments.1": second}


def exact_moments(x: torch.Tensor) -> Values:
    return {"moments.0": wide(x).sum(1), "moments.1": wide(x).square().sum(1)}


def mean_and_factor(moments: torch.Tensor, width: int) -> dict:
    result = dict(mean=moments, mean__width=float(width))
    return result | dict(rstd=moments, rstd__width=float(width), rstd__epsilon=EPSILON)


def normed(v: Values) -> torch.Tensor:
    return F.layer_norm(v["x"], v["gamma"].shape, v["gamma"], v["beta"], EPSILON)


def linear_residual_layer_norm(make: Maker, M: int, N: int, K: int) -> Case:
    a, w, x, gamma = make.activation(M, K), make.weight(N, K), stream(make, M, N), make.gamma(N)
    bias, out, scaled = make.normal(N), make.empty(M, N), make.empty(M, N)
    moments = make.partials(parts(N), 2 * M)

    def coda(run):
        ports = dict(residual=x, bias=bias, gamma=gamma, out=out, scaled=scaled, moments=moments)
        run("linear_residual_layer_norm", f"kept-{make.type}", a, w, **ports)
        return dict(out=out, scaled=scaled, **finish_moments(moments))

    def function(v):
        out = F.linear(v["a"], v["w"], v["bias"]) + v["x"]
        return dict(out=out, scaled=out * v["gamma"], **exact_moments(out))

    inputs = dict(a=a, w=w, x=x, gamma=gamma, bias=bias)
    named = ("linear_residual_layer_norm", f"kept-{make.type}")
    return Case(*named, inputs, function, coda, (a, w.t()))


def linear_activation(
    make: Maker, M: int, N: int, K: int, activation: str, keep: bool = True
) -> Case:
    """keep: what the activation is given too, for the way back."""
    x, w, gamma, beta = stream(make, M, K), make.weight(N, K), make.gamma(K), make.normal(K)
    bias, before, out = make.normal(N), make.empty(M, N), make.empty(M, N)
    a, moments = x * gamma, moments_of(x)
    shift, offset = torch.stack((gamma, beta)).float() @ w.float().t()

    def coda(run):
        ports = dict(shift=shift, offset=offset, bias=bias, activation=number_of(activation))
        ports |= dict(before=before if keep else None, out=out, **mean_and_factor(moments, K))
        run("linear_activation", make.type, a, w, **ports)
        return dict(out=out) | (dict(before=before) if keep else {})

    def function(v):
        z = F.linear(normed(v), v["w"], v["bias"])
        return dict(out=ACTIVATIONS[activation](z)) | (dict(before=z) if keep else {})

    inputs = dict(x=x, w=w, gamma=gamma, beta=beta, bias=bias)
    named = ("linear_activation", make.type)
    return Case(*named, inputs, function, coda, (a, w.t()), options=activation)


def linear_activation_backward(make: Maker, M: int, N: int, K: int, activation: str) -> Case:
    """N = F, K = h: A is the gradient of the stream, B is W [h, F] read as [F, h]."""
    a, w, before = make.activation(M, K), make.weight(K, N), make.activation(M, N)
    shift, offset = (torch.randn(N, device=make.device) for _ in range(2))
    bias, dz, out = make.normal(N), make.empty(M, N), make.empty(M, N)
    dots, shifts = make.partials(parts(N), M), make.partials(parts(N), M)
    dbias = make.partials(parts(M), N)

    def coda(run):
        ports = dict(before=before, shift=shift, offset=offset, bias=bias, dz=dz, out=out)
        ports |= dict(dots=dots, shifts=shifts, dbias=dbias, activation=number_of(activation))
        run("linear_activation_backward", make.type, a, w.t(), **ports)
        sums = dict(dots=dots.sum(0), shifts=shifts.sum(0), dbias=dbias.sum(0))
        return dict(dz=dz, out=out) | sums

    def function(v):
        z, da = v["before"], v["a"] @ v["w"]
        f, slope = with_slope(activation, wide(z))
        dz = (wide(da) * slope).to(z.dtype)
        return dict(dz=dz, out=f.to(z.dtype)) | row_sums(v | dict(dz=dz, z=z))

    inputs = dict(a=a, w=w, before=before, shift=shift, offset=offset, bias=bias)
    named = ("linear_activation_backward", make.type)
    return Case(*named, inputs, function, coda, (a, w), options=activation)


def row_sums(v: Values) -> Values:
    """What a LayerNorm's gradient needs of dz, and the bias's gradient."""
    dz, bare = wide(v["dz"]), wide(v["z"]) - v["offset"] - wide(v["bias"])
    return dict(dots=(dz * bare).sum(1), shifts=(dz * v["shift"]).sum(1), dbias=dz.sum(0))


def norm_gradients(v: Values, dn: torch.Tensor) -> Values:
    """Of n = LayerNorm(x), and along the stream."""
    inputs = (v["x"], v["gamma"], v["beta"])
    _, backward = torch.func.vjp(
        lambda x, gamma, beta: normed(dict(x=x, gamma=gamma, beta=beta)), *inputs
    )
    through, dgamma, dbeta = backward(dn)
    dx = v["dx_in"] + through
    return dict(dx=dx, dgamma=dgamma, dbeta=dbeta, dcolumns=wide(dx).sum(0))


def linear_layer_norm_backward(make: Maker, M: int, N: int, K: int) -> Case:
    """N = h; A is dz [M, K], B the weight [K, h] read as [h, K]. Some of dz lies along z: only then
    the row sums count."""
    w, x, dx_in = make.weight(N, K).t().contiguous(), stream(make, M, N), make.activation(M, N)
    a = make.activation(M, K) + x @ w.t()
    gamma, beta, moments = make.gamma(N), make.normal(N), moments_of(x)
    unit = F.layer_norm(x.double(), (N,), eps=EPSILON)  # x̂
    dots = (a.double() * ((unit * gamma.double()) @ w.double().t())).sum(1)
    shifts = a.double() @ (w.double() @ gamma.double())
    rows = {name: t.float()[None] for name, t in dict(dots=dots, shifts=shifts).items()}
    dx, n = make.empty(M, N), make.empty(M, N)
    columns = {name: make.partials(parts(M), N) for name in ("dgamma", "dbeta", "dcolumns")}

    def coda(run):
        ports = dict(x=x, dx_in=dx_in, gamma=gamma, beta=beta, dx=dx, normed=n, **columns)
        ports |= dict(dots__width=float(N), shifts__width=float(N), **rows)
        ports |= mean_and_factor(moments, N)
        run("linear_layer_norm_backward", f"kept-{make.type}", a, w.t(), **ports)
        return dict(dx=dx, normed=n) | {name: t.sum(0) for name, t in columns.items()}

    def function(v):
        return norm_gradients(v, v["a"] @ v["w"]) | dict(normed=normed(v))

    inputs = dict(a=a, w=w, x=x, dx_in=dx_in, gamma=gamma, beta=beta)
    named = ("linear_layer_norm_backward", f"kept-{make.type}")
    return Case(*named, inputs, function, coda, (a, w))


def layer_norm(make: Maker, M: int, h: int) -> Case:
    x, gamma, beta, out = stream(make, M, h), make.gamma(h), make.normal(h), make.empty(M, h)
    moments = make.partials(parts(h), 2 * M)

    def coda(run):
        ports = dict(x=x, gamma=gamma, beta=beta, out=out, moments=moments, epsilon=EPSILON)
        run("layer_norm", make.type, None, None, **ports)
        return dict(out=out, **finish_moments(moments))

    def function(v):
        return dict(out=normed(v), **exact_moments(v["x"]))

    inputs = dict(x=x, gamma=gamma, beta=beta)
    return Case("layer_norm", make.type, inputs, function, coda, None)


def layer_norm_inputs(make: Maker, M: int, h: int) -> Case:
    x, gamma, scaled = stream(make, M, h), make.gamma(h), make.empty(M, h)
    moments = make.partials(parts(h), 2 * M)

    def coda(run):
        ports = dict(x=x, gamma=gamma, scaled=scaled, moments=moments)
        run("layer_norm_inputs", make.type, None, None, **ports)
        return dict(scaled=scaled, **finish_moments(moments))

    def function(v):
        return dict(scaled=v["x"] * v["gamma"], **exact_moments(v["x"]))

    return Case("layer_norm_inputs", make.type, dict(x=x, gamma=gamma), function, coda, None)


def layer_norm_backward(make: Maker, M: int, h: int) -> Case:
    x, dy, dx_in = stream(make, M, h), make.normal(M, h), make.normal(M, h)
    gamma, beta, dx = make.gamma(h), make.normal(h), make.empty(M, h)
    columns = {name: make.partials(parts(M), h) for name in ("dgamma", "dbeta", "dcolumns")}

    def coda(run):
        ports = dict(dy=dy, x=x, gamma=gamma, dx_in=dx_in, dx=dx, epsilon=EPSILON, **columns)
        run("layer_norm_backward", make.type, None, None, **ports)
        return dict(dx=dx) | {name: t.sum(0) for name, t in columns.items()}

    inputs = dict(x=x, dy=dy, dx_in=dx_in, gamma=gamma, beta=beta)
    return Case(
        "layer_norm_backward", make.type, inputs, lambda v: norm_gradients(v, v["dy"]), coda, None
    )


def layer_norm_sums(make: Maker, M: int, N: int) -> Case:
    dz, z, bias = make.normal(M, N), make.normal(M, N), make.normal(N)
    shift, offset = (torch.randn(N, device=make.device) for _ in range(2))
    dots, shifts = make.partials(parts(N), M), make.partials(parts(N), M)
    dbias = make.partials(parts(M), N)

    def coda(run):
        ports = dict(dz=dz, z=z, shift=shift, offset=offset, bias=bias)
        ports |= dict(dots=dots, shifts=shifts, dbias=dbias)
        run("layer_norm_sums", make.type, None, None, **ports)
        return dict(dots=dots.sum(0), shifts=shifts.sum(0), dbias=dbias.sum(0))

    inputs = dict(dz=dz, z=z, shift=shift, offset=offset, bias=bias)
    return Case("layer_norm_sums", make.type, inputs, row_sums, coda, None)
