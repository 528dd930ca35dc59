"""RoPE's cos and sin as transformers makes them, and as linear_rope takes them.

A model makes them once a pass, [1 or B, T, d], both halves of the d columns the same; linear_rope
reads one half. Those of the model's own module, which is patched for that, are marked; the halves
of others are compared, on a GPU too, where the host then waits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from coda.patching.conditions import Options, Patched
from coda.patching.families import Family
from coda.patching.parts import PACKAGES, Watch, is_stock

Embeddings = tuple[Tensor, Tensor]  # cos, sin
Tables = tuple[Tensor, Tensor, Tensor]  # positions [M], cos, sin [rows, d/2]


def patched_rotary(name: str, rotary: nn.Module, options: Options) -> Patched:
    """What patch() leaves beside the module that makes cos and sin."""
    return Patched(rotary, name, Watch(()), options)


def make_forward(family: Family) -> Callable[..., Any]:
    """The function that takes the place of that module's forward."""
    # In transformers it stands under torch.no_grad().
    is_known = is_stock(family.rotary, "forward", PACKAGES)
    stock = family.rotary.forward if is_known else None

    @functools.wraps(family.rotary.forward)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Embeddings:
        now = type(self).forward
        cos, sin = now(self, *args, **kwargs)
        if now is stock:
            _mark(cos, sin)
        return cos, sin

    return forward


def unusable(embeddings: Embeddings, tokens: int, head_dim: int) -> str | None:
    """What about cos and sin linear_rope does not compute."""
    cos, sin = embeddings
    if cos.shape[-1] != head_dim:
        return f"only {cos.shape[-1]} of {head_dim} columns are rotated"
    if cos.shape[1] != tokens:
        return f"cos and sin are of {cos.shape[1]} tokens, hidden states of {tokens}"
    if torch.is_grad_enabled() and (cos.requires_grad or sin.requires_grad):
        return "its rotation wants a gradient of cos and sin"
    if _is_marked(cos, sin):
        return None
    if not _only_recorded(cos) and _have_equal_halves(cos, sin):
        if not cos.is_inference():
            _mark(cos, sin)  # for the other layers
        return None
    return "cos and sin are not transformers', and their halves differ or cannot be compared here"


def tables(embeddings: Embeddings, batch: int) -> Tables:
    """What linear_rope takes of cos and sin that are not unusable().

    All layers of a pass get the same ones, so what is made of them stays with them; not in a CUDA
    graph, whose replay may find other values in them, nor where nothing would tell of a change.
    """
    cos, sin = embeddings
    if _only_recorded(cos) or (cos.is_inference() and not _is_marked(cos, sin)):
        return _make_tables(cos, sin, batch)
    key = (batch, id(sin), *_versions(cos, sin))
    kept = getattr(cos, "_coda_tables", None)
    if kept is None or kept[0] != key:
        kept = (key, _make_tables(cos, sin, batch))
        cos._coda_tables = kept  # type: ignore[attr-defined]
    return kept[1]


def _only_recorded(tensor: Tensor) -> bool:
    """Whether operators are recorded here, for other values than there are now."""
    return torch.compiler.is_compiling() or (
        tensor.is_cuda and torch.cuda.is_current_stream_capturing()
    )


def _mark(cos: Tensor, sin: Tensor) -> None:
    cos._coda_halves = (sin, _versions(cos, sin))  # type: ignore[attr-defined]


def _is_marked(cos: Tensor, sin: Tensor) -> bool:
    mark = getattr(cos, "_coda_halves", None)
    if mark is None or mark[0] is not sin:
        return False
    return torch.compiler.is_compiling() or mark[1] in ((), _versions(cos, sin))


def _versions(*tensors: Tensor) -> tuple[int, ...]:
    """They tell of changes. Dynamo knows none, and tensors of inference mode have none."""
    if torch.compiler.is_compiling() or any(tensor.is_inference() for tensor in tensors):
        return ()
    return tuple(tensor._version for tensor in tensors)


def _have_equal_halves(cos: Tensor, sin: Tensor) -> bool:
    if cos.shape[-1] % 2 != 0:
        return False
    return all(torch.equal(*table.chunk(2, -1)) for table in (cos, sin))


def _make_tables(cos: Tensor, sin: Tensor, batch: int) -> Tables:
    rows, columns = cos.shape[0] * cos.shape[1], cos.shape[-1]
    positions = torch.arange(rows, device=cos.device)
    if cos.shape[0] != batch:
        positions = positions.expand(batch, rows).reshape(-1)
    # Copies: a view would keep cos alive, which keeps it.
    halves = [
        table.reshape(rows, columns)[:, : columns // 2].clone(memory_format=torch.contiguous_format)
        for table in (cos, sin)
    ]
    return positions, halves[0], halves[1]
