"""linear_swiglu: out = f(gate)·up with (gate, up) = rstd ⊙ (x Wgᵀ, x Wuᵀ)."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from coda import _native
from coda.operators import linear_input_grad, linear_weight_grad
from coda.operators.registration import declare, define
from coda.operators.row_factor import (
    dots_of,
    row_factor_values,
    squares_gradient,
    times_row_factor,
)
from coda.operators.variants import NAMES

SCHEMA = (
    "linear_swiglu(Tensor x, Tensor gate_weight, Tensor up_weight, Tensor? squares=None, "
    'float epsilon=0., int width=0, str activation="silu", bool keep=True) '
    "-> (Tensor out, Tensor gate, Tensor up)"
)
HANDLE = declare(
    "linear_swiglu", "x", "pair gate_weight/up_weight", "rstd=squares", "rstd.epsilon=epsilon",
    "rstd.width=width", "activation", "gate", "up", "out",
)  # fmt: skip
Outputs = tuple[Tensor, Tensor | None, Tensor | None]

aten = torch.ops.aten
Pair = tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor], Tensor]]
# f, and (dy, gate) -> dy·f'(gate), in the order of libcoda's numbers for them.
ACTIVATIONS: dict[str, Pair] = {
    "silu": (aten.silu, aten.silu_backward),
    "gelu": (aten.gelu, aten.gelu_backward),
    "gelu_tanh": (
        lambda g: aten.gelu(g, approximate="tanh"),
        lambda dy, g: aten.gelu_backward(dy, g, approximate="tanh"),
    ),
    "relu": (aten.relu, lambda dy, g: aten.threshold_backward(dy, g, 0)),
}
NUMBERS = {name: number for number, name in enumerate(ACTIVATIONS)}


def activation_number(activation: str) -> int:
    """What libcoda calls an activation."""
    number = NUMBERS.get(activation)
    if number is None:
        raise ValueError(f"activation: expected one of {', '.join(NUMBERS)}, got {activation!r}")
    return number


def linear_swiglu(
    x: Tensor,
    gate_weight: Tensor,
    up_weight: Tensor,
    squares: Tensor | None = None,
    epsilon: float = 0.0,
    width: int = 0,
    activation: str = "silu",
    keep: bool = True,
) -> Outputs:
    """x [M, K], gate_weight and up_weight [F, K], squares [parts, M] -> out, gate, up [M, F].

    activation: silu, gelu, gelu_tanh or relu. Without keep, gate and up are not stored; a backward
    pass makes them again.
    """
    number = activation_number(activation)
    rows, columns = x.shape[0], gate_weight.shape[0]
    out = x.new_empty(rows, columns)
    gate = up = None
    if keep or (squares is None and x.is_cuda):  # the GPU kernels without a norm store them
        gate, up = torch.empty_like(out), torch.empty_like(out)
    _native.run(
        HANDLE, NAMES[x.dtype], x, (gate_weight, up_weight),
        *row_factor_values(squares, epsilon, width), number, gate, up, out,
    )  # fmt: skip
    return (out, gate, up) if keep else (out, None, None)


def save(ctx: Any, output: Outputs, given: Any) -> None:
    ctx.save_for_backward(given.x, given.gate_weight, given.up_weight, given.squares, *output[1:])
    ctx.numbers = (given.epsilon, given.width)
    ctx.activation = given.activation


def backward(
    ctx: Any, dout: Tensor | None, dgate: Tensor | None, dup: Tensor | None
) -> tuple[Any, ...]:
    x, gate_weight, up_weight, squares, gate, up = ctx.saved_tensors
    epsilon, width = ctx.numbers
    if gate is None:
        dgate = dup = None
        _, gate, up = operator(x, gate_weight, up_weight, squares, epsilon, width, ctx.activation)
    value, slope = ACTIVATIONS[ctx.activation]
    if dout is not None:
        through_gate, through_up = slope(dout * up, gate), dout * value(gate)
        dgate = through_gate if dgate is None else dgate + through_gate
        dup = through_up if dup is None else dup + through_up
    dz = [
        torch.zeros_like(gate) if d is None else times_row_factor(d, squares, epsilon, width)
        for d in (dgate, dup)
    ]
    weights = [gate_weight, up_weight]
    needs_squares = ctx.needs[3]
    dx = linear_input_grad.operator(dz, weights) if ctx.needs[0] or needs_squares else None
    dsquares = None
    if dx is not None and needs_squares:
        dsquares = squares_gradient(dots_of(x, dx), squares, epsilon, width)
    dweights = linear_weight_grad.weight_gradients(dz, x, weights, ctx.needs[1:3])
    return dx, *dweights, dsquares, None, None, None, None


operator = define(SCHEMA, linear_swiglu, save, backward, shapes={"squares": "[parts, M]"})
