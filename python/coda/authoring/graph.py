"""A traced program, as Python keeps it and as libcoda reads it (coda/trace/graph_text.h)."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from coda.authoring.functions import OutputFacts
from coda.authoring.values import (
    COLUMN,
    FLOAT,
    INTEGER,
    ROW,
    IntegerPerRow,
    PerColumn,
    PerElement,
    PerRow,
    Scalar,
    Value,
)


@dataclass(frozen=True)
class ArgumentKind:
    """How an argument is indexed."""

    value: type[Value]
    port: str  # of C++
    space: frozenset[str]
    element: str
    shape: str


KINDS = {
    kind.value: kind
    for kind in (
        ArgumentKind(PerElement, "PerElement", frozenset((ROW, COLUMN)), FLOAT, "[M, N]"),
        ArgumentKind(PerRow, "PerRow", frozenset((ROW,)), FLOAT, "[M]"),
        ArgumentKind(PerColumn, "PerColumn", frozenset((COLUMN,)), FLOAT, "[N]"),
        ArgumentKind(Scalar, "Scalar", frozenset(), FLOAT, "a number"),
        ArgumentKind(IntegerPerRow, "PerRow", frozenset((ROW,)), INTEGER, "[M]"),
    )
}
NO_DEFAULT = object()


@dataclass(frozen=True)
class Argument:
    """An input of a program."""

    name: str
    kind: ArgumentKind
    default: object = NO_DEFAULT  # of a scalar

    @property
    def is_scalar(self) -> bool:
        return self.kind.value is Scalar

    @property
    def is_integer(self) -> bool:
        return self.kind.element == INTEGER

    def described(self) -> str:
        return f"{self.name}: {self.kind.value.__name__} {self.kind.shape}"


@dataclass(frozen=True)
class Graph:
    """Inputs and outputs in the order of the function, nodes in the order of its calls."""

    name: str
    accumulators: int
    arguments: tuple[Argument, ...]
    outputs: tuple[OutputFacts, ...]
    nodes: tuple[str, ...]
    written: tuple[int, ...]  # by each output: the place of a node

    def text(
        self, operand: str, elements: Sequence[str], stores: Sequence[str], kept: str | None = None
    ) -> str:
        """elements: of each argument; stores: of each output; kept: of accumulators that are stored
        besides, as outputs `accumulator`, or `accumulator0` and `accumulator1`."""
        lines = [f"program {self.name} {operand} {self.accumulators}"]
        for argument, element in zip(self.arguments, elements):
            lines.append(f"port {argument.kind.port} {argument.name} {element}")
            if isinstance(argument.default, float):
                lines[-1] += f" {argument.default!r}"
        for output, element in zip(self.outputs, stores):
            lines.append(
                f"port {output.kind.port} {output.name} {output.kind.reduction or element}"
            )
        nodes, written = list(self.nodes), list(zip(self.names(), self.written))
        if kept is not None:
            for i, name in enumerate(self.accumulator_names()):
                lines.append(f"port Store {name} {kept}")
                written.append((name, len(nodes)))
                nodes.append(f"node accumulator {i}")
        lines += nodes + [f"output {name} {place}" for name, place in written]
        return "\n".join(lines) + "\n"

    def names(self) -> list[str]:
        return [output.name for output in self.outputs]

    def accumulator_names(self) -> list[str]:
        return ["accumulator"] if self.accumulators == 1 else ["accumulator0", "accumulator1"]

    def digest(self) -> str:
        """Of all that makes the operator."""
        stores = [str(output.dtype) for output in self.outputs]
        kinds = [argument.kind.value.__name__ for argument in self.arguments]
        return hashlib.sha256(self.text("", kinds, stores).encode()).hexdigest()[:12]

    def described(self) -> str:
        """As a signature."""
        weights = "weight" if self.accumulators == 1 else "weight, second_weight"
        arguments = "".join(f", {argument.described()}" for argument in self.arguments)
        return f"{self.name}(x, {weights}{arguments}) -> ({', '.join(self.names())})"
