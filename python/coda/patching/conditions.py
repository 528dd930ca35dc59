"""When a layer runs as coda programs, and when as transformers wrote it.

Under torch.compile the parts of a layer are looked at once per compilation: a module that is
replaced later makes dynamo compile again, while a hook that is added to a compiled model is not
seen, as dynamo does not see those of any model.
"""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from coda.patching.boundary import Place, may_hand_on
from coda.patching.families import Family
from coda.patching.parts import Watch

FEW_TOKENS_ON_CUDA = 64
HEAD_DIMS = (64, 80, 96, 128, 160, 192, 240, 256)  # that linear_rope is compiled for
HEAD_DIMS_WITH_NORMS = (64, 128)


@dataclass
class Options:
    """How patch() was called; one object for all that it patched in a model."""

    strict: bool
    recompute: str
    min_tokens: int | None
    warned: set[str] = field(default_factory=set)

    def few(self, tokens: int, device: torch.device) -> bool:
        fewest = self.min_tokens
        if fewest is None:
            fewest = FEW_TOKENS_ON_CUDA if device.type == "cuda" else 1
        return tokens < fewest

    def refuse(self, name: str, reason: str) -> None:
        """Says once why something runs stock, or raises where that was asked for."""
        if self.strict:
            raise RuntimeError(
                f"coda: {name} cannot run as coda programs: {reason}. Change that, or call "
                "coda.patch(model, strict=False) to let it run stock"
            )
        if reason not in self.warned:
            self.warned.add(reason)
            warnings.warn(f"coda: {name} runs stock: {reason}", stacklevel=2)


@dataclass
class Patched:
    """What patch() leaves beside a module's parameters."""

    module: Any
    name: str  # in the model
    watch: Watch
    options: Options
    place: Place | None = field(default=None, kw_only=True)  # of a layer

    def unusual(self) -> str | None:
        """What about the module's parts coda has no programs for."""
        return self.watch.unusual(self.module)

    # A method, as dynamo takes no module for a constant argument (before torch 2.13).
    @torch.compiler.assume_constant_result
    def fits(self) -> bool:
        """Whether the module may run fused, as far as its parts decide it."""
        reason = self.unusual()
        if reason is not None:
            self.options.refuse(self.name, reason)
        return reason is None

    def next_layer(self) -> Any:
        """The layer that takes what this one makes for its first norm; None: there is none."""
        return self.place.next_layer() if self.place is not None and self._hands_on() else None

    @torch.compiler.assume_constant_result
    def _hands_on(self) -> bool:
        return may_hand_on(self.module, self.place)


@dataclass
class PatchedLayer(Patched):
    """Of a decoder layer."""

    family: Family
    activation: str  # of linear_swiglu

    def unusual(self) -> str | None:
        reason = super().unusual()
        attention = self.module._modules["self_attn"]
        if reason is None and attention.q_proj.weight.is_cuda:
            weight = attention.q_proj.weight
            reason = unfit_for_gpu(
                weight, weight.shape[1], self.module.mlp.gate_proj.weight.shape[0]
            ) or unfit_heads(attention.head_dim, self.family.normalises_heads)
        return reason


@torch.compiler.assume_constant_result
def refused(options: Any, name: str, reason: str) -> bool:
    """Refuses for a reason that lies in the call; always False, for the caller to return."""
    options.refuse(name, reason)
    return False


def unfit_for_gpu(weight: Tensor, *widths: int) -> str | None:
    """What about a weight on a GPU, and about the widths of its rows, coda has no kernels for."""
    if not _is_hopper(weight.device.index):
        return f"coda's kernels are for Hopper GPUs, and {weight.device} is none"
    for width in widths:
        if width % 8 != 0:
            return f"a tensor is {width} wide; on a GPU coda takes multiples of 8"
    return None


def unfit_heads(head_dim: int, normed: bool) -> str | None:
    """What about heads coda has no GPU kernels for."""
    taken = HEAD_DIMS_WITH_NORMS if normed else HEAD_DIMS
    if head_dim in taken:
        return None
    kind = "heads with norms" if normed else "heads"
    return f"{kind} have {head_dim} columns; on a GPU coda takes {', '.join(map(str, taken))}"


@functools.cache
def _is_hopper(gpu: int) -> bool:
    return torch.cuda.get_device_capability(gpu) == (9, 0)


def unusable_type(hidden: Tensor, weight: Tensor) -> str | None:
    """What about the types of a call coda has no programs for."""
    device = hidden.device.type
    if hidden.device != weight.device:
        raise RuntimeError(
            f"coda: hidden states are on {hidden.device} and weights on {weight.device}: move one "
            "of them. torch.nn.DataParallel copies modules, but not their patched forwards: use "
            "DistributedDataParallel"
        )
    if device not in ("cpu", "cuda"):
        return f"hidden states are on {hidden.device}; coda runs on cpu and cuda"
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
    elif hidden.dtype != weight.dtype:
        return f"hidden states are {hidden.dtype} and weights {weight.dtype}"
    else:
        dtype = hidden.dtype
    if dtype == torch.bfloat16 or (dtype == torch.float32 and device == "cpu"):
        return None
    if dtype == torch.float32:
        return (
            "parameters are fp32 on a GPU, where coda computes in bf16: use "
            "torch.autocast('cuda', torch.bfloat16) or a mixed-precision policy"
        )
    return f"the type is {dtype}; coda computes in bf16, on the CPU also in fp32"
