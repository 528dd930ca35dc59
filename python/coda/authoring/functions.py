"""What a program's function calls: functions of values, and outputs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import torch

from coda.authoring.mistakes import Unreadable, author_line, mistake
from coda.authoring.values import (
    COLUMN,
    FLOAT,
    INTEGER,
    MASK,
    ROW,
    SHAPES,
    Trace,
    Value,
    apply,
    arithmetic,
    as_value,
    current_trace,
    trace_of,
)


def exp(x: Value) -> Value:
    return arithmetic("Exp", x, only=FLOAT)


def log(x: Value) -> Value:
    return arithmetic("Log", x, only=FLOAT)


def sqrt(x: Value) -> Value:
    return arithmetic("Sqrt", x, only=FLOAT)


def rsqrt(x: Value) -> Value:
    """x^-½."""
    return arithmetic("Rsqrt", x, only=FLOAT)


def tanh(x: Value) -> Value:
    return arithmetic("Tanh", x, only=FLOAT)


def erf(x: Value) -> Value:
    return arithmetic("Erf", x, only=FLOAT)


def floor(x: Value) -> Value:
    """Its gradient is zero."""
    return arithmetic("Floor", x, only=FLOAT)


def abs(x: Value) -> Value:
    return arithmetic("Abs", x)


def minimum(a: Value | float, b: Value | float) -> Value:
    return arithmetic("Min", a, b)


def maximum(a: Value | float, b: Value | float) -> Value:
    return arithmetic("Max", a, b)


def clamp(x: Value, low: Value | float, high: Value | float) -> Value:
    return minimum(maximum(x, low), high)


def where(condition: Value, a: Value | float, b: Value | float) -> Value:
    """a where the condition holds, else b, element by element."""
    if not isinstance(condition, Value) or condition.element != MASK:
        raise mistake("coda.where takes a condition first, such as value < 0, then two values")
    _, element = trace_of(*(x for x in (a, b) if isinstance(x, Value)), condition)
    element = FLOAT if element == MASK else element
    values = [as_value(condition.trace, x, element) for x in (a, b)]
    if {value.element for value in values} != {element}:
        raise mistake("coda.where chooses between two floats or two integers")
    return apply("Select", element, as_value(condition.trace, condition, MASK), *values)


def to_float(x: Value) -> Value:
    """An integer as a float."""
    if not isinstance(x, Value) or x.element != INTEGER:
        raise mistake("coda.to_float takes an integer value; others are floats already")
    return apply("ToFloat", FLOAT, as_value(x.trace, x, INTEGER))


def sigmoid(x: Value) -> Value:
    return 1.0 / (1.0 + exp(-x))


def silu(x: Value) -> Value:
    return x / (1.0 + exp(-x))


def relu(x: Value) -> Value:
    return where(x < 0.0, 0.0, x)


def gelu(x: Value) -> Value:
    """Exact, by erf."""
    return 0.5 * x * (1.0 + erf(x * 0.5**0.5))


def gelu_tanh(x: Value) -> Value:
    return x * sigmoid(1.5957691216 * (x + 0.044715 * x * x * x))  # (1 + tanh(y))/2 = σ(2y)


def row_index() -> Value:
    """The number of the row, an integer."""
    return Value(current_trace(), "node row", frozenset((ROW,)), INTEGER)


def column_index() -> Value:
    """The number of the column, an integer."""
    return Value(current_trace(), "node column", frozenset((COLUMN,)), INTEGER)


@dataclass(frozen=True)
class OutputKind:
    """How a value leaves the program."""

    function: str  # that the author calls
    port: str  # of C++
    reduction: str = ""
    rows: bool = True  # a reduction gives one number per row; else per column


STORE = OutputKind("store", "Store")
ROW_SUM = OutputKind("row_sum", "RowReduce", "Sum")
ROW_MAX = OutputKind("row_max", "RowReduce", "Max")
ROW_LOG_SUM_EXP = OutputKind("row_log_sum_exp", "RowReduce", "LogSumExp")
COLUMN_SUM = OutputKind("column_sum", "ColumnReduce", "Sum", rows=False)
COLUMN_MAX = OutputKind("column_max", "ColumnReduce", "Max", rows=False)


@dataclass(frozen=True)
class OutputFacts:
    """An output of a program."""

    name: str
    kind: OutputKind
    dtype: torch.dtype | None  # of a store; None: that of x


class Output(Unreadable):
    """An output while its function is traced: to be returned, and nothing else."""

    def __init__(self, trace: Trace, facts: OutputFacts, place: int) -> None:
        self.trace, self.facts, self.place = trace, facts, place

    def refuse(self, *_: Any) -> NoReturn:
        raise mistake(
            f"'{self.facts.name}' is an output, which nothing reads: give its value a name first, "
            "and use that twice"
            if self.facts.kind is STORE
            else f"'{self.facts.name}' is an output, which nothing reads: it is finished when the "
            "whole of it is known; a second program takes it as an argument"
        )


READING = """add radd sub rsub mul rmul truediv rtruediv neg pos abs pow lt gt le ge and or invert
bool float int getitem iter len"""
for operator in READING.split():
    setattr(Output, f"__{operator}__", Output.refuse)


def output(kind: OutputKind, named: dict[str, Any], dtype: torch.dtype | None = None) -> Any:
    call = f"coda.{kind.function}"
    if len(named) != 1:
        raise mistake(f"{call} takes one value with the output's name: {call}(out=value)")
    name, value = next(iter(named.items()))
    if isinstance(value, Output):
        value.refuse()
    if not isinstance(value, Value):
        raise mistake(f"{call}({name}=...) takes a value, got {type(value).__name__}")
    value = as_value(value.trace, value, FLOAT)
    trace = value.trace
    if name in trace.lines:
        raise mistake(
            f"'{name}' is written twice, first in {trace.lines[name]}: an output takes one value "
            "for each element; coda.where(condition, a, b) chooses between two"
        )
    trace.lines[name] = author_line()
    if value.element != FLOAT:
        raise mistake(
            f"{call}({name}=...) takes a float: coda.to_float(integer), "
            "coda.where(condition, 1.0, 0.0)"
        )
    if len(value.space) < 2:
        raise mistake(
            f"{call}({name}=...) takes a value per element, got one that is "
            f"{SHAPES[value.space]}: it does not depend on the GEMM, so compute it with torch"
        )
    if dtype not in (None, torch.float32, torch.bfloat16, torch.float16):
        raise mistake(f"{call}: dtype: expected float32, bfloat16 or float16, got {dtype}")
    return Output(trace, OutputFacts(name, kind, dtype), value.place)


def store(*, dtype: torch.dtype | None = None, **named: Value) -> Any:
    """store(name=value): a tensor [M, N] of x's type, or of dtype."""
    return output(STORE, named, dtype)


def reducing(kind: OutputKind, doc: str) -> Callable[..., Any]:
    def reduce(**named: Value) -> Any:
        return output(kind, named)

    reduce.__name__ = reduce.__qualname__ = kind.function
    reduce.__doc__ = doc
    return reduce


row_sum = reducing(ROW_SUM, "row_sum(name=value): sums over the columns, [M] fp32.")
row_max = reducing(ROW_MAX, "row_max(name=value): the largest of every row, [M] fp32.")
row_log_sum_exp = reducing(
    ROW_LOG_SUM_EXP, "row_log_sum_exp(name=value): log Σ exp(value) over the columns, [M] fp32."
)
column_sum = reducing(COLUMN_SUM, "column_sum(name=value): sums over the rows, [N] fp32.")
column_max = reducing(COLUMN_MAX, "column_max(name=value): the largest of every column, [N] fp32.")
