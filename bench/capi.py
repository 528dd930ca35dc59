"""coda's C interface (coda/coda.h) through ctypes: runs an operation on PyTorch CPU tensors."""

import ctypes
from ctypes import c_char_p, c_double, c_int32, c_int64, c_void_p
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "build" / "lib" / "libcoda.so"
DTYPES = {torch.bfloat16: 0, torch.float16: 1, torch.float32: 2, torch.int32: 3, torch.int64: 4}


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("dtype", c_int32),
        ("rows", c_int64),
        ("columns", c_int64),
        ("ld", c_int64),
        ("column_major", c_int32),
    ]


class Operand(ctypes.Structure):
    _fields_ = [
        ("first", ctypes.POINTER(Tensor)),
        ("second", ctypes.POINTER(Tensor)),
        ("segments", c_int32),
        ("cut", c_int32),
        ("head_dim", c_int64),
    ]


class Argument(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("tensors", ctypes.POINTER(Tensor)),
        ("segments", c_int32),
        ("number", c_double),
    ]


class Options(ctypes.Structure):
    _fields_ = [("threads", c_int32), ("isa", c_char_p)]


def view(tensor: torch.Tensor) -> Tensor:
    """A contiguous matrix, or a vector as one row."""
    assert tensor.is_contiguous() and tensor.dim() in (1, 2)
    rows, columns = (1, *tensor.shape)[-2:]
    return Tensor(tensor.data_ptr(), DTYPES[tensor.dtype], rows, columns, columns, 0)


class Coda:
    def __init__(self, library: Path = LIBRARY):
        if not library.is_file():
            raise SystemExit(f"{library} is not there: run `make build` first")
        self.library = ctypes.CDLL(str(library))
        self.library.coda_last_error.restype = c_char_p
        self.library.coda_version.restype = c_char_p

    def prepare(self, operation: str, variant: str, a, b, threads: int, **arguments):
        """A call that can be repeated. `b` is a tensor or a pair; arguments are tensors or numbers,
        with `__` for the dot in names such as rstd.epsilon."""
        first, second = b if isinstance(b, tuple) else (b, None)
        operand_a = Operand(ctypes.pointer(view(a)), None, 1, 0, 0)
        pair = ctypes.pointer(view(second)) if second is not None else None
        operand_b = Operand(ctypes.pointer(view(first)), pair, 1, 0, 0)
        listed = (Argument * len(arguments))()
        for place, (name, value) in enumerate(arguments.items()):
            text = name.replace("__", ".").encode()
            if isinstance(value, torch.Tensor):
                listed[place] = Argument(text, ctypes.pointer(view(value)), 1, 0.0)
            else:
                listed[place] = Argument(text, None, 0, value)
        options = Options(threads, None)
        keep = (a, b, arguments)  # the call holds addresses only

        def run() -> None:
            status = self.library.coda_run(
                operation.encode(),
                variant.encode(),
                ctypes.byref(operand_a),
                ctypes.byref(operand_b),
                listed,
                len(listed),
                ctypes.byref(options),
            )
            if status != 0:
                raise RuntimeError(self.library.coda_last_error().decode())
            assert keep is not None

        return run
