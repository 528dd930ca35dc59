"""linear_norm_backward: back through z = rstd·(x⊙γ) Wᵀ and the residual stream beside it:
dx = dx_in + (Σ dz_i W_i)⊙γ − x ⊙ rstd²·w, w = Σ dots/h. dz holds rstd·dz, as
linear_swiglu_backward and rope_backward leave it."""

import torch
from torch import Tensor

from coda import _native
from coda.operators import finish_columns
from coda.operators.registration import declare, define
from coda.operators.variants import nothing, parts, variant_on_stream

SCHEMA = (
    "linear_norm_backward(Tensor[] dz, Tensor[] weights, Tensor x, Tensor squares, float epsilon, "
    "Tensor dots, Tensor? dx_in=None, Tensor? gamma=None, bool scaled=False) "
    "-> (Tensor dx, Tensor scaled, Tensor dgamma)"
)
HANDLE = declare(
    "linear_norm_backward", "contraction dz", "transposed contraction weights", "x",
    "rstd=squares", "rstd.epsilon=epsilon", "rstd.width=x", "dots", "dots.width=x", "dx_in",
    "gamma", "dx", "scaled", "dgamma",
)  # fmt: skip
Outputs = tuple[Tensor, Tensor, Tensor]


def fake(
    dz: list[Tensor],
    weights: list[Tensor],
    x: Tensor,
    squares: Tensor,
    epsilon: float,
    dots: Tensor,
    dx_in: Tensor | None = None,
    gamma: Tensor | None = None,
    scaled: bool = False,
) -> Outputs:
    rows, columns = x.shape[0], x.shape[1]
    multiplied = dz[0].new_empty(rows, columns) if scaled else nothing(dz[0])
    dgamma = nothing(x) if gamma is None else gamma.new_empty(columns)
    return x.new_empty(rows, columns), multiplied, dgamma


def linear_norm_backward(
    dz: list[Tensor],
    weights: list[Tensor],
    x: Tensor,
    squares: Tensor,
    epsilon: float,
    dots: Tensor,
    dx_in: Tensor | None = None,
    gamma: Tensor | None = None,
    scaled: bool = False,
) -> Outputs:
    """1 to 4 dz [M, N_i], weights [N_i, h], x and dx_in [M, h] (dz's type or fp32),
    squares and dots [parts, M], gamma [h]
    -> dx [M, h] of x's type, scaled = x⊙γ [M, h] where asked for, dgamma [h] of gamma's type."""
    if scaled and gamma is None:
        raise ValueError("scaled: expected False without gamma (x⊙γ is x then), got True")
    dx, multiplied, dgamma = fake(dz, weights, x, squares, epsilon, dots, dx_in, gamma, scaled)
    width = x.shape[1]
    partials = None
    if gamma is not None:
        partials = x.new_empty(parts(x.shape[0]), width, dtype=torch.float32)
    _native.run(
        HANDLE, variant_on_stream(gamma, dz[0].dtype, x.dtype), dz, weights, x, squares, epsilon,
        width, dots, width, dx_in, gamma, dx, multiplied if scaled else None, partials,
    )  # fmt: skip
    if partials is not None:
        finish_columns.finish(partials, dgamma)
    return dx, multiplied, dgamma


operator = define(SCHEMA, linear_norm_backward, fake)
