"""linear_swiglu_backward: back through out = f(gate)·up from the gradient of its down projection:
da = dy Wd, dgate = rstd ⊙ da·up·f'(gate), dup = rstd ⊙ da·f(gate)."""

import torch
from torch import Tensor

from coda import _native
from coda.operators.linear_swiglu import activation_number
from coda.operators.registration import declare, define
from coda.operators.row_factor import row_factor_values
from coda.operators.variants import NAMES, nothing, parts

SCHEMA = (
    "linear_swiglu_backward(Tensor dy, Tensor down_weight, Tensor gate, Tensor up, "
    'Tensor? squares=None, float epsilon=0., int width=0, str activation="silu", '
    "bool recompute=False) -> (Tensor dgate, Tensor dup, Tensor out, Tensor dots)"
)
HANDLE = declare(
    "linear_swiglu_backward", "dy", "transposed down_weight", "gate", "up", "rstd=squares",
    "rstd.epsilon=epsilon", "rstd.width=width", "activation", "dgate", "dup", "out", "dots",
)  # fmt: skip
Outputs = tuple[Tensor, Tensor, Tensor, Tensor]


def fake(
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
    rows, columns = dy.shape[0], down_weight.shape[1]
    dgate, dup = dy.new_empty(rows, columns), dy.new_empty(rows, columns)
    out = dy.new_empty(rows, columns) if recompute else nothing(dy)
    if squares is None:
        return dgate, dup, out, dy.new_empty(0, dtype=torch.float32)
    return dgate, dup, out, dy.new_empty(parts(columns), rows, dtype=torch.float32)


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
    dgate, dup, out, dots = fake(dy, down_weight, gate, up, squares, recompute=recompute)
    norm = row_factor_values(squares, epsilon, width)
    made: Tensor | None = out if recompute else None
    if made is None and squares is None and number != 0 and dy.is_cuda:
        made = torch.empty_like(dgate)  # that kernel stores it
    _native.run(
        HANDLE, NAMES[dy.dtype], dy, down_weight, gate, up, *norm, number, dgate, dup,
        made, None if squares is None else dots,
    )  # fmt: skip
    return dgate, dup, out, dots


operator = define(SCHEMA, linear_swiglu_backward, fake)
