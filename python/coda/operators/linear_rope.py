"""linear_rope: q, k, v = rstd ⊙ x [Wq; Wk; Wv]ᵀ + bias, q and k rotated, their heads normalised
before where q_norm and k_norm are given."""

from typing import Any

import torch
from torch import Tensor

from coda import _native
from coda.operators import linear_input_grad, linear_weight_grad, rope_backward
from coda.operators.registration import declare, define
from coda.operators.rope_backward import SHAPES, check_rotation
from coda.operators.row_factor import row_factor_values, squares_gradient
from coda.operators.variants import NAMES

SCHEMA = (
    "linear_rope(Tensor x, Tensor q_weight, Tensor k_weight, Tensor v_weight, int head_dim, "
    "Tensor positions, Tensor? cos=None, Tensor? sin=None, Tensor? inv_freq=None, "
    "Tensor? squares=None, float epsilon=0., int width=0, Tensor? q_bias=None, "
    "Tensor? k_bias=None, Tensor? v_bias=None, Tensor? q_norm=None, Tensor? k_norm=None, "
    "float norm_epsilon=0., float scale=1., bool keep=True) "
    "-> (Tensor q, Tensor k, Tensor v, Tensor zq, Tensor zk)"
)
PORTS = (
    "positions", "cos_sin=cos/sin", "inv_freq", "rstd=squares", "rstd.epsilon=epsilon",
    "rstd.width=width", "bias=q_bias/k_bias/v_bias", "scale", "out",
)  # fmt: skip
WEIGHTS = "halves q_weight/k_weight/v_weight"
HANDLE = declare("linear_rope", "x", WEIGHTS, *PORTS)
NORM_HANDLE = declare("linear_rope", "x", WEIGHTS, *PORTS, "q_norm", "k_norm", "norm_epsilon", "z")
Outputs = tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]


def linear_rope(
    x: Tensor,
    q_weight: Tensor,
    k_weight: Tensor,
    v_weight: Tensor,
    head_dim: int,
    positions: Tensor,
    cos: Tensor | None = None,
    sin: Tensor | None = None,
    inv_freq: Tensor | None = None,
    squares: Tensor | None = None,
    epsilon: float = 0.0,
    width: int = 0,
    q_bias: Tensor | None = None,
    k_bias: Tensor | None = None,
    v_bias: Tensor | None = None,
    q_norm: Tensor | None = None,
    k_norm: Tensor | None = None,
    norm_epsilon: float = 0.0,
    scale: float = 1.0,
    keep: bool = True,
) -> Outputs:
    """x [M, K], weights and biases [H_i·head_dim, K] and [H_i·head_dim], positions [M] int64: rows
    of cos, sin [positions, head_dim/2], or factors of inv_freq [head_dim/2] fp32;
    squares [parts, M], q_norm, k_norm [head_dim]
    -> q, k, v [M, H_i·head_dim]; with q_norm and keep, zq and zk: q and k before their norm."""
    check_rotation(head_dim, cos, sin, inv_freq)
    if not norm_epsilon >= 0:
        raise ValueError(f"norm_epsilon: expected a number, 0 or more, got {norm_epsilon}")
    biased = q_bias is not None or k_bias is not None or v_bias is not None
    rows = x.shape[0]
    q, k, v = (x.new_empty(rows, w.shape[0]) for w in (q_weight, k_weight, v_weight))
    values = (
        x, (head_dim, q_weight, k_weight, v_weight), positions, None if cos is None else (cos, sin),
        inv_freq, *row_factor_values(squares, epsilon, width),
        (q_bias, k_bias, v_bias) if biased else None, scale, (q, k, v),
    )  # fmt: skip
    if q_norm is not None or k_norm is not None:
        z = tuple(torch.empty_like(y) for y in (q, k, v)) if keep else None
        variant = NAMES[x.dtype] + "-norm"
        _native.run(NORM_HANDLE, variant, *values, q_norm, k_norm, norm_epsilon, z)
        if z is not None:
            return q, k, v, z[0], z[1]
    else:
        _native.run(HANDLE, NAMES[x.dtype], *values)
    return q, k, v, None, None


def save(ctx: Any, output: Outputs, given: Any) -> None:
    q, k, v, zq, zk = output
    if given.q_norm is not None and not given.keep:
        raise ValueError(
            "coda::linear_rope: keep: expected True where gradients are needed, got False"
        )
    made: tuple[Tensor | None, ...] = (q, k, v)
    if given.q_norm is not None:
        ctx.mark_non_differentiable(zq, zk)
        made = (zq, zk, v)
    ctx.save_for_backward(
        given.x, given.q_weight, given.k_weight, given.v_weight, *made, given.positions,
        given.squares, given.cos, given.sin, given.inv_freq, given.q_bias, given.k_bias,
        given.v_bias, given.q_norm, given.k_norm,
    )  # fmt: skip
    ctx.numbers = (
        given.head_dim, given.epsilon, given.width, given.norm_epsilon, given.scale
    )  # fmt: skip


def backward(
    ctx: Any,
    dq: Tensor | None,
    dk: Tensor | None,
    dv: Tensor | None,
    dzq: Tensor | None,
    dzk: Tensor | None,
) -> tuple[Any, ...]:
    x, wq, wk, wv, q, k, v, positions, squares, *rest = ctx.saved_tensors
    head_dim, epsilon, width, norm_epsilon, scale = ctx.numbers
    needs_x, *needs_weights = ctx.needs[:4]
    if any(ctx.needs[6:9]):
        raise RuntimeError(
            "coda::linear_rope: cos, sin and inv_freq have no gradient: detach them before the call"
        )
    norm = (squares, epsilon, width)
    if squares is None:  # a row factor of 1
        norm = (x.new_ones((1, x.shape[0]), dtype=torch.float32), 0.0, 1)
    incoming = [torch.zeros_like(y) if d is None else d for d, y in ((dq, q), (dk, k), (dv, v))]
    made = rope_backward.operator(
        *incoming, q, k, v, head_dim, positions, *norm, *rest, norm_epsilon, scale
    )
    dz, sums, parameters = list(made[:3]), made[3], made[4:]
    weights = [wq, wk, wv]
    dx = linear_input_grad.operator(dz, weights) if needs_x else None
    dweights = linear_weight_grad.weight_gradients(dz, x, weights, tuple(needs_weights))
    dsquares = squares_gradient(sums.sum(0), *norm) if ctx.needs[9] else None
    dparameters = [d if need else None for d, need in zip(parameters, ctx.needs[12:17])]
    return (
        dx, *dweights, None, None, None, None, None, dsquares, None, None, *dparameters,
        None, None, None,
    )  # fmt: skip


operator = define(SCHEMA, linear_rope, save, backward, shapes=SHAPES)
