"""linear_residual_layer_norm: out = x Wᵀ + bias + residual, with what the LayerNorm behind it
needs: scaled = out⊙γ and moments = (Σ out, Σ out²) per 64 columns."""

from torch import Tensor

from coda import _native
from coda.operators.layer_norm import new_moments
from coda.operators.registration import declare, define
from coda.operators.variants import variant_on_stream

SCHEMA = (
    "linear_residual_layer_norm(Tensor x, Tensor weight, Tensor residual, Tensor gamma, "
    "Tensor? bias=None) -> (Tensor out, Tensor scaled, Tensor moments)"
)
HANDLE = declare(
    "linear_residual_layer_norm", "either x", "either weight", "residual", "bias", "gamma", "out",
    "scaled", "moments",
)  # fmt: skip


def linear_residual_layer_norm(
    x: Tensor, weight: Tensor, residual: Tensor, gamma: Tensor, bias: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """x [M, K], weight [h, K], residual [M, h] (x's type or fp32), gamma [h], bias [h]
    -> out [M, h] of residual's type, scaled [M, h], moments [⌈h/64⌉, 2M] fp32."""
    rows, columns = x.shape[0], weight.shape[0]
    out, scaled = residual.new_empty(rows, columns), x.new_empty(rows, columns)
    moments = new_moments(x, rows, columns)
    variant = variant_on_stream(gamma, x.dtype, residual.dtype)
    _native.run(HANDLE, variant, x, weight, residual, bias, gamma, out, scaled, moments)
    return out, scaled, moments


operator = define(SCHEMA, linear_residual_layer_norm, shapes={"gamma": "[h]", "bias": "[h]"})
