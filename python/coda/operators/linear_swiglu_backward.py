"""linear_swiglu_backward: back through out = f(gate)·up from the gradient of its down projection:
da = dy Wd, dgate = rstd ⊙ da·up·f'(gate), dup = rstd ⊙ da·f(gate)."""

import torch
from torch import Tensor

from coda import _native
from coda.operators.linear_swiglu import activation_number
from coda.operators.registration import declare, define
from coda.operators.row_factor import row_factor_values
from coda.operators.variants import NAMES, parts

SCHEMA = (
    "linear_swiglu_backward(Tensor dy, Tensor down_weight, Tensor gate, Tensor up, "
    'Tensor? squares=None, float epsilon=0., int width=0, str activation="silu", '
    "bool recompute=False) -> (Tensor dgate, Tensor dup, Tensor out, Tensor dots)"
)
HANDLE = declare(
    "linear_swiglu_backward", "dy", "transposed down_weight", "gate", "up", "rstd=squares",
    "rstd.epsilon=epsilon", "rstd.width=width", "activation", "dgate", "dup", "out", "dots",
)  # fmt: skip
Outputs = tuple[Tensor, Tensor, Tensor | None, Tensor | None]


def linear_swiglu_backward(
    dy: Tensor,
    down_weight: Tensor,
    gate: Tensor,
    up: Tensor,
    squares: Tensor | None = None,
    epsilon: float = 0.0,
    width: int = 0,
    activation: str = "silu",
    recompute: bool = False,
) -> Outputs:
    """dy [M, h], down_weight [h, F], gate and up [M, F], squares [parts, M]
    -> dgate, dup [M, F], out = f(gate)·up [M, F] with recompute, and with squares
    dots [⌈F/64⌉, M] fp32, for linear_norm_backward."""
    number = activation_number(activation)
    rows, columns = dy.shape[0], down_weight.shape[1]
    dgate = dy.new_empty(rows, columns)
    dup = torch.empty_like(dgate)
    out = dots = None
    if recompute or (squares is None and number != 0 and dy.is_cuda):  # that kernel stores it
        out = torch.empty_like(dgate)
    if squares is not None:
        dots = dy.new_empty(parts(columns), rows, dtype=torch.float32)
    _native.run(
        HANDLE, NAMES[dy.dtype], dy, down_weight, gate, up,
        *row_factor_values(squares, epsilon, width), number, dgate, dup, out, dots,
    )  # fmt: skip
    return dgate, dup, out if recompute else None, dots


operator = define(SCHEMA, linear_swiglu_backward, shapes={"squares": "[parts, M]"})
