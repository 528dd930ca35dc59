"""linear_residual_norm: out = x Wᵀ + bias + residual, with what the RMSNorm behind it needs:
scaled = out⊙γ where γ is given, and squares = Σ out² per 64 columns."""

from typing import Any

import torch
from torch import Tensor

from coda import _native
from coda.operators import linear_input_grad, linear_weight_grad
from coda.operators.norm_inputs import stream_gradient
from coda.operators.registration import declare, define
from coda.operators.variants import parts, variant_on_stream

SCHEMA = (
    "linear_residual_norm(Tensor x, Tensor weight, Tensor residual, Tensor? gamma=None, "
    "Tensor? bias=None) -> (Tensor out, Tensor scaled, Tensor squares)"
)
HANDLE = declare(
    "linear_residual_norm", "x", "weight", "residual", "gamma", "bias", "out", "scaled", "squares"
)
Outputs = tuple[Tensor, Tensor | None, Tensor]


def linear_residual_norm(
    x: Tensor,
    weight: Tensor,
    residual: Tensor,
    gamma: Tensor | None = None,
    bias: Tensor | None = None,
) -> Outputs:
    """x [M, K], weight [h, K], residual [M, h] (x's type or fp32), gamma [h], bias [h]
    -> out [M, h] of residual's type, scaled [M, h], squares [⌈h/64⌉, M] fp32."""
    rows, columns = x.shape[0], weight.shape[0]
    out = residual.new_empty(rows, columns)
    scaled = None if gamma is None else x.new_empty(rows, columns)
    squares = x.new_empty(parts(columns), rows, dtype=torch.float32)
    variant = variant_on_stream(gamma, x.dtype, residual.dtype)
    _native.run(HANDLE, variant, x, weight, residual, gamma, bias, out, scaled, squares)
    return out, scaled, squares


def save(ctx: Any, output: Outputs, given: Any) -> None:
    ctx.save_for_backward(given.x, given.weight, given.gamma, output[0])


def backward(
    ctx: Any, dout: Tensor | None, dscaled: Tensor | None, dsquares: Tensor | None
) -> tuple[Any, ...]:
    x, weight, gamma, out = ctx.saved_tensors
    needs_x, needs_weight, needs_residual, needs_gamma, needs_bias = ctx.needs
    total, dgamma = stream_gradient(out, gamma, dout, dscaled, dsquares, needs_gamma)
    dz = total.to(x.dtype)
    return (
        linear_input_grad.operator([dz], [weight]) if needs_x else None,
        linear_weight_grad.operator([dz], x) if needs_weight else None,
        total if needs_residual else None,
        dgamma,
        total.sum(0).to(x.dtype) if needs_bias else None,
    )


operator = define(
    SCHEMA, linear_residual_norm, save, backward, shapes={"gamma": "[h]", "bias": "[h]"}
)
