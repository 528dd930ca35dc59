"""LayerNorm n = (x − μ)·r⊙γ + β, μ and r = (variance + ε)^-½ of every row: as it is (layer_norm and
layer_norm_backward), and what it needs where its mean and row factor are applied behind the next
GEMM (layer_norm_inputs) and where attention gave that GEMM's gradient (layer_norm_sums).

moments are (Σx, Σx²) per 64 columns, [⌈h/64⌉, 2M] fp32: both numbers of a row, then the next row's.
"""

from typing import Any

import torch
from torch import Tensor

from coda import _native
from coda.operators.finish_columns import finish
from coda.operators.registration import declare, define
from coda.operators.variants import NAMES, on_stream, parts

SCHEMA = "layer_norm(Tensor x, Tensor gamma, Tensor beta, float epsilon) -> Tensor"
INPUTS_SCHEMA = "layer_norm_inputs(Tensor x, Tensor gamma) -> (Tensor scaled, Tensor moments)"
SUMS_SCHEMA = (
    "layer_norm_sums(Tensor dz, Tensor z, Tensor shift, Tensor offset, Tensor? bias=None) "
    "-> (Tensor dots, Tensor shifts, Tensor dbias)"
)
BACKWARD_SCHEMA = (
    "layer_norm_backward(Tensor dy, Tensor x, Tensor gamma, float epsilon, Tensor? dx_in=None) "
    "-> (Tensor dx, Tensor dgamma, Tensor dbeta)"
)
HANDLE = declare("layer_norm", "", "", "x", "gamma", "beta", "epsilon", "out")
INPUTS = declare("layer_norm_inputs", "", "", "x", "gamma", "scaled", "moments")
SUMS = declare(
    "layer_norm_sums", "", "", "dz", "z", "shift", "offset", "bias", "dots", "shifts", "dbias"
)
BACKWARD = declare(
    "layer_norm_backward", "", "", "dy", "x", "gamma", "epsilon", "dx_in", "dx", "dgamma", "dbeta"
)


def new_moments(x: Tensor, rows: int, columns: int) -> Tensor:
    return x.new_empty(parts(columns), 2 * rows, dtype=torch.float32)


def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float) -> Tensor:
    """x [M, h] (gamma's type or fp32), gamma, beta [h] -> [M, h] of gamma's type."""
    out = gamma.new_empty(x.shape[0], x.shape[1])
    _native.run(HANDLE, on_stream(gamma.dtype, x.dtype), x, gamma, beta, epsilon, out)
    return out


def layer_norm_inputs(x: Tensor, gamma: Tensor) -> tuple[Tensor, Tensor]:
    """x [M, h] (gamma's type or fp32), gamma [h] -> scaled = x⊙γ [M, h] of gamma's type,
    moments."""
    rows, columns = x.shape[0], x.shape[1]
    scaled, moments = gamma.new_empty(rows, columns), new_moments(x, rows, columns)
    _native.run(INPUTS, on_stream(gamma.dtype, x.dtype), x, gamma, scaled, moments)
    return scaled, moments


def layer_norm_sums(
    dz: Tensor, z: Tensor, shift: Tensor, offset: Tensor, bias: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """dz, z [M, N], shift = γ Wᵀ and offset = β Wᵀ [N] fp32, bias [N]
    -> dots = Σ dz·(z − offset − bias), shifts = Σ dz·shift [⌈N/64⌉, M] fp32; dbias [N]."""
    rows, columns = z.shape[0], z.shape[1]
    dots, shifts = (z.new_empty(parts(columns), rows, dtype=torch.float32) for _ in range(2))
    partials = dbias = None
    if bias is not None:
        partials = z.new_empty(parts(rows), columns, dtype=torch.float32)
        dbias = bias.new_empty(columns)
    _native.run(
        SUMS, NAMES[z.dtype], dz, z, shift, offset, bias, dots, shifts, partials
    )  # fmt: skip
    if partials is not None and dbias is not None:
        finish(partials, dbias)
    return dots, shifts, dbias


def layer_norm_backward(
    dy: Tensor, x: Tensor, gamma: Tensor, epsilon: float, dx_in: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """dy [M, h], x and dx_in [M, h] (dy's type or fp32), gamma [h]
    -> dx = dx_in + the gradient of x [M, h] of x's type, dgamma, dbeta [h] of gamma's type."""
    rows, columns = x.shape[0], x.shape[1]
    dx = x.new_empty(rows, columns)
    partials = [x.new_empty(parts(rows), columns, dtype=torch.float32) for _ in range(2)]
    variant = on_stream(dy.dtype, x.dtype)
    _native.run(BACKWARD, variant, dy, x, gamma, epsilon, dx_in, dx, *partials)
    dgamma, dbeta = gamma.new_empty(columns), gamma.new_empty(columns)
    finish(partials[0], dgamma)
    finish(partials[1], dbeta)
    return dx, dgamma, dbeta


def save(ctx: Any, output: Tensor, given: Any) -> None:
    ctx.save_for_backward(given.x, given.gamma)
    ctx.epsilon = given.epsilon


def backward(ctx: Any, dout: Tensor) -> tuple[Any, ...]:
    x, gamma = ctx.saved_tensors
    made = backward_operator(dout, x, gamma, ctx.epsilon)
    return (*(d if need else None for d, need in zip(made, ctx.needs)), None)


operator = define(SCHEMA, layer_norm, save, backward, shapes={"gamma": "[h]", "beta": "[h]"})
inputs_operator = define(INPUTS_SCHEMA, layer_norm_inputs, shapes={"gamma": "[h]"})
sums_operator = define(
    SUMS_SCHEMA, layer_norm_sums, shapes={"shift": "[N]", "offset": "[N]", "bias": "[N]"}
)
backward_operator = define(BACKWARD_SCHEMA, layer_norm_backward, shapes={"gamma": "[h]"})
