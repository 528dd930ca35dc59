"""The values that a program's function is traced with: each stands for the number of one element
and remembers what is done with it. Their classes are also what arguments are annotated with."""

import math
import numbers
import threading
import weakref
from typing import Any, NoReturn

from coda.authoring.mistakes import Unreadable, mistake, unusable_number

FLOAT, INTEGER, MASK = "float", "integer", "condition"
ROW, COLUMN = "row", "column"
EVERYWHERE: frozenset[str] = frozenset()
SHAPES = {
    EVERYWHERE: "the same for all elements",
    frozenset((ROW,)): "one per row",
    frozenset((COLUMN,)): "one per column",
    frozenset((ROW, COLUMN)): "one per element",
}


class Trace:
    """What one run of a function does, as lines of coda/trace/graph_text.h."""

    def __init__(self) -> None:
        self.nodes: list[str] = []
        self.lines: dict[str, str] = {}  # of outputs, by name
        self.loads: set[str] = set()  # arguments that were used
        self.values: list[weakref.ref[Value]] = []

    def __enter__(self) -> "Trace":
        self.before = getattr(TRACING, "trace", None)
        TRACING.trace = self
        return self

    def __exit__(self, *_: object) -> None:
        TRACING.trace = self.before


TRACING = threading.local()


def current_trace() -> Trace:
    trace = getattr(TRACING, "trace", None)
    if trace is None:
        raise mistake("this is for the function of a @coda.program, and none is being traced")
    return trace


class Value:
    """A number for every element, row or column, or one for all."""

    __slots__ = ("__weakref__", "element", "name", "place", "space", "trace")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, trace: Trace, node: str, space: frozenset[str], element: str = FLOAT, name: str = ""
    ) -> None:
        self.trace, self.space, self.element, self.name = trace, space, element, name
        self.place = len(trace.nodes)
        trace.nodes.append(node)
        trace.values.append(weakref.ref(self))

    def __repr__(self) -> str:
        return f"<{self.element} of a coda.program, {SHAPES[self.space]}>"

    # Arithmetic.
    def __add__(self, other: Any) -> "Value":
        return arithmetic("Add", self, other)

    def __radd__(self, other: Any) -> "Value":
        return arithmetic("Add", other, self)

    def __sub__(self, other: Any) -> "Value":
        return arithmetic("Subtract", self, other)

    def __rsub__(self, other: Any) -> "Value":
        return arithmetic("Subtract", other, self)

    def __mul__(self, other: Any) -> "Value":
        return arithmetic("Multiply", self, other)

    def __rmul__(self, other: Any) -> "Value":
        return arithmetic("Multiply", other, self)

    def __truediv__(self, other: Any) -> "Value":
        return arithmetic("Divide", self, other, only=FLOAT)

    def __rtruediv__(self, other: Any) -> "Value":
        return arithmetic("Divide", other, self, only=FLOAT)

    def __neg__(self) -> "Value":
        return arithmetic("Negate", self)

    def __pos__(self) -> "Value":
        return self

    def __abs__(self) -> "Value":
        return arithmetic("Abs", self)

    def __pow__(self, exponent: Any) -> "Value":
        powers = {1: lambda: self, 2: lambda: self * self, 3: lambda: self * self * self,
                  0.5: lambda: arithmetic("Sqrt", self, only=FLOAT), -1: lambda: 1.0 / self,
                  -0.5: lambda: arithmetic("Rsqrt", self, only=FLOAT)}  # fmt: skip
        if isinstance(exponent, numbers.Real) and exponent in powers:
            return powers[exponent]()  # type: ignore[index]
        raise mistake(
            f"** takes 1, 2, 3, 0.5, -1 or -0.5, got {exponent!r}: multiply, or write "
            "coda.exp(exponent * coda.log(value)) for positive values"
        )

    # Conditions.
    def __lt__(self, other: Any) -> "Value":
        return arithmetic("Less", self, other)

    def __gt__(self, other: Any) -> "Value":
        return arithmetic("Less", other, self)

    def __le__(self, other: Any) -> "Value":
        return arithmetic("LessEqual", self, other)

    def __ge__(self, other: Any) -> "Value":
        return arithmetic("LessEqual", other, self)

    def __eq__(self, other: Any) -> "Value":  # type: ignore[override]
        return arithmetic("Equal", self, other)

    def __ne__(self, other: Any) -> "Value":  # type: ignore[override]
        return arithmetic("NotEqual", self, other)

    def __and__(self, other: Any) -> "Value":
        return condition("And", self, other)

    def __or__(self, other: Any) -> "Value":
        return condition("Or", self, other)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> "Value":
        return condition("Not", self)

    # What a value cannot do.
    def __bool__(self) -> bool:
        raise mistake(
            "a value differs from element to element, so `if`, `while`, `and`, `or`, `not`, "
            "chained comparisons, min() and max() cannot ask for it: coda.where(condition, a, b) "
            "chooses for every element, & | ~ combine conditions, coda.minimum and coda.maximum "
            "compare"
        )

    def _is_no_number(self, *_: Any, **__: Any) -> NoReturn:
        raise mistake(
            "a value is not a number yet when the function is traced: int(), float(), math.* and "
            "numpy cannot take it; coda.exp, coda.log, coda.floor and so on can"
        )

    __float__ = __int__ = __index__ = __complex__ = __floor__ = __ceil__ = _is_no_number
    __round__ = __trunc__ = __array__ = _is_no_number
    __array_ufunc__ = None  # a number of numpy's, on the left, leaves the operator to the value

    def _has_no_items(self, *_: Any) -> NoReturn:
        raise mistake(
            "a value stands for one element: it has no items, no length and no shape, and nothing "
            "can be assigned to it; what differs from row to row or column to column is an argument"
        )

    __getitem__ = __setitem__ = __len__ = __iter__ = __contains__ = _has_no_items

    def _has_no_such_operator(self, *_: Any) -> NoReturn:
        raise mistake(
            "of Python's operators values have + - * / ** < <= > >= == != & | ~ and abs(); other "
            "elements are out of reach, a sum over them is coda.row_sum or coda.column_sum"
        )

    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __matmul__ = _has_no_such_operator
    __rmatmul__ = __lshift__ = __rshift__ = __xor__ = __rpow__ = _has_no_such_operator

    @classmethod
    def __torch_function__(cls, function: Any, *_: Any) -> NoReturn:
        name = getattr(function, "__name__", str(function))
        raise mistake(
            f"torch's {name} takes tensors, and a value is none: use the functions of coda "
            "(coda.exp, coda.where, ...); a tensor comes in as an argument of the function, "
            "annotated coda.PerRow, coda.PerColumn, coda.PerElement or coda.Scalar"
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise mistake(f"a value has no .{name}: functions on values are coda.exp(value) and so on")


class Accumulator(Value):
    """x·Wᵀ, fp32: the first argument; a second one makes two GEMMs with the same x."""

    __slots__ = ()


class PerElement(Value):
    """A tensor [M, N]; what an argument without annotation is."""

    __slots__ = ()


class PerRow(Value):
    """A tensor [M]."""

    __slots__ = ()


class PerColumn(Value):
    """A tensor [N]."""

    __slots__ = ()


class Scalar(Value):
    """A number, or an fp32 tensor of one element."""

    __slots__ = ()


class IntegerPerRow(Value):
    """A tensor [M] of int32 or int64."""

    __slots__ = ()


def as_value(trace: Trace, operand: Any, element: str) -> Value:
    """A number becomes a constant; an output, a tensor and anything else is refused."""
    if isinstance(operand, Unreadable):
        operand.refuse()
    if isinstance(operand, Value):
        if operand.trace is not trace or trace is not getattr(TRACING, "trace", None):
            raise mistake(
                "a value of another call of a function: it was kept in a list, a global or an "
                "attribute; a program computes from its arguments alone"
            )
        return operand
    if isinstance(operand, bool) or not isinstance(operand, numbers.Real):
        raise mistake(
            f"values go together with values and numbers, got {type(operand).__name__}: a tensor "
            "comes in as an argument of the function"
        )
    number = float(operand)
    if (reason := unusable_number(number)) is not None:
        raise mistake(reason)
    if element == INTEGER and number == math.floor(number) and abs(number) < 2**31:
        return Value(trace, f"node integer {int(number)}", EVERYWHERE, INTEGER)
    return Value(trace, f"node constant {number!r}", EVERYWHERE)


def trace_of(*operands: Any) -> tuple[Trace, str]:
    """The trace that the operands belong to, and their element."""
    for operand in operands:
        if isinstance(operand, Unreadable):
            operand.refuse()
        if isinstance(operand, Value):
            return operand.trace, operand.element
    given = ", ".join(type(operand).__name__ for operand in operands)
    raise mistake(
        f"expected a value of a program's function among the arguments, got {given}: math.* is for "
        "numbers, torch.* for tensors"
    )


def apply(operation: str, element: str, *operands: Value) -> Value:
    space = frozenset[str]().union(*(operand.space for operand in operands))
    places = " ".join(str(operand.place) for operand in operands)
    return Value(operands[0].trace, f"node {operation} {places}", space, element)


def arithmetic(operation: str, *operands: Any, only: str | None = None) -> Value:
    trace, element = trace_of(*operands)
    values = [as_value(trace, operand, element) for operand in operands]
    kinds = {value.element for value in values}
    if MASK in kinds:
        raise mistake(
            "a condition is no number: coda.where(condition, 1.0, 0.0) makes one of it, & | ~ "
            "combine conditions"
        )
    if len(kinds) > 1 or (only is not None and kinds != {only}):
        raise mistake("integers and floats do not mix: coda.to_float(integer) makes a float")
    compares = operation in ("Less", "LessEqual", "Equal", "NotEqual")
    return apply(operation, MASK if compares else kinds.pop(), *values)


def condition(operation: str, *operands: Any) -> Value:
    for operand in operands:
        if not isinstance(operand, Value) or operand.element != MASK:
            raise mistake(
                "& | ~ combine conditions, such as (a < b) & (c != 0); mind the parentheses"
            )
    trace, _ = trace_of(*operands)
    return apply(operation, MASK, *(as_value(trace, operand, MASK) for operand in operands))
