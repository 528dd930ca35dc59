"""linear_norm_backward: back through z = rstd·(x⊙γ) Wᵀ and the residual stream beside it:
dx = dx_in + (Σ dz_i W_i)⊙γ − x ⊙ rstd²·w, w = Σ dots/h. dz holds rstd·dz, as
linear_swiglu_backward and rope_backward leave it."""

import torch
from torch import Tensor

from coda import _native
from coda.operators.finish_columns import finish
from coda.operators.registration import declare, define
from coda.operators.variants import parts, variant_on_stream

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
Outputs = tuple[Tensor, Tensor | None, Tensor | None]


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
    rows, width = x.shape[0], x.shape[1]
    dx = x.new_empty(rows, width)
    multiplied = dz[0].new_empty(rows, width) if scaled else None
    partials = dgamma = None
    if gamma is not None:
        partials = x.new_empty(parts(rows), width, dtype=torch.float32)
        dgamma = gamma.new_empty(width)
    _native.run(
        HANDLE, variant_on_stream(gamma, dz[0].dtype, x.dtype), dz, weights, x, squares, epsilon,
        width, dots, width, dx_in, gamma, dx, multiplied, partials,
    )  # fmt: skip
    if partials is not None and dgamma is not None:
        finish(partials, dgamma)
    return dx, multiplied, dgamma


operator = define(
    SCHEMA,
    linear_norm_backward,
    shapes={"squares": "[parts, M]", "dots": "[parts, M]", "gamma": "[h]"},
)
