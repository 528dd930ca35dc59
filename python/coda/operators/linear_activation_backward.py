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
    out = torch.empty_like(dz) if recompute else None
    dots = shifts = partials = dbias = None
    if shift is not None:
        dots, shifts = (dy.new_empty(parts(columns), rows, dtype=torch.float32) for _ in range(2))
    if bias is not None:
        partials = dy.new_empty(parts(rows), columns, dtype=torch.float32)
        dbias = bias.new_empty(columns)
    _native.run(
        HANDLE, NAMES[dy.dtype], dy, weight, before, shift, offset, bias, number, dz, out, dots,
        shifts, partials,
    )  # fmt: skip
    if partials is not None and dbias is not None:
        finish(partials, dbias)
    return dz, out, dots, shifts, dbias


operator = define(SCHEMA, linear_activation_backward)
