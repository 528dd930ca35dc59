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
    n = dcolumns = None
    both = (normed or columns) and x.is_cuda  # GPU kernels make both or neither, and add dx_in
    if normed or both:
        n = dz[0].new_empty(rows, width)
    if dx_in is None and x.is_cuda:
        dx_in = torch.zeros_like(dx)
    count = 3 if columns or both else 2
    sums = [x.new_empty(parts(rows), width, dtype=torch.float32) for _ in range(count)]
    _native.run(
        HANDLE, variant_on_stream(gamma, dz[0].dtype, x.dtype), dz, weights, x, dx_in, gamma, beta,
        moments, width, moments, width, epsilon, dots, width, shifts, width, dx, n, *sums,
        *([None] * (3 - count)),
    )  # fmt: skip
    dgamma, dbeta = gamma.new_empty(width), gamma.new_empty(width)
    finish(sums[0], dgamma)
    finish(sums[1], dbeta)
    if columns:
        dcolumns = gamma.new_empty(width)
        finish(sums[2], dcolumns)
    return dx, n if normed else None, dgamma, dbeta, dcolumns


operator = define(
    SCHEMA,
    linear_layer_norm_backward,
    shapes={
        "moments": "[parts, 2M]",
        "dots": "[parts, M]",
        "shifts": "[parts, M]",
        "gamma": "[h]",
        "beta": "[h]",
    },
)
