"""@coda.program: a function becomes an operator."""

import functools
import numbers
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any, overload

import torch
from torch import Tensor

from coda import _native
from coda.authoring.graph import NO_DEFAULT, Argument, Graph
from coda.authoring.instance import Instance
from coda.authoring.mistakes import beyond_fp32, mistake
from coda.authoring.operator import Operator
from coda.authoring.tracing import first_line, trace_function

OPERATORS: dict[tuple[Graph, bool], Operator] = {}  # a function that is defined again is the same
DEFINING = threading.Lock()


class Program:
    """Called with x [M, K], a weight [N, K] for each accumulator, and the function's arguments, by
    place or by name, gives its outputs: of a store [M, N], of a reduction [M] or [N] in fp32. One
    output is a tensor, several are a tuple, in the order of `return`."""

    def __init__(self, function: FunctionType, recompute: bool) -> None:
        functools.update_wrapper(self, function)
        self._qualified_name = function.__qualname__
        self.graph = trace_function(function)
        self._line = first_line(function)
        self._example = Instance(
            self.graph, torch.bfloat16,
            [torch.int64 if a.is_integer else torch.float32 if a.is_scalar else torch.bfloat16
             for a in self.graph.arguments],
        )  # fmt: skip
        try:
            _ = self._example.program
        except ValueError as error:
            raise mistake(str(error), self._line) from error
        keeps = self._reads_accumulators()
        key = (self.graph, recompute)
        with DEFINING:
            if key not in OPERATORS:
                OPERATORS[key] = Operator(self.graph, keeps, recompute)
        self._keeps = bool(OPERATORS[key].kept)
        self._operator = OPERATORS[key].operator
        self._names = [argument.name for argument in self.graph.arguments]
        self._outputs = self.graph.names()
        self._has_scalars = any(argument.is_scalar for argument in self.graph.arguments)

    def _derived(self, wanted: list[bool] | None = None) -> "_native.Program":
        """wanted: of the accumulators and the arguments; None: all that have a gradient."""
        arguments = self.graph.arguments
        wanted = wanted or [True, *[not argument.is_integer for argument in arguments]]
        return self._example.derive([True] * len(self.graph.outputs), wanted, False)

    def _reads_accumulators(self) -> bool:
        """Whether some gradient does. Those of all arguments may be too many for one program."""

        def reads(wanted: list[bool] | None) -> bool | None:
            try:
                ports = _native.program_ports(self._derived(wanted))
            except ValueError:  # said again where the gradient is asked for
                return None
            return any(name.startswith("accumulator") for name, written in ports if not written)

        together, count = reads(None), 1 + len(self.graph.arguments)
        if together is not None:
            return together
        return any(reads([i == place for i in range(count)]) for place in range(count))

    @property
    def source(self) -> str:
        """The program as C++, for bf16 tensors."""
        return _native.program_source(self._example.program)

    @property
    def derived_source(self) -> str:
        """The program of all its gradients as C++, for bf16 tensors."""
        return _native.program_source(self._derived())

    def __reduce__(self) -> str:
        """Copied and pickled as a function is: by its name, so that models that hold it can be."""
        return self._qualified_name

    def __repr__(self) -> str:
        return f"<coda.program {self.graph.described()}>"

    def __call__(self, x: Tensor, *values: Any, **named: Any) -> Any:
        by_place = len(values) - self.graph.accumulators
        if self._has_scalars or by_place < 0 or by_place + len(named) != len(self._names):
            tensors = [x, *bound(self.graph, values, named)]
        else:  # the same, without looking at every value
            tensors = [x, *values]
            try:
                for name in self._names[by_place:]:
                    tensors.append(named[name])
            except KeyError:
                tensors = [x, *bound(self.graph, values, named)]
        keep = False
        if self._keeps and torch.is_grad_enabled():
            for tensor in tensors:
                if isinstance(tensor, Tensor) and tensor.requires_grad:
                    keep = True
                    break
        try:
            outputs = self._operator(*tensors, keep)
        except (AttributeError, RuntimeError, TypeError, ValueError):
            bound(self.graph, values, named)  # says it better where a value is no tensor
            if not isinstance(x, Tensor):
                raise TypeError(
                    f"{self.graph.name}: expected x [M, K], got {type(x).__name__}"
                ) from None
            raise
        if isinstance(outputs, Tensor):
            return outputs
        count = len(self._outputs)
        return outputs[:count] if count > 1 else outputs[0]


def bound(graph: Graph, values: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    """The operator's values for weights and arguments, in their order."""
    count = graph.accumulators
    if len(values) < count:
        raise TypeError(
            f"{graph.name}: expected x and {count} weight{'s' * (count > 1)} by place, got "
            f"{1 + len(values)} tensors; it is {graph.described()}"
        )
    result: list[Any] = list(values[:count])
    values = values[count:]
    if len(values) > len(graph.arguments):
        raise TypeError(
            f"{graph.name}: expected {len(graph.arguments)} arguments behind the weights, got "
            f"{len(values)}; it is {graph.described()}"
        )
    for weight in result:
        if not isinstance(weight, Tensor):
            raise TypeError(f"{graph.name}: expected a weight [N, K], got {type(weight).__name__}")
    used = 0
    for i, argument in enumerate(graph.arguments):
        name = argument.name
        if i < len(values):
            if name in named:
                raise TypeError(
                    f"{graph.name}: {name} is given by place and by name: leave one out"
                )
            value = values[i]
        elif name in named:
            value = named[name]
            used += 1
        elif argument.default is not NO_DEFAULT:
            value = argument.default
        else:
            raise TypeError(
                f"{graph.name}: {argument.described()} is missing; it is {graph.described()}"
            )
        if isinstance(value, Tensor):
            result += [value, 0.0] if argument.is_scalar else [value]
        elif argument.is_scalar and isinstance(value, numbers.Real):
            number = float(value)
            if (reason := beyond_fp32(number)) is not None:
                raise TypeError(f"{graph.name}: {name}: {reason}")
            result += [None, number]
        else:
            raise refusal(graph, argument, value)
    if used < len(named):
        known = [argument.name for argument in graph.arguments]
        others = ", ".join(name for name in named if name not in known)
        raise TypeError(f"{graph.name} has no argument {others}; it is {graph.described()}")
    return result


def refusal(graph: Graph, argument: Argument, value: Any) -> TypeError:
    number = isinstance(value, numbers.Real)
    expected = "a number or a tensor of one element" if argument.is_scalar else "a tensor"
    remedy = ": one number for all elements is a coda.Scalar" if number else ""
    return TypeError(
        f"{graph.name}: {argument.described()}: expected {expected}, got "
        f"{value if number else type(value).__name__}{remedy}"
    )


@overload
def program(function: Callable[..., Any]) -> Program: ...
@overload
def program(*, recompute: bool = False) -> Callable[[Callable[..., Any]], Program]: ...
def program(function: Any = None, *, recompute: bool = False) -> Any:
    """Makes a fused, differentiable operator of a function of one element.

    The first argument is the accumulator x·Wᵀ; others are annotated with how they are indexed. The
    backward pass is derived. Where it needs the accumulators [M, N] a forward pass that is recorded
    stores them; with recompute=True the backward pass runs the GEMM again instead.
    """
    if function is None:
        return functools.partial(program, recompute=recompute)
    if not isinstance(function, FunctionType) or not function.__name__.isidentifier():
        raise mistake(
            f"coda.program takes a function with a name (def f(acc, ...)), got {function!r}"
        )
    return Program(function, recompute)
