"""Errors of the operators in the words of their arguments."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass
class Declared:
    """What an operator calls, in whose words libcoda's errors speak."""

    operation: str
    names: dict[str, str]  # Python's, of ports and operands; of several tensors with "/" between

    def name_of(self, port: re.Match[str]) -> str:
        """Python's name of what libcoda calls 'port' or 'port[1]', the second tensor of it."""
        name, index = self.names.get(port[1], port[1]), port[2]
        if index is None:
            return name
        parts = name.split("/")
        return parts[int(index)] if len(parts) > 1 else f"{name}[{index}]"


DECLARED: dict[str, Declared] = {}  # by operator


def tensors_in(arguments: Sequence[str], values: Sequence[Any]) -> Iterator[tuple[str, Tensor]]:
    """The tensors among a call's values, each with its argument's name."""
    for name, value in zip(arguments, values):
        if isinstance(value, Tensor):
            yield name, value
        elif isinstance(value, list | tuple):
            for i, part in enumerate(value):
                if isinstance(part, Tensor):
                    yield f"{name}[{i}]", part


def described(value: Any) -> str:
    if isinstance(value, Tensor):
        kind = str(value.dtype).removeprefix("torch.")
        return f"[{', '.join(map(str, value.shape))}] {kind} {value.device}"
    if isinstance(value, list | tuple):
        return f"({', '.join(map(described, value))})"
    return repr(value)


def other_shape(argument: str, shape: str, tensor: Tensor) -> ValueError:
    """The error of a vector given as a matrix or the other way round: libcoda would take one for
    the other, gradients do not."""
    sizes = ", ".join([*shape[1:-1].split(", ")[:-1], "-1"])
    return ValueError(
        f"{argument}: expected {shape}, got {list(tensor.shape)}: use .reshape({sizes})"
    )


def explain(
    name: str, arguments: Sequence[str], values: Sequence[Any], error: Exception
) -> Exception:
    """The error of a call in the words of its arguments, with what it was called with."""
    call = ", ".join(f"{n} {described(v)}" for n, v in zip(arguments, values) if v is not None)
    for argument, value in zip(arguments, values):
        if isinstance(error, IndexError) and isinstance(value, list) and not value:
            return ValueError(f"coda::{name}: {argument}: expected 1 to 4 tensors, got none")
    asked = dict(zip(arguments, values)).get("dtype")
    if isinstance(error, KeyError) and asked in error.args:
        error = TypeError(f"dtype: expected bfloat16, float16 or float32, got {asked}")
    for argument, tensor in tensors_in(arguments, values):
        if isinstance(error, KeyError) and tensor.dtype in error.args:
            return TypeError(
                f"coda::{name}: {argument}: expected bfloat16, float16 or float32, got "
                f"{tensor.dtype}: convert it with .to(dtype); called with {call}"
            )
        if isinstance(error, IndexError) and tensor.dim() < 2:
            return ValueError(
                f"coda::{name}: {argument}: expected [rows, columns], got {described(tensor)}: "
                f"make it a matrix with .reshape(rows, columns); called with {call}"
            )
    known = DECLARED.get(name, Declared(name, {}))
    text = str(error).removeprefix(f"{known.operation}: ")
    text = re.sub(r"argument '([\w.]+)(?:\[(\d)\])?'", known.name_of, text)
    text = text.replace(" as in A, got", f" as in {known.names.get('A', 'A')}, got")
    kind = type(error) if type(error) in (TypeError, ValueError) else RuntimeError
    return kind(f"coda::{name}: {text}; called with {call}")


def refuse_devices(name: str, arguments: Sequence[str], values: Sequence[Any]) -> None:
    """Of fake tensors, which no kernel sees: several devices."""
    first: tuple[str, Tensor] | None = None
    for argument, tensor in tensors_in(arguments, values):
        first = first or (argument, tensor)
        if tensor.device != first[1].device:
            raise ValueError(
                f"coda::{name}: {first[0]} is on {first[1].device}, {argument} on {tensor.device}: "
                "expected one device, move one of them with .to(device)"
            )


def refuse_layout(name: str, arguments: Sequence[str], values: Sequence[Any]) -> None:
    """Tensors that are no plain blocks of memory."""
    for argument, tensor in tensors_in(arguments, values):
        if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_nested:
            kind = "a quantized tensor" if tensor.is_quantized else str(tensor.layout)
            kind = "a nested tensor" if tensor.is_nested else kind
            raise TypeError(
                f"coda::{name}: {argument}: expected a dense tensor, got {kind}: "
                "convert it with .to_dense(), .dequantize() or .to_padded_tensor()"
            )


def refuse_sharded(name: str, arguments: Sequence[str], values: Sequence[Any]) -> None:
    """Tensors that are spread over processes."""
    for argument, tensor in tensors_in(arguments, values):
        if type(tensor).__name__ == "DTensor":
            raise TypeError(
                f"coda::{name}: {argument}: expected a tensor of this process, got a DTensor: "
                "call the operator on .to_local() or .full_tensor(), or let FSDP2 unshard it "
                "(fully_shard on the module that makes the call)"
            )
