"""The loss of a head and its gradients through coda's C interface (coda_cross_entropy), in the
three ways of WAYS: gradients made during the forward, a chunk of rows at a time (`with gradients`);
from logits that were kept (`from logits`); and from logits made again, a chunk of the vocabulary at
a time (`recompute`).
"""

import ctypes
from collections.abc import Callable
from ctypes import POINTER, c_double, c_int32, c_int64, c_uint64, c_void_p

import torch
from capi import Coda, Options, Tensor, view

LOSS, WITH_GRADIENTS, FROM_LOGITS, RECOMPUTE = range(4)
MEAN = 2
WAYS = ("with gradients", "from logits", "recompute")


class Call(ctypes.Structure):
    """coda_cross_entropy"""

    _fields_ = [
        ("size", c_uint64),
        ("step", c_int32),
        ("reduction", c_int32),
        ("x", POINTER(Tensor)),
        ("weight", POINTER(Tensor)),
        ("target", POINTER(Tensor)),
        ("ignore_index", c_int64),
        ("rstd", POINTER(Tensor)),
        ("rstd_width", c_double),
        ("rstd_epsilon", c_double),
        ("soft_cap", c_double),
        ("z_loss", c_double),
        ("smoothing", c_double),
        ("chunk", c_int64),
        ("loss", POINTER(Tensor)),
        ("lse", POINTER(Tensor)),
        ("error", c_void_p),
        ("logits", POINTER(Tensor)),
        ("dz", POINTER(Tensor)),
        ("dloss", POINTER(Tensor)),
        ("dweight", POINTER(Tensor)),
        ("dx", POINTER(Tensor)),
        ("add_to_dweight", c_int32),
        ("dots", POINTER(Tensor)),
    ]


def prepare(coda: Coda, step: int, chunk: int = 0, **arguments):
    """A step that can be repeated, with a workspace of its own. arguments: tensors and numbers."""
    call = Call(size=ctypes.sizeof(Call), step=step, reduction=MEAN, ignore_index=-100, chunk=chunk)
    for name, value in arguments.items():
        tensor = isinstance(value, torch.Tensor)
        setattr(call, name, ctypes.pointer(view(value)) if tensor else value)
    wanted = c_int64()
    place = ctypes.byref(call)
    coda.check(coda.library.coda_cross_entropy_workspace_bytes(place, ctypes.byref(wanted)))
    workspace = torch.empty(wanted.value + 256, dtype=torch.uint8, device=coda.device)
    on_gpu = coda.device == "cuda"
    options = Options(size=ctypes.sizeof(Options), device=int(on_gpu), threads=coda.threads)
    options.workspace = (workspace.data_ptr() + 255) // 256 * 256
    options.workspace_bytes = wanted.value
    keep = (arguments, call, workspace)

    def repeat() -> None:
        if on_gpu:
            options.stream = torch.cuda.current_stream().cuda_stream
        coda.check(coda.library.coda_run_cross_entropy(place, ctypes.byref(options)))
        assert keep is not None  # the call holds addresses only

    return repeat


def prepare_way(
    coda: Coda, way: str, x, weight, target, rows: int, columns: int, **numbers
) -> tuple[dict[str, Callable[[], None]], dict[str, torch.Tensor]]:
    """The steps of a way by their names, and what they write: the mean loss, dx, fp32 dweight.
    rows, columns: of a chunk. numbers: soft_cap, z_loss, smoothing."""
    fp32 = dict(dtype=torch.float32, device=x.device)
    made = dict(loss=torch.empty(1, **fp32), lse=torch.empty(len(x), **fp32))
    made |= dict(dweight=torch.empty(weight.shape, **fp32))
    made |= dict(dx=torch.empty(x.shape, **fp32) if way == "recompute" else torch.empty_like(x))
    if way == "from logits":
        made["logits"] = x.new_empty(len(x), len(weight))
    given = dict(x=x, weight=weight, target=target, **made, **numbers)
    if way == "with gradients":
        return {"step": prepare(coda, WITH_GRADIENTS, rows, **given)}, made
    forward = prepare(coda, LOSS, **given)
    if way == "from logits":
        backward = prepare(coda, FROM_LOGITS, **given, dz=made["logits"])
    else:
        backward = prepare(coda, RECOMPUTE, columns, **given)
    return {"forward": forward, "backward": backward}, made
