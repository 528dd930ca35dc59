"""linear_layer_norm_backward: back through z = n Wᵀ + b, n = x̂⊙γ + β, x̂ = (x − μ)·r, and the
residual stream beside it: dx = dx_in + r·((Σ dz_i W_i)⊙γ − Σ shifts/h − x̂·Σ dots/h)."""

import torch
from torch import Tensor

from coda import _native
from coda.operators.finish_columns import finish
from coda.operators.registration import declare, define
from coda.operators.variants import parts, variant_on_stream

SCHEMA = (
    "linear_layer_norm_backward(Tensor[] dz, Tensor[] weights, Tensor x, Tensor moments, "
    "float epsilon, Tensor dots, Tensor shifts, Tensor gamma, Tensor beta, Tensor? dx_in=None, "
    "bool normed=False, bool columns=False) "
    "-> (Tensor dx, Tensor normed, Tensor dgamma, Tensor dbeta, Tensor dcolumns)"
)
HANDLE = declare(
    "linear_layer_norm_backward", "contraction dz", "either transposed contraction weights", "x",
    "dx_in", "gamma", "beta", "mean=moments", "mean.width=x", "rstd=moments", "rstd.width=x",
    "rstd.epsilon=epsilon", "dots", "dots.width=x", "shifts", "shifts.width=x", "dx", "normed",
    "dgamma", "dbeta", "dcolumns",
)  # fmt: skip


def linear_layer_norm_backward(
    dz: list[Tensor],
    weights: list[Tensor],
    x: Tensor,
    moments: Tensor,
    epsilon: float,
    dots: Tensor,
    shifts: Tensor,
    gamma: Tensor,
    beta: Tensor,
    dx_in: Tensor | None = None,
    normed: bool = False,
    columns: bool = False,
) -> tuple[Tensor, Tensor | None, Tensor, Tensor, Tensor | None]:
    """1 to 4 dz [M, N_i], weights [N_i, h], x and dx_in [M, h] (dz's type or fp32), moments
    [parts, 2M], dots and shifts [parts, M] fp32, gamma, beta [h]
    -> dx [M, h] of x's type; n [M, h] with normed, to make the weights' gradients with; dgamma,
    dbeta [h] and, with columns, Σ dx over the rows [h], of gamma's type."""
    rows, width = x.shape[0], x.shape[1]
    dx = x.new_empty(rows, width)
    n = dz[0].new_empty(rows, width) if normed else None
    sums = [x.new_empty(parts(rows), width, dtype=torch.float32) for _ in range(2 + columns)]
    _native.run(
        HANDLE, variant_on_stream(gamma, dz[0].dtype, x.dtype), dz, weights, x, dx_in, gamma, beta,
        moments, width, moments, width, epsilon, dots, width, shifts, width, dx, n, *sums,
        *([] if columns else [None]),
    )  # fmt: skip
    made = [gamma.new_empty(width) for _ in sums]
    for partials, out in zip(sums, made):
        finish(partials, out)
    return dx, n, made[0], made[1], made[2] if columns else None


operator = define(SCHEMA, linear_layer_norm_backward)
