"""scale_gradient: factor·gradient, rounded once; the host does not look at the factor."""

import torch
from torch import Tensor

from coda import _native
from coda.operators.registration import declare, define
from coda.operators.variants import variant_into

SCHEMA = "scale_gradient(Tensor gradient, Tensor factor, ScalarType? dtype=None) -> Tensor"
HANDLE = declare("scale_gradient", "", "", "gradient", "factor", "out")


def scale_gradient(gradient: Tensor, factor: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """gradient [N, K], factor [] or [1] fp32 -> [N, K], of the gradient's type or bf16."""
    out = gradient.new_empty(gradient.shape[0], gradient.shape[1], dtype=dtype)
    _native.run(HANDLE, variant_into(gradient.dtype, dtype), gradient, factor, out)
    return out


operator = define(SCHEMA, scale_gradient)
