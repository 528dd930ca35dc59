"""embedding_norm: rows of a table with what the RMSNorm behind them needs; embedding_positions:
rows of two tables, of tokens and of positions, added; embedding_backward: a table's gradient, the
same bits every time."""

from typing import Any

import torch
from torch import Tensor

from coda import _native
from coda.operators.norm_inputs import stream_gradient
from coda.operators.registration import declare, define
from coda.operators.variants import NAMES, on_stream, parts, variant_into

NORM_SCHEMA = (
    "embedding_norm(Tensor table, Tensor tokens, Tensor? gamma=None, ScalarType? dtype=None) "
    "-> (Tensor out, Tensor scaled, Tensor squares)"
)
POSITIONS_SCHEMA = (
    "embedding_positions(Tensor table, Tensor tokens, Tensor positions_table, Tensor positions, "
    "ScalarType? dtype=None) -> Tensor"
)
BACKWARD_SCHEMA = (
    "embedding_backward(Tensor dx, Tensor tokens, int rows, ScalarType? dtype=None) -> Tensor"
)
NORM = declare("embedding_norm", "", "", "table", "tokens", "gamma", "out", "scaled", "squares")
POSITIONS = declare(
    "embedding_positions", "", "", "table", "tokens", "positions_table", "positions", "out"
)
BACKWARD = declare("embedding_backward", "", "", "dx", "tokens", "out=rows", "accumulate")
Outputs = tuple[Tensor, Tensor | None, Tensor]


def variant_of(table: Tensor, tokens: Tensor, out: Tensor) -> str:
    if out.dtype != table.dtype:
        return on_stream(table.dtype, out.dtype)
    return NAMES[table.dtype] + ("-int32" if tokens.dtype == torch.int32 else "")


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
    variant = variant_of(table, tokens, out)
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
    dtable = table_gradient(dx, tokens, rows, dtype) if ctx.needs[0] else None
    return dtable, None, dgamma, None


def table_gradient(dx: Tensor, tokens: Tensor, rows: int, dtype: torch.dtype) -> Tensor:
    wanted = dtype if dx.dtype == dtype == torch.bfloat16 else torch.float32
    return embedding_backward_operator(dx, tokens, rows, wanted).to(dtype)


def embedding_positions(
    table: Tensor,
    tokens: Tensor,
    positions_table: Tensor,
    positions: Tensor,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """table [V, h], tokens [M] int64 (bf16: int32 too), positions_table [positions, h],
    positions [M] -> table[tokens] + positions_table[positions] [M, h] (of bf16 tables also fp32).
    A token or position that is no row: an error on the CPU, a row of NaN on a GPU."""
    out = table.new_empty(tokens.shape[0], table.shape[1], dtype=dtype)
    variant = variant_of(table, tokens, out)
    _native.run(POSITIONS, variant, table, tokens, positions_table, positions, out)
    return out


def save_positions(ctx: Any, output: Tensor, given: Any) -> None:
    ctx.save_for_backward(given.tokens, given.positions)
    ctx.tables = [(t.shape[0], t.dtype) for t in (given.table, given.positions_table)]


def positions_backward(ctx: Any, dout: Tensor) -> tuple[Any, ...]:
    made = [
        table_gradient(dout, indices, *table) if need else None
        for indices, table, need in zip(ctx.saved_tensors, ctx.tables, ctx.needs[::2])
    ]
    return made[0], None, made[1], None, None


def embedding_backward(
    dx: Tensor, tokens: Tensor, rows: int, dtype: torch.dtype | None = None
) -> Tensor:
    """dx [M, h], tokens [M] int64 or int32 -> [rows, h], fp32, or of dx's type where that is
    bf16."""
    out = dx.new_empty(rows, dx.shape[1], dtype=dtype)
    variant = variant_into(dx.dtype, dtype)
    if variant == "fp16-fp32" and tokens.dtype == torch.int64:  # it takes int32
        dx, variant = dx.float(), "fp32"
    elif variant != "fp16-fp32" and tokens.dtype == torch.int32:
        tokens = tokens.long()
    _native.run(BACKWARD, variant, dx, tokens, out, 0)
    return out


norm_operator = define(
    NORM_SCHEMA, embedding_norm, save, backward, shapes={"tokens": "[M]", "gamma": "[h]"}
)
embedding_backward_operator = define(BACKWARD_SCHEMA, embedding_backward, shapes={"tokens": "[M]"})
positions_operator = define(
    POSITIONS_SCHEMA,
    embedding_positions,
    save_positions,
    positions_backward,
    shapes={"tokens": "[M]", "positions_table": "[positions, h]", "positions": "[M]"},
)
