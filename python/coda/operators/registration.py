"""What all operators share: registering them, element types, and errors that name arguments."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from coda import _native, library
from coda.operators.autograd import differentiable, not_differentiable

TABLE = "__dlpack_c_exchange_api__"  # in torch.Tensor from 2.10 on


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
LIBRARY = torch.library.Library("coda", "DEF")  # noqa: TOR901: lives as long as the process

# Names of variants by element type.
NAMES = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float32: "fp32"}


def parts(columns: int) -> int:
    """Partial sums cover 64 columns (or rows)."""
    return (columns + 63) // 64


def nothing(like: Tensor) -> Tensor:
    """An output that was not asked for: [0]."""
    return like.new_empty((0,))


def described(value: Any) -> str:
    if isinstance(value, Tensor):
        kind = str(value.dtype).removeprefix("torch.")
        return f"[{', '.join(map(str, value.shape))}] {kind} {value.device}"
    if isinstance(value, list | tuple):
        return f"({', '.join(map(described, value))})"
    return repr(value)


def explain(
    name: str, arguments: list[str], values: tuple[Any, ...], error: Exception
) -> Exception:
    """The error of a call, with what it was called with."""
    call = ", ".join(f"{n} {described(v)}" for n, v in zip(arguments, values) if v is not None)
    for argument, value in zip(arguments, values):
        if isinstance(error, KeyError) and isinstance(value, Tensor) and value.dtype in error.args:
            return TypeError(
                f"coda::{name}: {argument}: expected bfloat16, float16 or float32 where the "
                f"operation has a variant for it, got {value.dtype}: convert it with .to(dtype); "
                f"called with {call}"
            )
        if isinstance(error, IndexError) and isinstance(value, Tensor) and value.dim() < 2:
            return ValueError(
                f"coda::{name}: {argument}: expected [rows, columns], got {described(value)}: "
                f"make it a matrix with .reshape(rows, columns); called with {call}"
            )
    kind = type(error) if isinstance(error, TypeError | ValueError) else RuntimeError
    return kind(f"coda::{name}: {error}; called with {call}")


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
    operator = getattr(torch.ops.coda, name).default
    arguments = [argument.name for argument in operator._schema.arguments]

    def run(*values: Any) -> Any:
        try:
            return kernel(*values)
        except (KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
            raise explain(name, arguments, values, error) from error

    for device in ("CPU", "CUDA"):
        LIBRARY.impl(name, run, device)
    torch.library.register_fake(f"coda::{name}", fake, lib=LIBRARY)
    if save is None or backward is None:
        recorded = not_differentiable(operator, run)
    else:
        recorded = differentiable(operator, run, save, backward)
    LIBRARY.impl(name, recorded, "Autograd", with_keyset=True)
    return operator
