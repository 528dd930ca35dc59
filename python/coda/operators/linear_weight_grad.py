"""linear_weight_grad: dW = α·dzᵀ x, the gradient of weights that one input has met."""

import torch
from torch import Tensor

from coda import _native
from coda.operators.registration import declare, define
from coda.operators.variants import variant_into

SCHEMA = (
    "linear_weight_grad(Tensor[] dz, Tensor x, ScalarType? dtype=None, float alpha=1.) -> Tensor"
)
HANDLE = declare("linear_weight_grad", "transposed rows dz", "transposed x", "alpha", "out")


def linear_weight_grad(
    dz: list[Tensor], x: Tensor, dtype: torch.dtype | None = None, alpha: float = 1.0
) -> Tensor:
    """dz 1 to 4 of [M, N_i], x [M, K] -> [Σ N_i, K], rows in the order of dz."""
    rows = sum([part.shape[1] for part in dz])
    out = x.new_empty(rows, x.shape[1], dtype=dtype)
    _native.run(HANDLE, variant_into(x.dtype, dtype), dz, x, alpha, out)
    return out


operator = define(SCHEMA, linear_weight_grad)


def weight_gradients(
    dz: list[Tensor], x: Tensor, weights: list[Tensor], needs: tuple[bool, ...]
) -> list[Tensor | None]:
    """dW_i = dz_iᵀ x of the weights that need it, in one GEMM; views of one tensor."""
    wanted = [i for i, need in enumerate(needs) if need]
    result: list[Tensor | None] = [None] * len(weights)
    if wanted:
        whole = operator([dz[i] for i in wanted], x)
        for i, part in zip(wanted, whole.split([weights[i].shape[0] for i in wanted])):
            result[i] = part
    return result
