"""embedding_norm: rows of a table with what the RMSNorm behind them needs; embedding_backward: the
table's gradient, the same bits every time."""

from typing import Any

import torch
from torch import Tensor

from coda import _native
from coda.operators.norm_inputs import stream_gradient
from coda.operators.registration import declare, define
from coda.operators.variants import NAMES, parts, variant_into

NORM_SCHEMA = (
    "embedding_norm(Tensor table, Tensor tokens, Tensor? gamma=None, ScalarType? dtype=None) "
    "-> (Tensor out, Tensor scaled, Tensor squares)"
)
BACKWARD_SCHEMA = (
    "embedding_backward(Tensor dx, Tensor tokens, int rows, ScalarType? dtype=None) -> Tensor"
)
NORM = declare("embedding_norm", "", "", "table", "tokens", "gamma", "out", "scaled", "squares")
BACKWARD = declare("embedding_backward", "", "", "dx", "tokens", "out", "accumulate")
Outputs = tuple[Tensor, Tensor | None, Tensor]


def embedding_norm(
    table: Tensor, tokens: Tensor, gamma: Tensor | None = None, dtype: torch.dtype | None = None
) -> Outputs:
    """table [V, h], tokens [M] int64 (bf16: int32 too), gamma [h]
    -> out [M, h] (of a bf16 table also fp32), scaled = out⊙γ [M, h], squares [⌈h/64⌉, M] fp32.
    A token that is no row: an error on the CPU, a row of NaN on a GPU."""
    rows, columns = tokens.shape[0], table.shape[1]
    out = table.new_empty(rows, columns, dtype=dtype)
    scaled = None if gamma is None else table.new_empty(rows, columns)
    squares = table.new_empty(parts(columns), rows, dtype=torch.float32)
    variant = NAMES[table.dtype]
    if out.dtype != table.dtype:
        variant += "-fp32stream"
    elif tokens.dtype == torch.int32:
        variant += "-int32"
    _native.run(NORM, variant, table, tokens, gamma, out, scaled, squares)
    return out, scaled, squares


def save(ctx: Any, output: Outputs, given: Any) -> None:
    ctx.save_for_backward(given.tokens, given.gamma, output[0])
    ctx.table = (given.table.shape[0], given.table.dtype)


def backward(
    ctx: Any, dout: Tensor | None, dscaled: Tensor | None, dsquares: Tensor | None
) -> tuple[Any, ...]:
    tokens, gamma, out = ctx.saved_tensors
    rows, dtype = ctx.table
    dx, dgamma = stream_gradient(out, gamma, dout, dscaled, dsquares, ctx.needs[2])
    dtable = None
    if ctx.needs[0]:
        wanted = dtype if dx.dtype == dtype == torch.bfloat16 else torch.float32
        dtable = embedding_backward_operator(dx, tokens, rows, wanted).to(dtype)
    return dtable, None, dgamma, None


def embedding_backward(
    dx: Tensor, tokens: Tensor, rows: int, dtype: torch.dtype | None = None
) -> Tensor:
    """dx [M, h], tokens [M] -> [rows, h], fp32, or of dx's type where that is bf16."""
    out = dx.new_empty(rows, dx.shape[1], dtype=dtype)
    integer = torch.int32 if dx.dtype == torch.float16 else torch.int64  # as the variants take them
    _native.run(BACKWARD, variant_into(dx.dtype, dtype), dx, tokens.to(integer), out, 0)
    return out


norm_operator = define(NORM_SCHEMA, embedding_norm, save, backward)
embedding_backward_operator = define(BACKWARD_SCHEMA, embedding_backward)
