"""A program for certain element types: what libcoda has of it, forward and backward."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from coda import _native
from coda.authoring.graph import Graph
from coda.operators.finish_columns import finish
from coda.operators.variants import NAMES, parts

INTEGERS = {torch.int32: "int32", torch.int64: "int64"}
PORTS = {**NAMES, **INTEGERS}


def finished(reduction: str, partials: Tensor, count: int) -> Tensor:
    """partials [parts, count] (of a log-sum-exp [parts, 2·count]) -> [count], fp32."""
    if reduction == "Sum":
        out = partials.new_empty(count)
        finish(partials, out)
        return out
    if partials.shape[0] == 0:
        return partials.new_full((count,), -torch.inf)
    if reduction == "Max":
        return partials.amax(0)
    state = partials.view(
        partials.shape[0], count, 2
    )  # the largest, and the sum of exp(value - the largest)
    return torch.logsumexp(state[..., 0] + state[..., 1].log(), 0)


@dataclass(frozen=True)
class Backward:
    """The program of the gradients that are wanted, given those that came in."""

    handle: int
    reads: tuple[str, ...]  # ports, in the order of the handle
    writes: tuple[str, ...]


class Instance:
    """Of a program; operand: the type of x and the weights, elements: those of its arguments."""

    def __init__(self, graph: Graph, operand: torch.dtype, elements: Sequence[torch.dtype]) -> None:
        self.graph, self.operand = graph, operand
        self.elements = tuple(elements)
        self.stores = tuple(output.dtype or operand for output in graph.outputs)
        # What was the largest has to be found again: exactly.
        exact = any(output.kind.reduction == "Max" for output in graph.outputs)
        self.kept = torch.float32 if exact else operand
        self.b = "weight" if graph.accumulators == 1 else "pair weight/second_weight"
        self.backwards: dict[tuple[tuple[bool, ...], tuple[bool, ...], bool], Backward] = {}

    def text(self, keep: bool) -> str:
        elements = [PORTS[element] for element in self.elements]
        stores = [NAMES[store] for store in self.stores]
        return self.graph.text(
            NAMES[self.operand], elements, stores, NAMES[self.kept] if keep else None
        )

    @cached_property
    def program(self) -> "_native.Program":
        return _native.define_program(self.text(False))

    def declare(self, program: "_native.Program") -> int:
        names = [name for name, _ in _native.program_ports(program)]
        return _native.declare(program, "x", self.b, *names)

    @cached_property
    def forward(self) -> int:
        return self.declare(self.program)

    @cached_property
    def keeping(self) -> int:
        """The same with the accumulators stored."""
        return self.declare(_native.define_program(self.text(True)))

    def derive(
        self, came: Sequence[bool], wanted: Sequence[bool], contracts: bool
    ) -> "_native.Program":
        """came: of the outputs, those with a gradient; wanted: of the accumulators (together) and
        the arguments, those whose gradient is; contracts: whether its GEMM runs again."""
        outputs = [name for name, given in zip(self.graph.names(), came) if given]
        ports = [a.name for a, want in zip(self.graph.arguments, wanted[1:]) if want]
        return _native.derive_program(
            self.program, " ".join(outputs), " ".join(ports), wanted[0], not contracts,
            NAMES[self.kept],
        )  # fmt: skip

    def backward(
        self, came: tuple[bool, ...], wanted: tuple[bool, ...], contracts: bool
    ) -> Backward:
        key = (came, wanted, contracts)
        found = self.backwards.get(key)
        if found is None:
            program = self.derive(came, wanted, contracts)
            ports = _native.program_ports(program)
            reads = tuple(name for name, written in ports if not written)
            writes = tuple(name for name, written in ports if written)
            b = self.b if contracts else "weight"
            handle = _native.declare(program, "x", b, *reads, *writes)
            found = self.backwards[key] = Backward(handle, reads, writes)
        return found


def reduced(kind_port: str, x: Tensor, columns: int, numbers: int) -> Tensor:
    """Partials of a reduction, to be written."""
    rows = x.shape[0]
    shape = (parts(columns), rows * numbers) if kind_port == "RowReduce" else (
        parts(rows), columns * numbers)  # fmt: skip
    return x.new_empty(shape, dtype=torch.float32)
