"""A traced program as an operator of PyTorch: schema, kernels, fake kernels and gradient.

torch.ops.coda_programs.<name>_<digest>(x, weight[, second_weight], arguments..., keep) gives the
outputs and, with keep, the accumulators [M, N] that its backward pass reads. A Scalar is two
arguments, a tensor and a number. The backward operator, <name>_<digest>_backward, gives the
gradients of the accumulators, as operands of the GEMMs behind it, and those of the arguments.
"""

from typing import Any

import torch
from torch import Tensor

from coda import _native
from coda.authoring.graph import Graph
from coda.authoring.instance import INTEGERS, Instance, finished, reduced
from coda.operators import linear, linear_input_grad, linear_weight_grad
from coda.operators.errors import DECLARED, Declared
from coda.operators.registration import define
from coda.operators.variants import NAMES

LIBRARY = torch.library.Library("coda_programs", "DEF")  # lives as long as the process


Returned = Tensor | tuple[Tensor, ...]  # as PyTorch takes it from a kernel: one is no tuple


def as_returned(tensors: list[Tensor]) -> Returned:
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


def as_tuple(returned: Returned) -> tuple[Tensor, ...]:
    return (returned,) if isinstance(returned, Tensor) else tuple(returned)


def nothing(like: Tensor) -> Tensor:
    """An output that was not asked for: [0]."""
    return like.new_empty(0)


class Operator:
    """Of one program. keeps: whether its backward pass reads the accumulators; recompute: whether
    it then makes them again."""

    def __init__(self, graph: Graph, keeps: bool, recompute: bool) -> None:
        self.graph = graph
        self.contracts = keeps and recompute  # in its backward pass
        self.weights = graph.accumulators
        self.kept = graph.accumulator_names() if keeps and not recompute else []
        self.instances: dict[tuple[torch.dtype, ...], Instance] = {}
        self.name = f"{graph.name}_{graph.digest()}" + ("_recompute" if recompute else "")
        names = {"A": "x", "B": "weight", "B.first": "weight", "B.second": "second_weight"}
        for name in (self.name, self.name + "_backward"):
            DECLARED[name] = Declared(name, names)
        self.backward_operator = define(
            self.backward_schema(), self.run_backward, library=LIBRARY, fake=self.fake_backward
        )
        self.operator = define(
            self.schema(), self.run, self.save, self.backward, LIBRARY, self.fake
        )

    # Schemas.
    def operands(self) -> list[str]:
        return ["Tensor x", "Tensor weight", "Tensor second_weight"][: 1 + self.weights]

    def ports(self, optional: bool) -> list[str]:
        result = []
        for argument in self.graph.arguments:
            if argument.is_scalar:
                result += [f"Tensor? {argument.name}", f"float {argument.name}_number"]
            else:
                result.append(f"Tensor{'?' if optional else ''} {argument.name}")
        return result

    def schema(self) -> str:
        arguments = self.operands() + self.ports(False) + ["bool keep"]
        outputs = [f"Tensor {name}" for name in self.graph.names() + self.kept]
        return f"{self.name}({', '.join(arguments)}) -> ({', '.join(outputs)})"

    def backward_schema(self) -> str:
        names = self.graph.names()
        saved = [f"Tensor? {name}" for name in names + self.graph.accumulator_names()]
        came = [f"Tensor? d{name}" for name in names]
        arguments = self.operands() + self.ports(True) + saved + came + ["bool[] wanted"]
        outputs = [f"Tensor {name}" for name in self.gradient_names()]
        return f"{self.name}_backward({', '.join(arguments)}) -> ({', '.join(outputs)})"

    def gradient_names(self) -> list[str]:
        accumulators = [f"d{name}" for name in self.graph.accumulator_names()]
        return accumulators + [f"d{argument.name}" for argument in self.graph.arguments]

    # Values of a call.
    def split(self, values: tuple[Any, ...]) -> tuple[list[Any], list[Any], tuple[Any, ...]]:
        """x and weights; a value for each argument, a tensor or a number; the rest."""
        at = 1 + self.weights
        operands, ports = list(values[:at]), []
        for argument in self.graph.arguments:
            value = values[at]
            at += 1
            if argument.is_scalar:
                value = values[at] if value is None else value
                at += 1
            ports.append(value)
        return operands, ports, values[at:]

    def instance(self, operand: torch.dtype, ports: list[Any]) -> Instance:
        key = (operand, *[p.dtype if isinstance(p, Tensor) else torch.float32 for p in ports])
        found = self.instances.get(key)
        if found is None:
            self.check_types(ports)
            found = self.instances[key] = Instance(self.graph, operand, key[1:])
        return found

    def check_types(self, ports: list[Any]) -> None:
        for argument, port in zip(self.graph.arguments, ports):
            if not isinstance(port, Tensor):
                continue
            allowed = INTEGERS if argument.is_integer else NAMES
            allowed = {torch.float32: ""} if argument.is_scalar else allowed
            if port.dtype not in allowed:
                expected = " or ".join(str(kind).removeprefix("torch.") for kind in allowed)
                raise TypeError(
                    f"{argument.name}: expected {expected} ({argument.described()}), got "
                    f"{port.dtype}: convert it with .to(dtype)"
                )

    def native_operands(self, operands: list[Any]) -> tuple[Any, Any]:
        return operands[0], operands[1] if self.weights == 1 else tuple(operands[1:])

    # Forward.
    def run(self, *values: Any) -> Returned:
        operands, ports, (keep,) = self.split(values)
        x, columns = operands[0], operands[1].shape[0]
        instance = self.instance(x.dtype, ports)
        keeps = bool(keep and self.kept)
        outputs = []
        for output, kind in zip(self.graph.outputs, instance.stores):
            reduction = output.kind.reduction
            outputs.append(
                reduced(output.kind.port, x, columns, 2 if reduction == "LogSumExp" else 1)
                if reduction
                else x.new_empty((x.shape[0], columns), dtype=kind)
            )
        kept = [
            x.new_empty((x.shape[0], columns), dtype=instance.kept) if keeps else nothing(x)
            for _ in self.kept
        ]
        handle = instance.keeping if keeps else instance.forward
        _native.run(
            handle, "", *self.native_operands(operands), *ports, *outputs, *(kept if keeps else ())
        )
        for i, output in enumerate(self.graph.outputs):
            if output.kind.reduction:
                count = x.shape[0] if output.kind.rows else columns
                outputs[i] = finished(output.kind.reduction, outputs[i], count)
        return as_returned([*outputs, *kept])

    def fake(self, *values: Any) -> Returned:
        operands, ports, (keep,) = self.split(values)
        x, rows, columns = operands[0], operands[0].shape[0], operands[1].shape[0]
        instance = self.instance(x.dtype, ports)
        outputs = []
        for output, kind in zip(self.graph.outputs, instance.stores):
            if output.kind.reduction:
                count = rows if output.kind.rows else columns
                outputs.append(x.new_empty((count,), dtype=torch.float32))
            else:
                outputs.append(x.new_empty((rows, columns), dtype=kind))
        kept = [
            x.new_empty((rows, columns), dtype=instance.kept) if keep else nothing(x)
            for _ in self.kept
        ]
        return as_returned([*outputs, *kept])

    # Backward.
    def save(self, ctx: Any, returned: Returned, given: Any) -> None:
        output = as_tuple(returned)
        operands, ports, _ = self.split(tuple(given))
        count = len(self.graph.outputs)
        instance = self.instance(operands[0].dtype, ports)
        needs = ctx.needs_input_grad[1:]  # behind the keyset
        all_came = (True,) * count
        reads = instance.backward(all_came, self.wanted(needs), self.contracts).reads
        ctx.mark_non_differentiable(*output[count:])
        kept = [
            tensor if name in reads else None
            for name, tensor in zip(self.graph.names() + self.kept, output)
        ]
        ctx.numbers = [None if isinstance(port, Tensor) else port for port in ports]
        tensors = [port if isinstance(port, Tensor) else None for port in ports]
        ctx.save_for_backward(*operands, *tensors, *kept)

    def wanted(self, needs: tuple[bool, ...]) -> tuple[bool, ...]:
        """Of the accumulators (of both, where there are two), and of each argument."""
        at = 1 + self.weights
        result = [any(needs[:at])]
        for argument in self.graph.arguments:
            result.append(needs[at])
            at += 2 if argument.is_scalar else 1
        return tuple(result)

    def backward(self, ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        saved = list(ctx.saved_tensors)
        operands, rest = saved[: 1 + self.weights], saved[1 + self.weights :]
        ports: list[Any] = []
        for argument, tensor, number in zip(self.graph.arguments, rest, ctx.numbers):
            ports += [tensor, number or 0.0] if argument.is_scalar else [tensor]
        count = len(self.graph.outputs)
        values = rest[len(self.graph.arguments) :]
        values += [None] * (count + self.weights - len(values))
        wanted = self.wanted(ctx.needs)
        made = as_tuple(
            self.backward_operator(*operands, *ports, *values, *gradients[:count], wanted)
        )
        needs = ctx.needs
        dx, dweights = self.operand_gradients(operands, list(made[: self.weights]), needs)
        result: list[Any] = [dx, *dweights]
        for argument, gradient, want in zip(self.graph.arguments, made[self.weights :], wanted[1:]):
            result += [gradient if want else None] + ([None] if argument.is_scalar else [])
        return (*result, None)

    def operand_gradients(
        self, operands: list[Tensor], daccumulators: list[Tensor], needs: tuple[bool, ...]
    ) -> tuple[Tensor | None, list[Tensor | None]]:
        """dx = Σ daccumulator·W and dW = daccumulatorᵀ·x: plain GEMMs."""
        x, weights = operands[0], operands[1:]
        dx = None
        if needs[0] and self.weights == 1:
            dx = linear.operator(daccumulators[0], weights[0].t())
        elif needs[0]:
            dx = linear_input_grad.operator(daccumulators, weights)
        wanted = [i for i in range(self.weights) if needs[1 + i]]
        dweights: list[Tensor | None] = [None] * self.weights
        if wanted:
            whole = linear_weight_grad.operator([daccumulators[i] for i in wanted], x)
            for i, part in zip(wanted, whole.split([weights[i].shape[0] for i in wanted])):
                dweights[i] = part
        return dx, dweights

    def run_backward(self, *values: Any) -> Returned:
        operands, ports, rest = self.split(values)
        *tensors, wanted = rest
        graph = self.graph
        x, columns = operands[0], operands[1].shape[0]
        names = graph.names()
        given = dict(zip((a.name for a in graph.arguments), ports))
        given |= dict(zip(names + graph.accumulator_names(), tensors))
        gradients = tensors[len(names) + self.weights :]
        given |= {f"d{name}": gradient for name, gradient in zip(names, gradients)}
        came = tuple(gradient is not None for gradient in gradients)
        instance = self.instance(x.dtype, ports)
        made = dict(zip(self.gradient_names(), self.empty_gradients(values)))
        if not any(came):
            return as_returned([gradient.zero_() for gradient in made.values()])
        program = instance.backward(came, tuple(wanted), self.contracts)
        partials: dict[str, Tensor] = {}
        for argument in graph.arguments:
            name = f"d{argument.name}"
            if name in program.writes and argument.kind.shape != "[M, N]":
                port = "ColumnReduce" if argument.kind.port == "PerColumn" else "RowReduce"
                partials[name] = reduced(port, x, columns, 1)
        if program.writes:
            a, b = self.native_operands(operands)
            if not self.contracts:
                a, b = x.new_empty((x.shape[0], 0)), x.new_empty((columns, 0))
            outputs = [partials.get(name, made[name]) for name in program.writes]
            _native.run(program.handle, "", a, b, *[given[n] for n in program.reads], *outputs)
        for name, partial in partials.items():
            self.finish_gradient(partial, made[name])
        for name, gradient in made.items():
            if name not in program.writes:
                gradient.zero_()  # of what no output depends on, and of what is not wanted
        return as_returned(list(made.values()))

    def finish_gradient(self, partials: Tensor, gradient: Tensor) -> None:
        sums = finished("Sum", partials, partials.shape[1])
        gradient.copy_((sums if gradient.numel() == sums.numel() else sums.sum()).view_as(gradient))

    def fake_backward(self, *values: Any) -> Returned:
        return as_returned(self.empty_gradients(values))

    def empty_gradients(self, values: tuple[Any, ...]) -> list[Tensor]:
        operands, ports, rest = self.split(values)
        x, wanted = operands[0], rest[-1]
        whole = (x.shape[0], operands[1].shape[0])
        made = [x.new_empty(whole) if wanted[0] else nothing(x) for _ in range(self.weights)]
        for port, want in zip(ports, wanted[1:]):
            made.append(torch.empty_like(port, memory_format=torch.contiguous_format)
                        if want else nothing(x))  # fmt: skip
        return made
