"""Registering operators: what they call, how they are recorded, what they refuse."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from coda import _native
from coda.library import load
from coda.operators.autograd import differentiable, not_differentiable
from coda.operators.errors import (
    DECLARED,
    Declared,
    explain,
    other_shape,
    refuse_devices,
    refuse_layout,
)

TABLE = "__dlpack_c_exchange_api__"  # in torch.Tensor from 2.10 on
OTHER_LAYOUTS = (
    "SparseCPU", "SparseCUDA", "SparseCsrCPU", "SparseCsrCUDA", "MkldnnCPU", "QuantizedCPU",
    "QuantizedCUDA", "NestedTensorCPU", "NestedTensorCUDA",
)  # fmt: skip
PYTORCHS_OWN = (torch.OutOfMemoryError, torch.AcceleratorError)  # which callers may wait for


def connect() -> None:
    """Opens libcoda and tells _native how to read tensors."""
    load()
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


def declare(operation: str, a: str, b: str, *ports: str, operator: str = "") -> int:
    """How the values of _native.run() make up a call of libcoda's operation; gives a handle.

    a, b: the name of a value, with "transposed", "pair", "rows", "contraction" or "halves" before
    it where it is more than a matrix, and "either" where GPU kernels take both majors (a copy
    stands in for a column-major tensor elsewhere); "" where the operation has no operands. A port
    is "name", or "port=name" where Python has another name for the port. operator: that makes the
    call, where it has another name than the operation.
    """
    names = {"A": a.split(" ")[-1], "B": b.split(" ")[-1]}
    names |= zip(("B.first", "B.second"), names["B"].split("/"))
    names |= {port.partition("=")[0]: port.partition("=")[2] for port in ports if "=" in port}
    known = DECLARED.setdefault(operator or operation, Declared(operation, {}))
    known.names.update(names)
    return _native.declare(operation, a, b, *ports)


def define(
    schema: str,
    kernel: Callable[..., Any],
    save: Callable[..., None] | None = None,
    backward: Callable[..., Any] | None = None,
    library: torch.library.Library = LIBRARY,
    fake: Callable[..., Any] | None = None,
    shapes: dict[str, str] | None = None,
) -> torch._ops.OpOverload:
    """Registers an operator: its kernel for CPU and CUDA and, with calls of libcoda that do
    nothing, as fake kernel, unless there is another; and its gradient where it has one
    (autograd.differentiable says what save and backward do). shapes: of arguments that are vectors
    or partial sums, such as "[parts, M]"; one with another number of dimensions is refused."""
    name = schema[: schema.index("(")]
    library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    operator: torch._ops.OpOverload = getattr(getattr(torch.ops, library.ns), name).default
    arguments = [argument.name for argument in operator._schema.arguments]
    places = sorted((arguments.index(of), shape) for of, shape in (shapes or {}).items())
    ranks = [(place, len(shape.split(", ")), shape) for place, shape in places]

    def check_ranks(values: tuple[Any, ...]) -> None:
        for place, rank, shape in ranks:
            if place >= len(values):  # neither it nor what follows was given
                break
            if values[place] is not None and values[place].dim() != rank:
                raise other_shape(arguments[place], shape, values[place])

    def run(*values: Any) -> Any:
        try:
            check_ranks(values)
            return kernel(*values)
        except (KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
            if type(error) in PYTORCHS_OWN:
                raise
            raise explain(name, arguments, values, error) from error

    def run_fake(*values: Any) -> Any:
        refuse_devices(name, arguments, values)
        before = _native.pretend(True)
        try:
            check_ranks(values)
            return (fake or kernel)(*values)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise explain(name, arguments, values, error) from error
        finally:
            _native.pretend(before)

    def refuse(*values: Any) -> Any:
        refuse_layout(name, arguments, values)

    for device in ("CPU", "CUDA"):
        library.impl(name, run, device)
    for layout in OTHER_LAYOUTS:
        library.impl(name, refuse, layout)
    torch.library.register_fake(f"{library.ns}::{name}", run_fake, lib=library)
    if save is None or backward is None:
        recorded = not_differentiable(operator, run)
    else:
        recorded = differentiable(operator, run, save, backward)
    library.impl(name, recorded, "Autograd", with_keyset=True)
    return operator
