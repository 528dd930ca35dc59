"""The operators' formulas in stock PyTorch operators: in fp64 what is exact, in the operands' own
type what an unfused computation gives. Written from the mathematics, not from the operators."""

import torch
import torch.nn.functional as F
from torch import Tensor

ACTIVATIONS = {
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu,
}


def square_partials(x: Tensor) -> Tensor:
    """Σ x² per 64 columns: [⌈h/64⌉, M], fp32 at least."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32)).square()
    blocks = wide.split(64, 1) if x.shape[1] else ()
    sums = [block.sum(1) for block in blocks]
    return torch.stack(sums) if sums else wide.new_empty((0, x.shape[0]))


def normalised(x: Tensor, squares: Tensor | None, epsilon: float, width: int) -> Tensor:
    if squares is None:
        return x
    rstd = (squares.sum(0) / width + epsilon).rsqrt().unsqueeze(1)
    return (x * rstd).to(x.dtype)


def linear(x, weight, bias=None, squares=None, epsilon=0.0, width=0, c=None, alpha=1.0, beta=1.0):
    out = F.linear(normalised(x, squares, epsilon, width), weight) * alpha
    if c is not None:
        out = out + c * beta
    return out if bias is None else out + bias


def norm_inputs(x, gamma=None):
    return (None if gamma is None else x * gamma), square_partials(x)


def linear_residual_norm(x, weight, residual, gamma=None, bias=None):
    out = F.linear(x, weight, bias) + residual
    scaled = None if gamma is None else (out * gamma).to(x.dtype)
    return out, scaled, square_partials(out)


def linear_swiglu(
    x, gate_weight, up_weight, squares=None, epsilon=0.0, width=0, activation="silu", keep=True
):
    n = normalised(x, squares, epsilon, width)
    gate, up = F.linear(n, gate_weight), F.linear(n, up_weight)
    out = ACTIVATIONS[activation](gate) * up
    return (out, gate, up) if keep else (out, None, None)


def rms_norm(x: Tensor, gamma: Tensor, epsilon: float) -> Tensor:
    """As transformers' models compute it: in fp32, rounded before γ."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return gamma * (wide * (wide.square().mean(-1, keepdim=True) + epsilon).rsqrt()).to(x.dtype)


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x [M, H, d]; cos, sin [M, d/2]."""
    first, second = x.chunk(2, -1)
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


def linear_rope(
    x, q_weight, k_weight, v_weight, head_dim, positions, cos=None, sin=None, inv_freq=None,
    squares=None, epsilon=0.0, width=0, q_bias=None, k_bias=None, v_bias=None, q_norm=None,
    k_norm=None, norm_epsilon=0.0, scale=1.0,
):  # fmt: skip
    n = normalised(x, squares, epsilon, width)
    if cos is None:
        angle = positions.double().unsqueeze(1) * inv_freq.double()
        cos, sin = angle.cos(), angle.sin()
    else:
        cos, sin = cos[positions], sin[positions]
    cos, sin = (cos * scale).to(x.dtype), (sin * scale).to(x.dtype)
    results = []
    for weight, bias, norm in (
        (q_weight, q_bias, q_norm), (k_weight, k_bias, k_norm), (v_weight, v_bias, None)
    ):  # fmt: skip
        z = F.linear(n, weight, bias).unflatten(1, (-1, head_dim))
        if weight is not v_weight:
            z = z if norm is None else rms_norm(z, norm, norm_epsilon)
            z = turned(z, cos, sin)
        results.append(z.flatten(1))
    return tuple(results)


def embedding_norm(table, tokens, gamma=None):
    out = table[tokens]
    return out, (None if gamma is None else out * gamma), square_partials(out)


def embedding_positions(table, tokens, positions_table, positions):
    return table[tokens] + positions_table[positions]


def layer_norm(x, gamma, beta, epsilon):
    return F.layer_norm(x, x.shape[1:], gamma, beta, epsilon)


def fold_norm_weight(weight, gamma):
    return weight * gamma


def finish_columns(partials):
    return partials.sum(0)


def square_sums(x):
    return x.square().sum(1)
