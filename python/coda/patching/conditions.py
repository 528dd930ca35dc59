"""When a layer runs as coda programs, and when as transformers wrote it.

At every call each submodule must be exactly the stock one: what a LoRA layer, a quantised linear,
a hook or a parametrisation would add is in none of coda's programs. This looks at a dozen modules
and takes a few microseconds. Under torch.compile it runs once per compilation: a module that is
replaced later makes dynamo compile again, while a hook that is added to a compiled model is not
seen, as dynamo does not see those of any model.
"""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook

from coda.patching.families import Family

FEW_TOKENS_ON_CUDA = 64


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
class PatchedLayer:
    """What patch() leaves beside a decoder layer's parameters."""

    name: str  # in the model
    family: Family
    activation: str  # of linear_swiglu
    activation_class: type[nn.Module]
    options: Options


@torch.compiler.assume_constant_result
def stock_parts(layer: Any) -> bool:
    """Whether every submodule of a patched layer is the stock one and none has a hook."""
    patched: PatchedLayer = layer._coda_patch
    reason = unusual_part(layer, patched)
    if reason is None:
        return True
    patched.options.refuse(patched.name, reason)
    return False


@torch.compiler.assume_constant_result
def refused(patched: Any, name: str, reason: str) -> bool:
    """Refuses for a reason that lies in the call; always False, for the caller to return."""
    patched.refuse(name, reason)
    return False


def unusual_part(layer: Any, patched: PatchedLayer) -> str | None:
    """The first thing about a layer's submodules that is not as transformers made it."""
    if _has_any_global_hook():
        return "there is a hook for all modules"
    family = patched.family
    parts = layer._modules
    reason = (
        _unusual(parts, "self_attn", family.attention)
        or _unusual(parts, "mlp", family.mlp)
        or _unusual_norm(parts, "input_layernorm", family)
        or _unusual_norm(parts, "post_attention_layernorm", family)
    )
    if reason is not None:
        return reason
    attention, mlp = parts["self_attn"], parts["mlp"]
    for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
        reason = reason or _unusual_linear(attention._modules, name)
    if family.normalises_heads:
        reason = reason or _unusual_norm(attention._modules, "q_norm", family)
        reason = reason or _unusual_norm(attention._modules, "k_norm", family)
    for name in ("gate_proj", "up_proj", "down_proj"):
        reason = reason or _unusual_linear(mlp._modules, name, bias=False)
    reason = reason or _unusual(mlp._modules, "act_fn", patched.activation_class)
    if reason is not None:
        return reason
    weight = attention.q_proj.weight
    if weight.is_cuda:
        return _unfit_for_gpu(weight, attention.head_dim, mlp.gate_proj.weight.shape[0])
    return None


def _unusual_linear(parts: Any, name: str, bias: bool = True) -> str | None:
    reason = _unusual(parts, name, nn.Linear)
    if reason is None:
        reason = _unusual_parameter(parts[name], name, "weight")
        state = parts[name]._parameters
        if reason is None and state.get("bias") is not None:
            reason = _unusual_parameter(parts[name], name, "bias") if bias else f"{name} has a bias"
    return reason


def unusual_head(model: Any) -> str | None:
    """The first thing about a causal language model's head that is not as transformers made it."""
    if _has_any_global_hook():
        return "there is a hook for all modules"
    reason = _unusual_linear(model._modules, "lm_head", bias=False)
    if reason is not None:
        return reason
    weight = model.lm_head.weight
    if weight.shape[0] != model.config.vocab_size:
        return f"lm_head has {weight.shape[0]} rows, vocab_size is {model.config.vocab_size}"
    if weight.is_cuda:
        return _unfit_for_gpu(weight, 16, 8)
    return None


def _unusual_norm(parts: Any, name: str, family: Family) -> str | None:
    return _unusual(parts, name, family.norm) or _unusual_parameter(parts[name], name, "weight")


def _unusual(parts: Any, name: str, expected: type[nn.Module]) -> str | None:
    module = parts.get(name)
    if type(module) is not expected:
        return f"{name} is a {type(module).__name__}, not transformers' {expected.__name__}"
    state = module.__dict__
    if state["_forward_hooks"] or state["_forward_pre_hooks"]:
        if _only_inactive_recorders(state):
            return None
        return f"{name} has a forward hook"
    if state["_backward_hooks"] or state["_backward_pre_hooks"]:
        return f"{name} has a backward hook"
    if "forward" in state:
        return f"the forward of {name} was replaced"
    return None


def _only_inactive_recorders(state: dict[str, Any]) -> bool:
    """Hooks that transformers leaves behind output_hidden_states and output_attentions.

    They record only while one of these is asked for; a layer is not fused when attentions are.
    """
    hooks = [*state["_forward_hooks"].values(), *state["_forward_pre_hooks"].values()]
    recorder = "transformers.utils.output_capturing"
    return all(getattr(hook, "__module__", None) == recorder for hook in hooks)


def _unusual_parameter(module: Any, name: str, parameter: str) -> str | None:
    # Not in _parameters: computed from others (pruning, weight norm). FSDP2 puts plain ones there
    # while a layer runs.
    tensor = module._parameters.get(parameter)
    if type(tensor) is nn.Parameter or type(tensor) is Tensor:
        return None
    return f"{name}.{parameter} is a {type(tensor).__name__}, not a plain parameter"


def _unfit_for_gpu(weight: Tensor, head_dim: int, ffn: int) -> str | None:
    if not _is_hopper(weight.device.index):
        return f"coda's kernels are for Hopper GPUs, and {weight.device} is none"
    if head_dim % 16 != 0 or head_dim > 256:
        return f"heads have {head_dim} columns; on a GPU coda takes multiples of 16 up to 256"
    if weight.shape[1] % 8 != 0 or ffn % 8 != 0:
        return (
            f"the model is {weight.shape[1]} wide and its MLP {ffn}; on a GPU coda takes "
            "multiples of 8"
        )
    return None


@functools.cache
def _is_hopper(gpu: int) -> bool:
    return torch.cuda.get_device_capability(gpu) == (9, 0)


def unusable_type(hidden: Tensor, weight: Tensor) -> str | None:
    """What about the types of a call coda has no programs for."""
    device = hidden.device.type
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
