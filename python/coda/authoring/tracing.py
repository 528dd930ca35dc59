"""A function's signature and two runs of it become a Graph; what a program cannot do is refused
with the author's line."""

import dis
import gc
import inspect
import math
import numbers
from collections.abc import Callable
from types import FunctionType
from typing import Any

from coda.authoring.functions import Output
from coda.authoring.graph import KINDS, Argument, Graph
from coda.authoring.mistakes import REFUSED, Mistake, mistake, unusable_number
from coda.authoring.values import Accumulator, PerElement, Trace, Value

# Of the operator's other arguments, and of what it keeps.
TAKEN = {"x", "weight", "second_weight", "keep", "wanted", "accumulator", "accumulator0",
         "accumulator1", "daccumulator", "daccumulator0", "daccumulator1"}  # fmt: skip


def first_line(function: FunctionType) -> str:
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"


def read_signature(function: FunctionType) -> tuple[int, tuple[Argument, ...]]:
    """How many accumulators, and the other arguments."""
    line = first_line(function)
    try:
        parameters = list(inspect.signature(function, eval_str=True).parameters.values())
    except Exception as error:
        raise mistake(f"an annotation cannot be read: {error}", line) from error
    if not parameters:
        raise mistake("expected the accumulator as first argument: def f(acc, ...)", line)
    accumulators = 0
    arguments: list[Argument] = []
    for i, parameter in enumerate(parameters):
        name, kind = parameter.name, parameter.annotation
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise mistake(f"*{name}: expected every argument by name: list them", line)
        if name in ("self", "cls"):
            raise mistake(
                f"'{name}': a program is a function, not a method: define it outside", line
            )
        if kind is Accumulator or (i == 0 and kind is parameter.empty):
            if accumulators == 2 or accumulators != i:
                raise mistake(
                    f"'{name}': expected the accumulator first and at most one more behind it", line
                )
            if parameter.default is not parameter.empty:
                raise mistake(f"'{name}': an accumulator has no default", line)
            accumulators += 1
            continue
        if i == 0:
            raise mistake(
                f"'{name}': the first argument is the accumulator x·Wᵀ: expected it without "
                f"annotation or as coda.Accumulator, got {described_annotation(kind)}",
                line,
            )
        arguments.append(read_argument(parameter, line))
    return accumulators, tuple(arguments)


def described_annotation(kind: Any) -> str:
    return f"coda.{kind.__name__}" if kind in KINDS else getattr(kind, "__name__", repr(kind))


def read_argument(parameter: inspect.Parameter, line: str) -> Argument:
    name, value = parameter.name, parameter.annotation
    value = PerElement if value is parameter.empty else value
    if value not in KINDS:
        raise mistake(
            f"'{name}': expected coda.PerElement (or no annotation), coda.PerRow, coda.PerColumn, "
            f"coda.Scalar or coda.IntegerPerRow, got {described_annotation(value)}",
            line,
        )
    kind = KINDS[value]
    default = parameter.default
    if default is parameter.empty:
        return Argument(name, kind)
    if not kind.port == "Scalar":
        raise mistake(
            f"'{name}': only a coda.Scalar has a default, this is a coda.{value.__name__}: leave "
            "it out and pass a tensor",
            line,
        )
    if isinstance(default, bool) or not isinstance(default, numbers.Real) or math.isnan(default):
        raise mistake(f"'{name}': expected a number as default, got {default!r}", line)
    if (reason := unusable_number(float(default))) is not None:
        raise mistake(f"'{name}': {reason}", line)
    return Argument(name, kind, float(default))


def check_names(graph_names: list[str], line: str) -> None:
    """Gradients are called d<name>."""
    for name in graph_names:
        if name in TAKEN or name.startswith("_") or name.endswith("_number"):
            raise mistake(f"'{name}' is taken by the operator itself: give it another name", line)
        if graph_names.count(name) > 1:
            raise mistake(
                f"'{name}' is an argument and an output: give one of them another name", line
            )
        if "d" + name in graph_names:
            raise mistake(
                f"'d{name}' is what the gradient of '{name}' is called: give it another name", line
            )


EFFECTS = {
    "STORE_GLOBAL": "assigns to the global '{}'",
    "DELETE_GLOBAL": "deletes the global '{}'",
    "STORE_ATTR": "assigns to the attribute '{}'",
    "DELETE_ATTR": "deletes the attribute '{}'",
    "STORE_DEREF": "assigns to '{}' of the function around it",
}


def refuse_effects(function: FunctionType) -> None:
    """Assignments that outlive the call, which happens once, at the definition."""
    code = function.__code__
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise mistake("expected a plain function that returns, got one with yield or async",
                      first_line(function))  # fmt: skip
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        at = instruction.starts_line
        line = at if isinstance(at, int) and not isinstance(at, bool) else line
        text = EFFECTS.get(instruction.opname)
        if text is None or (
            instruction.opname == "STORE_DEREF" and instruction.argval not in code.co_freevars
        ):
            continue
        raise mistake(
            f"the function {text.format(instruction.argval)}: it runs when it is defined, not when "
            "it is called, so a program has no side effects; return what is needed as an output",
            f"{code.co_filename}:{line}",
        )


def run_once(
    function: Callable[..., Any], accumulators: int, arguments: tuple[Argument, ...]
) -> tuple[Trace, list[Output]]:
    parameters = list(inspect.signature(function).parameters.values())
    element = KINDS[PerElement].space
    with Trace() as trace:
        values: list[Value] = [
            Accumulator(trace, f"node accumulator {i}", element) for i in range(accumulators)
        ]
        values += [
            a.kind.value(trace, f"node load {a.name}", a.kind.space, a.kind.element, a.name)
            for a in arguments
        ]
        given = dict(zip((p.name for p in parameters), values))
        names = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
        returned = function(
            *(given[name] for name in names),
            **{name: value for name, value in given.items() if name not in names},
        )
        return trace, list(flattened(returned))


def flattened(returned: Any) -> Any:
    for item in returned if isinstance(returned, tuple | list) else (returned,):
        if isinstance(item, tuple | list):
            yield from flattened(item)
        else:
            yield item


def check_returned(trace: Trace, returned: list[Any], line: str) -> None:
    if not returned or any(item is None for item in returned):
        raise mistake("the function returns nothing: return coda.store(out=value)", line)
    for item in returned:
        if isinstance(item, Value):
            raise mistake(
                "the function returns a value: name it as an output, return coda.store(out=value), "
                "coda.row_sum(total=value), ...",
                line,
            )
        if not isinstance(item, Output):
            raise mistake(
                f"the function returns {type(item).__name__}: expected outputs, "
                "coda.store(out=value) and so on",
                line,
            )
    names = [item.facts.name for item in returned]
    for name, where in trace.lines.items():
        if names.count(name) != 1:
            times = "not returned" if name not in names else "returned twice"
            raise mistake(f"'{name}' is an output that is {times}: return every output once", where)


def used_places(trace: Trace, written: list[int]) -> set[int]:
    used, waiting = set[int](), list(written)
    while waiting:
        place = waiting.pop()
        if place not in used:
            used.add(place)
            waiting += [int(word) for word in operands_of(trace.nodes[place])]
    return used


def operands_of(node: str) -> list[str]:
    words = node.split()
    leaf = words[1] in ("accumulator", "load", "constant", "integer", "row", "column")
    return [] if leaf else words[2:]


def run_checked(
    function: FunctionType, accumulators: int, arguments: tuple[Argument, ...]
) -> tuple[Trace, list[Output]]:
    caught: list[Mistake] = []
    before, REFUSED.mistakes = REFUSED.mistakes, caught
    try:
        trace, returned = run_once(function, accumulators, arguments)
    except Mistake:
        raise
    except Exception as error:
        inner = error.__traceback__
        line = first_line(function)
        while inner is not None:  # the deepest line of the author's own file
            if inner.tb_frame.f_code.co_filename == function.__code__.co_filename:
                line = f"{inner.tb_frame.f_code.co_filename}:{inner.tb_lineno}"
            inner = inner.tb_next
        raise mistake(
            f"{type(error).__name__}: {error}; a program's function computes with values, numbers "
            "and the functions of coda alone (docs/python.md lists them)",
            line,
        ) from error
    finally:
        REFUSED.mistakes = before
    if caught:  # by the function
        raise caught.pop()
    check_returned(trace, returned, first_line(function))
    return trace, returned


def refuse_escaped(trace: Trace, line: str) -> None:
    """Values that are still held by somebody when the function is done."""
    if any(value() is not None for value in trace.values):
        gc.collect()  # functions inside of the function hold theirs in cycles
    if any(value() is not None for value in trace.values):
        raise mistake(
            "a value is kept outside of the function, in a list, a global or an attribute: it runs "
            "when it is defined, so a program has no side effects; return what is needed",
            line,
        )


def trace_function(function: FunctionType) -> Graph:
    line = first_line(function)
    refuse_effects(function)
    accumulators, arguments = read_signature(function)
    trace, outputs = run_checked(function, accumulators, arguments)
    facts = tuple(output.facts for output in outputs)
    written = [output.place for output in outputs]
    nodes = tuple(trace.nodes)
    used = used_places(trace, written)
    del outputs
    refuse_escaped(trace, line)
    for i in range(accumulators):
        if i not in used:
            raise mistake("an accumulator is not used: without it there is no GEMM to fuse", line)
    for i, argument in enumerate(arguments, accumulators):
        if i not in used:
            raise mistake(f"'{argument.name}' is not used by any output: leave it out", line)
    again, outputs = run_checked(function, accumulators, arguments)
    if (nodes, facts) != (tuple(again.nodes), tuple(output.facts for output in outputs)):
        raise mistake(
            "the function does something else the second time: it depends on a counter, a random "
            "number or what it changed itself; a program computes from its arguments alone",
            line,
        )
    names = [argument.name for argument in arguments] + [output.name for output in facts]
    check_names(names, line)
    return Graph(function.__name__, accumulators, arguments, facts, nodes, tuple(written))
