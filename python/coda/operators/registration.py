"""What all operators share: registering them, and errors that name their arguments."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from coda import _native, library
from coda.operators.autograd import differentiable, not_differentiable

TABLE = "__dlpack_c_exchange_api__"  # in torch.Tensor from 2.10 on
OTHER_KINDS = ("SparseCPU", "SparseCUDA", "SparseCsrCPU", "SparseCsrCUDA", "MkldnnCPU",
               "QuantizedCPU", "QuantizedCUDA", "NestedTensorCPU", "NestedTensorCUDA")  # fmt: skip


def connect() -> None:
    """Opens libcoda and tells _native how to read tensors."""
    library.load()
    if not hasattr(torch.Tensor, TABLE):
        raise ImportError(
            f"coda needs PyTorch 2.10 or later, which has torch.Tensor.{TABLE}; "
            f"this is {torch.__version__}: upgrade it with `pip install --upgrade torch`"
        )

    def allocate(size: int, gpu: int) -> Tensor:
        return torch.empty(size, dtype=torch.uint8, device=torch.device("cuda", gpu))

    _native.use_torch(Tensor, getattr(Tensor, TABLE), Tensor.contiguous, allocate)


connect()
LIBRARY = torch.library.Library("coda", "DEF")  # lives as long as the process


def declare(operation: str, a: str, b: str, *ports: str) -> int:
    """How the values of _native.run() make up a call of libcoda's operation; gives a handle.

    a, b: the name of a value, with "transposed", "pair", "rows", "contraction" or "halves" before
    it where it is more than a matrix; "" where the operation has no operands. A port is "name", or
    "port=name" where Python has another name for the port.
    """
    names = PORT_NAMES.setdefault(operation, {"A": a.split(" ")[-1], "B": b.split(" ")[-1]})
    names.update(port.split("=") for port in ports if "=" in port)
    return _native.declare(operation, a, b, *ports)


PORT_NAMES: dict[str, dict[str, str]] = {}  # by operation: Python's name of a port or operand


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


def explain(name: str, arguments: list[str], values: Sequence[Any], error: Exception) -> Exception:
    """The error of a call in the words of its arguments, with what it was called with."""
    call = ", ".join(f"{n} {described(v)}" for n, v in zip(arguments, values) if v is not None)
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
    names = PORT_NAMES.get(name, {})
    text = re.sub(r"argument '([\w.]+)'", lambda m: names.get(m[1], m[1]), str(error))
    kind = type(error) if type(error) in (TypeError, ValueError) else RuntimeError
    return kind(f"coda::{name}: {text.removeprefix(name + ': ')}; called with {call}")


def refuse_devices(name: str, arguments: list[str], values: Sequence[Any]) -> None:
    """Fake tensors of several devices, which no kernel sees."""
    first: tuple[str, Tensor] | None = None
    for argument, tensor in tensors_in(arguments, values):
        first = first or (argument, tensor)
        if tensor.device != first[1].device:
            raise ValueError(
                f"coda::{name}: {first[0]} is on {first[1].device}, {argument} on {tensor.device}: "
                "expected one device, move one of them with .to(device)"
            )


def refuse_kind(name: str, arguments: list[str], values: Sequence[Any]) -> None:
    """Tensors that are no plain blocks of memory."""
    for argument, tensor in tensors_in(arguments, values):
        if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_nested:
            kind = "a quantized tensor" if tensor.is_quantized else str(tensor.layout)
            kind = "a nested tensor" if tensor.is_nested else kind
            raise TypeError(
                f"coda::{name}: {argument}: expected a dense tensor, got {kind}: "
                "convert it with .to_dense() or .dequantize()"
            )


def define(
    schema: str,
    kernel: Callable[..., Any],
    fake: Callable[..., Any],
    save: Callable[..., None] | None = None,
    backward: Callable[..., Any] | None = None,
) -> torch._ops.OpOverload:
    """Registers an operator: kernel for CPU and CUDA, fake kernel, and gradient where it has one
    (autograd.differentiable says what save and backward do)."""
    name = schema[: schema.index("(")]
    LIBRARY.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    operator: torch._ops.OpOverload = getattr(torch.ops.coda, name).default
    arguments = [argument.name for argument in operator._schema.arguments]

    def run(*values: Any) -> Any:
        try:
            return kernel(*values)
        except (KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
            raise explain(name, arguments, values, error) from error

    def run_fake(*values: Any) -> Any:
        refuse_devices(name, arguments, values)
        try:
            return fake(*values)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise explain(name, arguments, values, error) from error

    def refuse(*values: Any) -> Any:
        refuse_kind(name, arguments, values)

    for device in ("CPU", "CUDA"):
        LIBRARY.impl(name, run, device)
    for kind in OTHER_KINDS:
        LIBRARY.impl(name, refuse, kind)
    torch.library.register_fake(f"coda::{name}", run_fake, lib=LIBRARY)
    if save is None or backward is None:
        recorded = not_differentiable(operator, run)
    else:
        recorded = differentiable(operator, run, save, backward)
    LIBRARY.impl(name, recorded, "Autograd", with_keyset=True)
    return operator
