"""linear_weight_grad: dW = α·dzᵀ x, the gradient of weights that one input has met."""

import torch
from torch import Tensor

from coda import _native
from coda.operators.registration import NAMES, define

SCHEMA = "linear_weight_grad(Tensor[] dz, Tensor x, ScalarType? dtype=None, float alpha=1.) -> Tensor"
HANDLE = _native.declare(
    "linear_weight_grad", "transposed rows dz", "transposed x", "alpha", "out"
)


def empty_result(dz: list[Tensor], x: Tensor, dtype: torch.dtype | None) -> Tensor:
    rows = sum([part.shape[1] for part in dz])
    return x.new_empty((rows, x.shape[1]), dtype=dtype)


def linear_weight_grad(
    dz: list[Tensor], x: Tensor, dtype: torch.dtype | None = None, alpha: float = 1.0
) -> Tensor:
    """dz 1 to 4 of [M, N_i], x [M, K] -> [Σ N_i, K], rows in the order of dz."""
    out = empty_result(dz, x, dtype)
    variant = NAMES[x.dtype]
    if dtype is not None and dtype != x.dtype:
        variant += "-" + NAMES[dtype]
    _native.run(HANDLE, variant, dz, x, alpha, out)
    return out


def fake(dz, x, dtype=None, alpha=1.0):
    return empty_result(dz, x, dtype)


operator = define(SCHEMA, linear_weight_grad, fake)
