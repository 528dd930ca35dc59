"""When a layer runs as coda programs, and when as transformers wrote it.

Under torch.compile the parts of a layer are looked at once per compilation: a module that is
replaced later makes dynamo compile again, while a hook that is added to a compiled model is not
seen, as dynamo does not see those of any model.
"""

from __future__ import annotations

import copy
import functools
import warnings
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from coda.operators.autograd import is_transformed
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
            warnings.warn(
                f"coda: {name} runs stock: {reason}. Said once, also for others like it",
                stacklevel=2,
            )


@dataclass
class Patched:
    """What patch() leaves beside a module's parameters. Pickled it is None: the model is stock
    again, also where there is no coda. A forward that came with it, as cloudpickle and dill have
    it, sees that and runs the stock one."""

    module: Any
    name: str  # in the model
    watch: Watch
    options: Options
    forward: Any = field(default=None, kw_only=True)  # the function in the place of the module's
    place: Place | None = field(default=None, kw_only=True)  # of a layer

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Patched:
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return twin

    def unusual(self, sharded: bool = False) -> str | None:
        """What about the module's parts coda has no programs for. sharded: its parameters are
        shards, and will be whole when it runs; what depends on their shapes is seen then."""
        return self.watch.unusual(self.module, sharded)

    # Methods, as dynamo takes no objects for constant arguments (before torch 2.13).
    @torch.compiler.assume_constant_result
    def fits(self) -> bool:
        """Whether the module may run fused, as far as its parts decide it."""
        reason = self.unusual()
        return reason is None or self.refuse(reason)

    @torch.compiler.assume_constant_result
    def refuse(self, reason: str) -> bool:
        """Says why the module runs stock; always False, for the caller to return."""
        self.options.refuse(self.name, reason)
        return False

    def next_layer(self) -> Any:
        """The layer that takes what this one makes for its first norm; None: there is none, or it
        shall not. Dynamo does not know whether a tensor was changed on its way from layer to
        layer."""
        place = self.place
        if place is None or torch.compiler.is_compiling() or not may_hand_on(self.module, place):
            return None
        return place.next_layer()


@dataclass
class PatchedLayer(Patched):
    """Of a decoder layer."""

    family: Family
    activation: str  # of linear_swiglu

    def unusual(self, sharded: bool = False) -> str | None:
        reason = super().unusual(sharded)
        if reason is not None:
            return reason
        attention = self.module._modules["self_attn"]
        projections = (attention.q_proj, attention.k_proj, attention.v_proj)
        if len({projection.bias is None for projection in projections}) > 1:
            return "some of q_proj, k_proj and v_proj have a bias, some have none"
        if self.family.normalises_heads:
            epsilons = [norm.variance_epsilon for norm in (attention.q_norm, attention.k_norm)]
            if epsilons[0] != epsilons[1]:
                return f"q_norm and k_norm have other epsilons, {epsilons[0]} and {epsilons[1]}"
        weight = attention.q_proj.weight
        if sharded or not weight.is_cuda:
            return None
        widths = (weight.shape[1], self.module.mlp.gate_proj.weight.shape[0])
        return unfit_for_gpu(weight, *widths) or unfit_heads(
            attention.head_dim, self.family.normalises_heads
        )


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


def unusable_call(hidden: Tensor, weight: Tensor) -> str | None:
    """What about a call, its types above all, coda has no programs for."""
    if is_transformed():
        return "it is differentiated forward, or transformed by torch.func"
    device = hidden.device.type
    if hidden.device != weight.device:
        raise RuntimeError(
            f"coda: hidden states are on {hidden.device} and weights on {weight.device}: move one "
            "of them. torch.nn.DataParallel copies modules, but not their patched forwards: use "
            "DistributedDataParallel"
        )
    if device not in ("cpu", "cuda"):
        return f"hidden states are on {hidden.device}; coda runs on cpu and cuda"
    if torch.jit.is_tracing():  # type: ignore[attr-defined]
        return "torch.jit.trace records it, for one shape alone"
    if torch.float64 in (hidden.dtype, weight.dtype):
        dtype = torch.float64  # which autocast leaves as it is
    elif torch.is_autocast_enabled(device):
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
