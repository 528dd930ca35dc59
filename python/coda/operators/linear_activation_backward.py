"""linear_activation_backward: back through out = f(z) of linear_activation from the gradient of the
linear layer that took it: da = dy W, dz = da·f'(z)."""

import torch
from torch import Tensor

from coda import _native
from coda.operators.finish_columns import finish
from coda.operators.linear_activation import activation_number
from coda.operators.registration import declare, define
from coda.operators.variants import NAMES, parts

SCHEMA = (
    "linear_activation_backward(Tensor dy, Tensor weight, Tensor before, Tensor? shift=None, "
    'Tensor? offset=None, Tensor? bias=None, str activation="identity", bool recompute=False) '
    "-> (Tensor dz, Tensor out, Tensor dots, Tensor shifts, Tensor dbias)"
)
HANDLE = declare(
    "linear_activation_backward", "dy", "either transposed weight", "before", "shift", "offset",
    "bias", "activation", "dz", "out", "dots", "shifts", "dbias",
)  # fmt: skip
USUAL = "gelu_tanh"  # has kernels of its own on a GPU
Outputs = tuple[Tensor, Tensor | None, Tensor | None, Tensor | None, Tensor | None]


def linear_activation_backward(
    dy: Tensor,
    weight: Tensor,
    before: Tensor,
    shift: Tensor | None = None,
    offset: Tensor | None = None,
    bias: Tensor | None = None,
    activation: str = "identity",
    recompute: bool = False,
) -> Outputs:
    """dy [M, h], weight [h, F], before = z [M, F], shift and offset [F] fp32, bias [F]
    -> dz [M, F]; out = f(z) [M, F] with recompute; with shift, for linear_layer_norm_backward,
    dots = Σ dz·(z − offset − bias) and shifts = Σ dz·shift [⌈F/64⌉, M] fp32; dbias [F]."""
    number = activation_number(activation)
    if (shift is None) is not (offset is None):
        raise ValueError("shift, offset: expected both or none, got one")
    rows, columns = dy.shape[0], weight.shape[1]
    dz = dy.new_empty(rows, columns)
    out = dots = shifts = partials = dbias = None
    normed = shift is not None
    if dy.is_cuda and shift is None:  # GPU kernels are for what stands behind a norm
        shift = offset = dy.new_zeros(columns, dtype=torch.float32)
    if recompute or (dy.is_cuda and activation != USUAL):  # those kernels store it
        out = torch.empty_like(dz)
    if shift is not None:
        dots, shifts = (dy.new_empty(parts(columns), rows, dtype=torch.float32) for _ in range(2))
    if bias is not None or dy.is_cuda:
        partials = dy.new_empty(parts(rows), columns, dtype=torch.float32)
    _native.run(
        HANDLE, NAMES[dy.dtype], dy, weight, before, shift, offset, bias, number, dz, out, dots,
        shifts, partials,
    )  # fmt: skip
    if bias is not None and partials is not None:
        dbias = bias.new_empty(columns)
        finish(partials, dbias)
    return dz, out if recompute else None, *((dots, shifts) if normed else (None, None)), dbias


operator = define(
    SCHEMA, linear_activation_backward, shapes={"shift": "[F]", "offset": "[F]", "bias": "[F]"}
)
