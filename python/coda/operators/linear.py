"""linear: out = α·rstd ⊙ x Wᵀ + β·c + bias."""

from typing import Any

import torch
from torch import Tensor

from coda import _native
from coda.operators import linear_weight_grad
from coda.operators.registration import declare, define
from coda.operators.row_factor import (
    dots_of,
    row_factor,
    row_factor_values,
    squares_gradient,
    times_row_factor,
)
from coda.operators.variants import variant_into

SCHEMA = (
    "linear(Tensor x, Tensor weight, Tensor? bias=None, Tensor? squares=None, float epsilon=0., "
    "int width=0, Tensor? c=None, float alpha=1., float beta=1., ScalarType? dtype=None) -> Tensor"
)
HANDLE = declare(
    "linear", "either x", "either weight", "bias", "rstd=squares", "rstd.epsilon=epsilon",
    "rstd.width=width", "c", "alpha", "beta", "out",
)  # fmt: skip


def linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    squares: Tensor | None = None,
    epsilon: float = 0.0,
    width: int = 0,
    c: Tensor | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """x [M, K], weight [N, K], bias [N], squares [parts, M], c [M, N] -> out [M, N]."""
    out = x.new_empty(x.shape[0], weight.shape[0], dtype=dtype)
    variant = variant_into(x.dtype, dtype)
    norm = row_factor_values(squares, epsilon, width)
    ports = (bias is not None) + (squares is not None) + (c is not None)
    if ports > 0 and x.is_cuda and not has_kernel(x, weight, out, ports):
        check_ports(out, bias, squares, c)
        _native.run(HANDLE, variant, x, weight, None, None, None, None, None, alpha, None, out)
        return finish(out, bias, squares, epsilon, width, c, beta)
    _native.run(HANDLE, variant, x, weight, bias, *norm, c, alpha, beta, out)
    return out


def has_kernel(x: Tensor, weight: Tensor, out: Tensor, ports: int) -> bool:
    """Whether a GPU kernel has that many of bias, squares and c: one, beside row-major bf16
    tensors."""
    row_major = x.stride(1) == 1 and weight.stride(1) == 1
    return ports == 1 and row_major and out.dtype == torch.bfloat16


def check_ports(out: Tensor, bias: Tensor | None, squares: Tensor | None, c: Tensor | None) -> None:
    """As libcoda does; PyTorch would spread a row over all of them."""
    if _native.pretending():  # numbers of rows may be symbols, which nobody should compare
        return
    rows, columns = out.shape
    parts = 1 if squares is None else squares.shape[0]
    for name, tensor, shape, dtype in (
        ("bias", bias, (columns,), out.dtype),
        ("squares", squares, (parts, rows), torch.float32),
        ("c", c, (rows, columns), out.dtype),
    ):
        if tensor is not None and (tensor.shape != shape or tensor.dtype != dtype):
            raise ValueError(
                f"{name}: expected {list(shape)} {dtype}, got {list(tensor.shape)} {tensor.dtype}"
            )


def finish(
    product: Tensor,
    bias: Tensor | None,
    squares: Tensor | None,
    epsilon: float,
    width: int,
    c: Tensor | None,
    beta: float,
) -> Tensor:
    """The ports on the product [M, N], by PyTorch in fp32."""
    out = product.float()
    if squares is not None:
        out = out * row_factor(squares, epsilon, width).unsqueeze(1)
    if c is not None:
        out = out + beta * c
    if bias is not None:
        out = out + bias
    return out.to(product.dtype)


def save(ctx: Any, output: Tensor, given: Any) -> None:
    ctx.save_for_backward(given.x, given.weight, given.squares)
    ctx.numbers = (given.epsilon, given.width, given.alpha, given.beta)


def backward(ctx: Any, dout: Tensor) -> tuple[Any, ...]:
    x, weight, squares = ctx.saved_tensors
    epsilon, width, alpha, beta = ctx.numbers
    needs_x, needs_weight, needs_bias, needs_squares, _, _, needs_c = ctx.needs[:7]
    dx: Any = None
    dweight = dsquares = None
    dz = dout.to(x.dtype)
    if needs_x or needs_squares:
        dx = operator(dz, weight.t(), None, squares, epsilon, width, None, alpha)
    if needs_weight:
        scaled = times_row_factor(dz, squares, epsilon, width)
        dweight = linear_weight_grad.operator([scaled], x, None, alpha)
    if needs_squares:
        dsquares = squares_gradient(dots_of(x, dx), squares, epsilon, width)
    dbias = dout.sum(0) if needs_bias else None
    dc = dout * beta if needs_c else None
    return dx, dweight, dbias, dsquares, None, None, dc, None, None, None


operator = define(SCHEMA, linear, save, backward, shapes={"bias": "[N]", "squares": "[parts, M]"})
