"""RoPE with what Qwen's models have beside it, biases or norms of the heads of q and k, and the way
back from q, k and v, as cases.py has the others."""

import torch
import torch.nn.functional as F
from capi import halves
from cases import Case, Maker, angles_of, factor, parts, rstd_of, squares_of, wide
from torch_layer import EPSILON, HEAD_DIM, rotate

BIASES, HEAD_NORMS = "biases", "head norms"


def head_norm(z: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
    """An RMSNorm of every head, as transformers' models have it: rounded before γ."""
    heads = z.unflatten(1, (-1, len(gamma)))
    r = torch.rsqrt(wide(heads).square().mean(2, keepdim=True) + EPSILON)
    return (gamma * (wide(heads) * r).to(z.dtype)).flatten(1)


def linear_rope(make: Maker, M: int, N: int, K: int, form: str, keep: bool = True) -> Case:
    """N: of q, k and v together, as many columns each. keep: with head norms, z for the way back
    too."""
    a, w, bias, d = make.activation(M, K), make.weight(N, K), make.normal(N), HEAD_DIM
    squares, widths = squares_of(a), [N // 3] * 3
    angles, turns = angles_of(make, M, d)
    out, z = (tuple(make.empty(M, n) for n in widths) for _ in range(2))
    norms = dict(q_norm=make.gamma(d), k_norm=make.gamma(d)) if form == HEAD_NORMS else {}
    keep = keep and form == HEAD_NORMS
    variant = f"{make.type}-norm" if norms else make.type

    def coda(run):
        ports = dict(bias=tuple(bias.split(widths)) if form == BIASES else None)
        ports |= norms | (dict(norm_epsilon=EPSILON) if norms else {}) | (dict(z=z) if keep else {})
        ports |= dict(out=out, **angles, **factor(K, squares))
        run("linear_rope", variant, a, halves(d, *w.split(widths)), **ports)
        return dict(zip("qkv", out)) | (dict(z=torch.cat(z, 1)) if keep else {})

    def function(v):
        dtype = v["a"].dtype
        n = (wide(v["a"]) * rstd_of(v["squares"], K)).to(dtype)
        z = F.linear(n, v["w"], v.get("bias"))
        result = dict(zip("qkv", z.split(widths, 1)))
        for name in "qk":
            normed = head_norm(result[name], v[f"{name}_norm"]) if norms else result[name]
            result[name] = rotate(normed, v["cos"].to(dtype), v["sin"].to(dtype), d)
        return result | (dict(z=z) if keep else {})

    inputs = dict(a=a, w=w, squares=squares, **turns, **norms)
    inputs |= dict(bias=bias) if form == BIASES else {}
    options = BIASES if form == BIASES else ""  # the variant has the norms in its name
    return Case("linear_rope", variant, inputs, function, coda, (a, w.t()), options=options)


def rope_backward(make: Maker, M: int, heads: dict[str, int], d: int, h: int, form: str) -> Case:
    """heads: of q, k and v. form: "", or what they had before RoPE. A head norm is given z, which
    it had itself; all others what came out of RoPE."""
    widths = {name: count * d for name, count in heads.items()}
    y, dy = ({name: make.normal(M, n) for name, n in widths.items()} for _ in range(2))
    dz = {f"dz{name}": make.empty(M, n) for name, n in widths.items()}
    sums, squares = make.partials(sum(heads.values()), M), squares_of(make.normal(M, h))
    angles, turns = angles_of(make, M, d)
    biases = {f"bias_{name}": make.normal(n) for name, n in widths.items() if form == BIASES}
    norms = {f"{name}_norm": make.gamma(d) for name in "qk" if form == HEAD_NORMS}
    partials = {f"d{port}": make.partials(parts(M), widths[port[-1]]) for port in biases}
    partials |= {f"d{port}": make.partials(parts(M), widths[port[0]]) for port in norms}
    gradients = {f"d{name}": t for name, t in dy.items()}

    def coda(run):
        ports = y | gradients | dz | angles | biases | norms | partials | factor(h, squares)
        ports |= dict(sums=sums, head_dim=float(d), norm_epsilon=EPSILON)
        run("rope_backward", make.type, None, None, **ports)
        totals = {name: partial.sum(0) for name, partial in partials.items()}
        for port in norms:
            totals[f"d{port}"] = totals[f"d{port}"].view(-1, d).sum(0)
        return dz | totals | dict(sums=sums.sum(0))

    def function(v):
        dtype, r = v["dq"].dtype, rstd_of(v["squares"], h)
        cos, sin = v["cos"].to(dtype), -v["sin"].to(dtype)  # backwards
        result, dots = {}, 0
        for name in "qkv":
            y, dy = v[name], v[f"d{name}"]
            dz = dy if name == "v" else rotate(dy, cos, sin, d)
            products = wide(y) * wide(dy)  # turned or not, their sum is the same
            if f"{name}_norm" in v:
                _, backward = torch.func.vjp(head_norm, y, v[f"{name}_norm"])
                dz, result[f"d{name}_norm"] = backward(dz)
                products = wide(y) * wide(dz)
            if biases:
                result[f"dbias_{name}"] = wide(dz).sum(0)
                products = products - wide(v[f"bias_{name}"]) * wide(dz)
            result[f"dz{name}"] = (wide(dz) * r).to(dtype)
            dots = dots + products.sum(1)
        return result | dict(sums=dots)

    inputs = y | gradients | turns | biases | norms | dict(squares=squares)
    return Case("rope_backward", make.type, inputs, function, coda, None, options=form)
