"""rope_backward: gradients of q, k, v back to those of their linear layers, rotated back and times
the row factor of the RMSNorm before them, with the row sums that the norm's gradient needs."""

import torch
from torch import Tensor

from coda import _native
from coda.operators.finish_columns import finish
from coda.operators.registration import declare, define
from coda.operators.rotation import all_or_none, check_rotation
from coda.operators.variants import NAMES, nothing, parts

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
Outputs = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


def fake(
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
) -> Outputs:
    rows, columns = q.shape[0], [y.shape[1] for y in (q, k, v)]
    dz = [q.new_empty((rows, n)) for n in columns]
    heads = sum(columns) // head_dim if head_dim > 0 else 0
    sums = q.new_empty((heads, rows), dtype=torch.float32)
    given = (q_bias, k_bias, v_bias, q_norm, k_norm)
    gradients = [nothing(q) if t is None else t.new_empty(t.shape) for t in given]
    return (*dz, sums, *gradients)  # type: ignore[return-value]


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
) -> Outputs:
    """Arguments as linear_rope's; dq, q and so on [M, H_i·head_dim], q and k before their norm
    where there is one -> dzq, dzk, dzv [M, H_i·head_dim], sums [Hq + 2·Hkv, M] fp32,
    and the gradients of biases and norms, in their types."""
    check_rotation(cos, sin, inv_freq)
    all_or_none("q_bias, k_bias, v_bias", (q_bias, k_bias, v_bias))
    all_or_none("q_norm, k_norm", (q_norm, k_norm))
    given = (q_bias, k_bias, v_bias, q_norm, k_norm)
    made = fake(dq, dk, dv, q, k, v, head_dim, positions, squares, epsilon, width, None, None, None,
                *given)  # fmt: skip
    blocks = parts(q.shape[0])
    partials = [
        None if t is None else y.new_empty((blocks, y.shape[1]), dtype=torch.float32)
        for t, y in zip(given, (q, k, v, q, k))
    ]
    _native.run(
        HANDLE, NAMES[q.dtype], dq, dk, dv, q, k, v, head_dim, positions, squares, epsilon, width,
        cos, sin, inv_freq, *given, norm_epsilon, scale, *made[:4], *partials,
    )  # fmt: skip
    for part, gradient in zip(partials, made[4:]):
        if part is not None:  # of a head's norm: its heads stand one after another
            finish(part.view(-1, gradient.shape[0]), gradient)
    return made


operator = define(SCHEMA, rope_backward, fake)
