"""linear_input_grad: Σ dz_i W_i, the gradient by the input of layers that share it, as one GEMM."""

from torch import Tensor

from coda import _native
from coda.operators.registration import declare, define
from coda.operators.variants import variant_into

SCHEMA = "linear_input_grad(Tensor[] dz, Tensor[] weights) -> Tensor"
HANDLE = declare(
    "linear", "contraction dz", "contraction transposed weights", "out",
    operator="linear_input_grad",
)  # fmt: skip


def linear_input_grad(dz: list[Tensor], weights: list[Tensor]) -> Tensor:
    """dz: 1 to 4 of [M, N_i]; weights [N_i, K] -> dx [M, K]."""
    out = dz[0].new_empty(dz[0].shape[0], weights[0].shape[1])
    _native.run(HANDLE, variant_into(dz[0].dtype, None), dz, weights, out)
    return out


operator = define(SCHEMA, linear_input_grad)
