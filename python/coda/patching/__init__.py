"""coda.patch: decoder layers of transformers models as coda programs, parameters as they are."""

from __future__ import annotations

import sys
from types import MethodType
from typing import Any

import torch
from torch import nn

from coda.layer import RECOMPUTE
from coda.patching import causal_lm, decoder_layer, final_norm, gpt2_block, rotation
from coda.patching.boundary import Place, has_codas_forward
from coda.patching.causal_lm import PatchedHead
from coda.patching.conditions import Options, Patched
from coda.patching.families import SUPPORTED, described, families_of
from coda.patching.parts import Part, Watch, package_of

__all__ = ["patch", "unpatch"]


def patch(
    model: nn.Module,
    *,
    strict: bool = False,
    recompute: str = "activation",
    min_tokens: int | None = None,
    loss: bool = True,
) -> nn.Module:
    """Makes a transformers model run its decoder layers, and its loss, as coda programs.

    Llama, Mistral, Qwen2, Qwen3 and GPT-2, also inside of wrappers (PEFT, DDP, fully_shard). The
    forwards of layers, of rotary_emb, of the norm behind the layers and of …ForCausalLM are
    replaced on these instances; parameters, state_dict, classes and the attention function stay the
    model's. A layer with something that transformers did not put there (LoRA, a quantised linear, a
    hook inside of it) runs stock. Patching again changes the options.

    Args:
        strict: raise where a layer would run stock, instead of warning once; at once where that
            is known already. What FSDP has sharded is looked at when it runs.
        recompute: what backward makes again: "nothing", "activation" or "block" (coda.layer).
        min_tokens: calls with fewer tokens run stock, decoding say; None: 64 on a GPU, else 1.
        loss: in training with labels= the loss comes from coda.linear_cross_entropy, and the output
            has no logits. In evaluation it has them.

    Returns:
        The model.

    Raises:
        TypeError, ValueError: a model or an option that coda does not cover; nothing is changed.
    """
    _check(model, strict, recompute, min_tokens, loss)
    options = Options(strict, recompute, min_tokens)
    families: list[tuple[Any, Any]] = [(family, decoder_layer) for family in families_of(model)]
    families += [(family, gpt2_block) for family in gpt2_block.families_of(model)]
    forwards = {family.name: kind.make_forward(family) for family, kind in families}
    places = _places(model, [family.decoder for family, _ in families])
    layers: list[tuple[nn.Module, Any, Patched]] = []  # with their forwards
    others: list[tuple[nn.Module, Any, Patched]] = []
    for name, module in model.named_modules():
        for family, kind in families:
            if _has_forward_of(module, family.layer):
                state = kind.patched_layer(name, module, family, options)
                state.place = places.get(module)
                layers.append((module, forwards[family.name], state))
            elif kind is decoder_layer and _is_last_norm(name, module, family):
                state = final_norm.patched_norm(name, module, options)
                others.append((module, final_norm.make_forward(family), state))
            elif kind is decoder_layer and _has_forward_of(module, family.rotary):
                state = rotation.patched_rotary(name, module, options)
                others.append((module, rotation.make_forward(family), state))
            elif loss and _has_forward_of(module, family.causal_lm):
                state = _patched_head(name, module, family, options)
                others.append((module, causal_lm.make_forward(type(module)), state))
    if not layers:
        raise TypeError(
            f"coda.patch: {type(model).__name__} has no decoder layer that coda covers; expected a "
            f"model of transformers: {SUPPORTED}"
        )
    for module, _, state in layers + others:
        _check_forward(module, state.name)
    if strict:
        sharded = _sharded(model)
        for module, _, state in layers + others:
            _insist(options, state.name, state.unusual(module in sharded))
    unpatch(model)
    for module, forward, state in layers + others:
        _replace(module, forward, state)
    return model


def unpatch(model: nn.Module) -> nn.Module:
    """Gives the layers of a model their own forwards again, where they were patched."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"coda.unpatch: expected a torch.nn.Module, got {type(model).__name__}")
    patched = [module for module in model.modules() if "_coda_patch" in module.__dict__]
    for module in patched:
        state = module.__dict__["_coda_patch"]  # None: Patched
        _check_forward(module, type(module).__name__ if state is None else state.name)
    for module in patched:
        del module.__dict__["_coda_patch"]
        module.__dict__.pop("forward", None)
    return model


def _check(model: Any, strict: Any, recompute: Any, min_tokens: Any, loss: Any) -> None:
    if not isinstance(model, nn.Module):
        raise TypeError(f"coda.patch: expected a torch.nn.Module, got {type(model).__name__}")
    if isinstance(model, torch._dynamo.eval_frame.OptimizedModule):
        raise TypeError("coda.patch: the model is compiled; patch it before torch.compile")
    for name, flag in (("strict", strict), ("loss", loss)):
        if not isinstance(flag, bool):
            raise TypeError(f"coda.patch: {name}: expected True or False, got {flag!r}")
    if recompute not in RECOMPUTE:
        expected = ", ".join(repr(policy) for policy in RECOMPUTE)
        raise ValueError(f"coda.patch: recompute: expected one of {expected}, got {recompute!r}")
    if min_tokens is None:
        return
    if not isinstance(min_tokens, int) or isinstance(min_tokens, bool):
        raise TypeError(f"coda.patch: min_tokens: expected a number of tokens, got {min_tokens!r}")
    if min_tokens < 0:
        raise ValueError(f"coda.patch: min_tokens: expected 0 or more, got {min_tokens}")


def _has_forward_of(module: nn.Module, stock: type[nn.Module]) -> bool:
    """A stock module, or one whose class only adds to it, as fully_shard's do."""
    return isinstance(module, stock) and type(module).forward is stock.forward


def _places(model: nn.Module, decoders: list[type[nn.Module]]) -> dict[nn.Module, Place]:
    """Where layers stand in models that call them one after the other, as transformers wrote it."""
    return {
        layer: Place(module, name, index)
        for module in model.modules()
        if any(_has_forward_of(module, decoder) for decoder in decoders)
        for name, children in module.named_children()
        if isinstance(children, nn.ModuleList)
        for index, layer in enumerate(children)
    }


def _is_last_norm(name: str, module: nn.Module, family: Any) -> bool:
    return name.rpartition(".")[2] == final_norm.NAME and _has_forward_of(module, family.norm)


def _patched_head(name: str, model: nn.Module, family: Any, options: Options) -> PatchedHead:
    functions = ((family.causal_lm, "forward"), *causal_lm.loss_functions())
    watch = Watch((Part("", "lm_head", nn.Linear),), functions)
    return PatchedHead(model, name or type(model).__name__, watch, options)


def _check_forward(module: nn.Module, name: str) -> None:
    """A forward on the instance that is neither stock nor coda's belongs to somebody else."""
    own = module.__dict__.get("forward")
    if own is None or has_codas_forward(module) or _is_copied_by_value(module, own):
        return
    stock: Any = type(module).forward  # of a pickled model; accelerate leaves what decorators wrap
    while stock is not None:
        if getattr(own, "__func__", None) is stock:
            return
        stock = getattr(stock, "__wrapped__", None)
    replacement = getattr(own, "func", own)  # accelerate's is a functools.partial
    raise RuntimeError(
        f"coda: the forward of {name} was replaced by {described(replacement)}; undo that before "
        "coda.patch or coda.unpatch (accelerate: remove_hook_from_submodules, "
        "Accelerator.unwrap_model(model, keep_fp32_wrapper=False))"
    )


def _is_copied_by_value(module: nn.Module, own: Any) -> bool:
    """Whether a forward is coda's that came with a pickled model: cloudpickle and dill have the
    function itself in what they write, others its name, which then is the stock one's."""
    was_patched = "_coda_patch" in module.__dict__ and module.__dict__["_coda_patch"] is None
    return was_patched and package_of(getattr(own, "__func__", own)) == "coda"


def _sharded(model: nn.Module) -> set[nn.Module]:
    """What FSDP has made shards of, until it runs."""
    fsdp: Any = sys.modules.get("torch.distributed.fsdp")
    if fsdp is None:
        return set()
    kinds = (fsdp.FSDPModule, fsdp.FullyShardedDataParallel)
    groups = [module for module in model.modules() if isinstance(module, kinds)]
    return {part for group in groups for part in group.modules()}


def _insist(options: Options, name: str, reason: str | None) -> None:
    if reason is not None:
        options.refuse(name, reason)


def _replace(module: nn.Module, forward: Any, patched: Patched) -> None:
    patched.forward = forward
    module.__dict__["forward"] = MethodType(forward, module)
    module.__dict__["_coda_patch"] = patched
