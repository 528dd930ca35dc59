"""rope_backward: gradients of q, k, v back to those of their linear layers, rotated back and times
the row factor of the RMSNorm before them, with the row sums that the norm's gradient needs."""

from typing import Any

import torch
from torch import Tensor

from coda import _native
from coda.operators.finish_columns import finish
from coda.operators.registration import declare, define
from coda.operators.row_factor import row_factor_values
from coda.operators.variants import NAMES, parts

SCHEMA = (
    "rope_backward(Tensor dq, Tensor dk, Tensor dv, Tensor q, Tensor k, Tensor v, int head_dim, "
    "Tensor positions, Tensor squares, float epsilon, int width, Tensor? cos=None, "
    "Tensor? sin=None, Tensor? inv_freq=None, Tensor? q_bias=None, Tensor? k_bias=None, "
    "Tensor? v_bias=None, Tensor? q_norm=None, Tensor? k_norm=None, float norm_epsilon=0., "
    "float scale=1.) -> (Tensor dzq, Tensor dzk, Tensor dzv, Tensor sums, Tensor dq_bias, "
    "Tensor dk_bias, Tensor dv_bias, Tensor dq_norm, Tensor dk_norm)"
)
HANDLE = declare(
    "rope_backward", "", "", "dq", "dk", "dv", "q", "k", "v", "head_dim", "positions",
    "rstd=squares", "rstd.epsilon=epsilon", "rstd.width=width", "cos", "sin", "inv_freq",
    "bias_q=q_bias", "bias_k=k_bias", "bias_v=v_bias", "q_norm", "k_norm", "norm_epsilon",
    "scale", "dzq", "dzk", "dzv", "sums", "dbias_q=dq_bias", "dbias_k=dk_bias",
    "dbias_v=dv_bias", "dq_norm", "dk_norm",
)  # fmt: skip
SHAPES = {
    "positions": "[M]", "inv_freq": "[head_dim/2]", "squares": "[parts, M]",
    "q_bias": "[Hq·head_dim]", "k_bias": "[Hkv·head_dim]", "v_bias": "[Hkv·head_dim]",
    "q_norm": "[head_dim]", "k_norm": "[head_dim]",
}  # fmt: skip
NOT_GIVEN: Any = (None,) * 5  # no biases and no norms of heads


def check_rotation(
    head_dim: int, cos: Tensor | None, sin: Tensor | None, inv_freq: Tensor | None
) -> None:
    """Heads have halves, and there is one way to say how far a position turns."""
    if head_dim < 2 or head_dim % 2 == 1:
        raise ValueError(f"head_dim: expected an even number from 2 on, got {head_dim}")
    if (cos is None) is not (sin is None):
        raise ValueError(
            f"cos, sin: expected both or neither, got {'sin' if cos is None else 'cos'}"
        )
    if (cos is None) is (inv_freq is None):
        got = "neither" if cos is None else "both"
        raise ValueError(f"cos, sin, inv_freq: expected tables or frequencies, got {got}")


def rope_backward(
    dq: Tensor,
    dk: Tensor,
    dv: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    head_dim: int,
    positions: Tensor,
    squares: Tensor,
    epsilon: float,
    width: int,
    cos: Tensor | None = None,
    sin: Tensor | None = None,
    inv_freq: Tensor | None = None,
    q_bias: Tensor | None = None,
    k_bias: Tensor | None = None,
    v_bias: Tensor | None = None,
    q_norm: Tensor | None = None,
    k_norm: Tensor | None = None,
    norm_epsilon: float = 0.0,
    scale: float = 1.0,
) -> tuple[Tensor | None, ...]:
    """Arguments as linear_rope's; dq, q and so on [M, H_i·head_dim], q and k before their norm
    where there is one -> dzq, dzk, dzv [M, H_i·head_dim], sums [Hq + 2·Hkv, M] fp32,
    and the gradients of biases and norms, in their types."""
    check_rotation(head_dim, cos, sin, inv_freq)
    rows, widths = q.shape[0], (q.shape[1], k.shape[1], v.shape[1])
    dz = [q.new_empty(rows, width) for width in widths]
    sums = q.new_empty(sum(widths) // head_dim, rows, dtype=torch.float32)
    given = (q_bias, k_bias, v_bias, q_norm, k_norm)
    biased = q_bias is not None or k_bias is not None or v_bias is not None
    partials = gradients = NOT_GIVEN
    if biased or q_norm is not None or k_norm is not None:
        blocks = parts(rows)
        partials = [
            None if t is None else y.new_empty(blocks, y.shape[1], dtype=torch.float32)
            for t, y in zip(given, (q, k, v, q, k))
        ]
        sizes = (*widths, head_dim, head_dim)
        gradients = [None if t is None else t.new_empty(n) for t, n in zip(given, sizes)]
    _native.run(
        HANDLE, NAMES[q.dtype], dq, dk, dv, q, k, v, head_dim, positions,
        *row_factor_values(squares, epsilon, width), cos, sin, inv_freq, *given, norm_epsilon,
        scale, *dz, sums, *partials,
    )  # fmt: skip
    if not _native.pretending():  # view() compares numbers of rows, which may be symbols
        for part, gradient in zip(partials, gradients):
            if part is not None:  # of a head's norm: its heads stand one after another
                finish(part.view(-1, gradient.shape[0]), gradient)
    return (*dz, sums, *gradients)


operator = define(SCHEMA, rope_backward, shapes=SHAPES)
