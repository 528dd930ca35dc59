"""norm_inputs: what the GEMM behind an RMSNorm needs of its input: scaled = x⊙γ, and squares = Σx²
per 64 columns, from which that GEMM finishes the row factor."""

from typing import Any

import torch
from torch import Tensor

from coda import _native
from coda.operators.registration import declare, define
from coda.operators.row_factor import per_column
from coda.operators.variants import NAMES, parts

SCHEMA = "norm_inputs(Tensor x, Tensor? gamma=None) -> (Tensor scaled, Tensor squares)"
HANDLE = declare("norm_inputs", "", "", "x", "gamma", "scaled", "squares")


def norm_inputs(x: Tensor, gamma: Tensor | None = None) -> tuple[Tensor | None, Tensor]:
    """x [M, h], gamma [h] -> scaled [M, h], squares [⌈h/64⌉, M] fp32."""
    rows, columns = x.shape[0], x.shape[1]
    scaled = None if gamma is None else x.new_empty(rows, columns)
    squares = x.new_empty(parts(columns), rows, dtype=torch.float32)
    _native.run(HANDLE, NAMES[x.dtype], x, gamma, scaled, squares)
    return scaled, squares


def stream_gradient(
    x: Tensor,
    gamma: Tensor | None,
    dx: Tensor | None,
    dscaled: Tensor | None,
    dsquares: Tensor | None,
    needs_gamma: bool,
) -> tuple[Tensor, Tensor | None]:
    """The gradient by x [M, h], of which x itself, x⊙γ and Σx² were given on, and that by γ [h]."""
    total = None if dx is None else dx.float()
    dgamma = None
    if gamma is not None and dscaled is not None:
        through = dscaled.float() * gamma
        total = through if total is None else total + through
        if needs_gamma:
            dgamma = (dscaled.float() * x).sum(0).to(gamma.dtype)
    if dsquares is not None:
        through = 2 * x.float() * per_column(dsquares, x.shape[1])
        total = through if total is None else total + through
    return (x.new_zeros(x.shape) if total is None else total.to(x.dtype)), dgamma


def save(ctx: Any, output: tuple[Tensor, Tensor], given: Any) -> None:
    ctx.save_for_backward(given.x, given.gamma)


def backward(ctx: Any, dscaled: Tensor | None, dsquares: Tensor | None) -> tuple[Any, ...]:
    x, gamma = ctx.saved_tensors
    return stream_gradient(x, gamma, None, dscaled, dsquares, ctx.needs[1])


operator = define(SCHEMA, norm_inputs, save, backward, shapes={"gamma": "[h]"})
