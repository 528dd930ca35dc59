"""coda's C interface (coda/coda.h) through ctypes: runs operations on PyTorch tensors, CPU or GPU.

    coda = Coda()
    coda.run("linear_swiglu", "bf16", x, pair(gate, up), out=a)

An operand is a tensor, or rows(...), contraction(...), pair(...), halves(...) of some. An argument
is a tensor, a tuple of tensors (one per segment of the port), or a number; in names, `__` is the
dot of rstd.epsilon, and None leaves an argument out.
"""

import ctypes
import os
from ctypes import c_char_p, c_double, c_int32, c_int64, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = {
    "cpu": ROOT / "build" / "lib" / "libcoda.so",
    "cuda": ROOT / "build-gpu" / "lib" / "libcoda.so",
}
DTYPES = {torch.bfloat16: 0, torch.float16: 1, torch.float32: 2, torch.int32: 3, torch.int64: 4}
NAMES = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float32: "fp32"}
CUT_NONE, CUT_ROWS, CUT_CONTRACTION = 0, 1, 2


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("dtype", c_int32),
        ("rows", c_int64),
        ("columns", c_int64),
        ("ld", c_int64),
        ("column_major", c_int32),
    ]


class OperandStruct(ctypes.Structure):
    _fields_ = [
        ("first", ctypes.POINTER(Tensor)),
        ("second", ctypes.POINTER(Tensor)),
        ("segments", c_int32),
        ("cut", c_int32),
        ("head_dim", c_int64),
    ]


class ArgumentStruct(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("tensors", ctypes.POINTER(Tensor)),
        ("segments", c_int32),
        ("number", c_double),
    ]


class Options(ctypes.Structure):
    _fields_ = [
        ("size", c_uint64),
        ("device", c_int32),
        ("threads", c_int32),
        ("isa", c_char_p),
        ("stream", c_void_p),
        ("workspace", c_void_p),
        ("workspace_bytes", c_int64),
        ("gpu", c_int32),
    ]


@dataclass
class Operand:
    first: tuple
    second: tuple = ()
    cut: int = CUT_NONE
    head_dim: int = 0


def rows(*tensors) -> Operand:
    return Operand(tensors, cut=CUT_ROWS)


def contraction(*tensors) -> Operand:
    return Operand(tensors, cut=CUT_CONTRACTION)


def pair(first, second) -> Operand:
    return Operand((first,), (second,))


def halves(head_dim: int, *tensors) -> Operand:
    return Operand(tensors, cut=CUT_ROWS, head_dim=head_dim)


def view(tensor: torch.Tensor) -> Tensor:
    """A matrix of either major, or a vector as one row."""
    if tensor.dim() == 0:
        tensor = tensor.reshape(1)
    row_count, columns = (1, *tensor.shape)[-2:]
    steps = (columns, *tensor.stride())[-2:] if tensor.dim() == 1 else tensor.stride()
    data, dtype = tensor.data_ptr(), DTYPES[tensor.dtype]
    if steps[1] == 1 or columns <= 1:
        return Tensor(data, dtype, row_count, columns, max(steps[0], columns), 0)
    assert steps[0] == 1 or row_count <= 1, f"strides {steps}: expected 1 among them"
    return Tensor(data, dtype, row_count, columns, max(steps[1], row_count), 1)


def views(tensors):
    return (Tensor * len(tensors))(*map(view, tensors))


def operand(value) -> OperandStruct | None:
    if value is None:
        return None
    value = value if isinstance(value, Operand) else Operand((value,))
    second = views(value.second) if value.second else None
    return OperandStruct(views(value.first), second, len(value.first), value.cut, value.head_dim)


def argument(name: str, value) -> ArgumentStruct:
    text = name.replace("__", ".").encode()
    if isinstance(value, torch.Tensor):
        value = (value,)
    if isinstance(value, tuple):
        return ArgumentStruct(text, views(value), len(value), 0.0)
    return ArgumentStruct(text, None, 0, value)


def find_library(device: str) -> Path:
    path = Path(os.environ.get("CODA_LIBRARY", LIBRARIES[device]))
    if not path.is_file():
        made = {"cpu": "make build", "cuda": "make kernels"}[device]
        raise SystemExit(f"{path} is not there: run `{made}` first")
    return path


class Coda:
    """One device and, on a GPU, one stream: the current one when a call is made. All calls share a
    workspace, as they follow each other on the stream."""

    def __init__(self, device: str = "cpu", threads: int = 0):
        self.library = ctypes.CDLL(str(find_library(device)))
        self.device, self.threads = device, threads
        self.workspace = None
        for name in ("last_error", "version", "commit", "operation_name", "variant_name"):
            getattr(self.library, f"coda_{name}").restype = c_char_p

    def commit(self) -> str:
        """Of the sources that the library was built from."""
        return self.library.coda_commit().decode()

    def check(self, status: int) -> None:
        if status != 0:
            raise RuntimeError(self.library.coda_last_error().decode())

    def operations(self) -> dict[str, list[str]]:
        """The names, each with its variants."""

        def names(get, *before):
            result = []
            while (name := get(*before, len(result))) is not None:
                result.append(name.decode())
            return result

        variants = self.library.coda_variant_name
        listed = names(self.library.coda_operation_name)
        return {name: names(variants, name.encode()) for name in listed}

    def prepare(self, operation: str, variant: str, a, b, **arguments):
        """A call that can be repeated, with the addresses that the tensors have now."""
        given = {name: value for name, value in arguments.items() if value is not None}
        listed = (ArgumentStruct * len(given))(*(argument(*item) for item in given.items()))
        parts = [operand(value) for value in (a, b)]
        pointers = [None if part is None else ctypes.byref(part) for part in parts]
        call = (operation.encode(), variant.encode(), *pointers, listed, len(listed))
        on_gpu = self.device == "cuda"
        options = Options(size=ctypes.sizeof(Options), device=int(on_gpu), threads=self.threads)
        if on_gpu:
            options.gpu = torch.cuda.current_device()
        wanted = c_int64()
        place = ctypes.byref(options)
        query = self.library.coda_workspace_bytes
        self.check(query(*call, place, ctypes.byref(wanted)))
        if wanted.value > (0 if self.workspace is None else self.workspace.numel()):
            self.workspace = torch.empty(wanted.value, dtype=torch.uint8, device=self.device)
        if wanted.value > 0:
            options.workspace = self.workspace.data_ptr()
            options.workspace_bytes = wanted.value
        run, keep = self.library.coda_run, (a, b, arguments, parts, self.workspace)

        def repeat() -> None:
            if on_gpu:
                options.stream = torch.cuda.current_stream().cuda_stream
            self.check(run(*call, place))
            assert keep is not None  # the call holds addresses only

        return repeat

    def run(self, operation: str, variant: str, a, b, **arguments) -> None:
        self.prepare(operation, variant, a, b, **arguments)()
