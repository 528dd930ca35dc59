"""The forward of a patched GPT-2 block: LayerNorm, biases, an MLP without a gate."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from coda.layer_norm_layer import layer_norm_linear, layer_norm_outputs
from coda.patching.boundary import hand_on, next_norm_weight, take
from coda.patching.conditions import Options, Patched, unfit_for_gpu, unusable_call
from coda.patching.families import (
    ACTIVATIONS,
    activation_class,
    arguments_of,
    check_forward,
    defaults_of,
    find_attention,
    has_layers,
)
from coda.patching.parts import Function, Part, Watch

MODULE = "transformers.models.gpt2.modeling_gpt2"
NORMS = ("ln_1", "ln_2")


@dataclass(frozen=True)
class Gpt2:
    """The stock classes of GPT-2, as transformers 5 has them."""

    module: Any  # transformers' modeling_gpt2
    layer: type[nn.Module]
    decoder: type[nn.Module]  # all layers
    causal_lm: type[nn.Module]
    layer_arguments: tuple[str, ...]  # of the block's forward, in order
    attention_arguments: frozenset[str]  # that the forwards of block and attention name
    name: str = "gpt2"

    def __deepcopy__(self, memo: dict[int, Any]) -> Gpt2:
        """Itself: what it names is transformers', which a copied model shares."""
        return self

    def parts(self, activation: type[nn.Module]) -> tuple[Part, ...]:
        """Of a block, with this class as the MLP's activation."""
        m = self.module
        return (
            Part("", "attn", m.GPT2Attention, weight=False),
            Part("", "mlp", m.GPT2MLP, weight=False),
            *(Part("", name, nn.LayerNorm, bias=True) for name in NORMS),
            *(Part("attn", name, m.Conv1D, bias=True) for name in ("c_attn", "c_proj")),
            *(Part("attn", f"{z}_dropout", nn.Dropout, weight=False) for z in ("attn", "resid")),
            *(Part("mlp", name, m.Conv1D, bias=True) for name in ("c_fc", "c_proj")),
            Part("mlp", "act", activation, weight=False),
            Part("mlp", "dropout", nn.Dropout, weight=False),
        )

    @property
    def functions(self) -> tuple[Function, ...]:
        """That a block's program stands for, beside the forwards of its parts."""
        return (self.layer, "forward"), (self.module.GPT2Attention, "forward")


def patched_layer(name: str, block: Any, family: Gpt2, options: Options) -> PatchedBlock:
    """What patch() leaves beside a block. ValueError: one that coda does not cover."""
    where = f"coda.patch: {type(block).__name__} {name}"
    if "output_attentions" in family.layer_arguments:
        raise RuntimeError(f"{where}: expected the GPT-2 of transformers 5 or newer")
    kind = block.attn.config.activation_function
    if kind not in ACTIVATIONS:
        raise ValueError(
            f"{where}: config.activation_function is {kind!r}; coda covers {', '.join(ACTIVATIONS)}"
        )
    activation = ACTIVATIONS[kind]
    watch = Watch(family.parts(activation_class(activation, block, "act")), family.functions)
    return PatchedBlock(block, name, watch, options, family, activation)


def make_forward(family: Gpt2) -> Callable[..., Any]:
    """The function that takes the place of a block's forward, with the stock one's signature."""
    names, defaults = family.layer_arguments, defaults_of(family.layer)

    @functools.wraps(family.layer.forward)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        arguments = defaults | dict(zip(names, args)) | kwargs
        patched: PatchedBlock | None = self._coda_patch  # None: Patched
        if patched is None or not _fits(self, patched, arguments):
            return type(self).forward(self, *args, **kwargs)
        return _forward(self, patched, arguments)

    return forward


def families_of(model: nn.Module) -> list[Gpt2]:
    """GPT-2 where the model has blocks of it."""
    module: Any = sys.modules.get(MODULE)
    if module is None or not has_layers(model, module.GPT2Block):
        return []
    layer = module.GPT2Block
    if "hidden_states" not in arguments_of(layer):
        check_forward(layer)
    models = (module.GPT2Model, module.GPT2LMHeadModel)
    named = (*arguments_of(layer), *arguments_of(module.GPT2Attention))
    return [Gpt2(module, layer, *models, arguments_of(layer), frozenset(named))]


@dataclass
class PatchedBlock(Patched):
    """Of a GPT-2 block."""

    family: Gpt2
    activation: str  # of linear_activation

    def unusual(self, sharded: bool = False) -> str | None:
        reason = super().unusual(sharded)
        if reason is not None:
            return reason
        block = self.module
        for name in NORMS:
            if getattr(block, name).bias is None:
                return f"{name} has no bias"
        weight = block.mlp.c_fc.weight
        if sharded or not weight.is_cuda:
            return None
        return unfit_for_gpu(weight, *weight.shape)


def _fits(block: Any, patched: PatchedBlock, arguments: dict[str, Any]) -> bool:
    hidden = arguments.get("hidden_states")
    if hidden is None or hidden.dim() != 3:
        return False  # stock says what is missing
    if patched.options.few(hidden.shape[0] * hidden.shape[1], hidden.device):
        return False
    if not patched.fits():
        return False
    reason = unusable_call(hidden, block.attn.c_attn.weight) or _unusual_call(block, arguments)
    return reason is None or patched.refuse(reason)


def _unusual_call(block: Any, arguments: dict[str, Any]) -> str | None:
    """What about a call coda has no programs for."""
    attention = block.attn
    if arguments.get("encoder_hidden_states") is not None:
        return "it attends to an encoder's hidden states"
    dropouts = (attention.resid_dropout, block.mlp.dropout)
    p = max(dropout.p if dropout.training else 0.0 for dropout in dropouts)
    if p > 0:
        return (
            f"it drops values with probability {p} in training, in no program of coda: set "
            "resid_pdrop=0 in the config, or p of these modules"
        )
    if attention.config._attn_implementation == "eager" and attention.reorder_and_upcast_attn:
        return "config.reorder_and_upcast_attn is True"
    if torch.compiler.is_exporting() and torch.is_grad_enabled():
        return "torch.export records it without its gradients: export it under torch.no_grad()"
    return None


def _forward(block: Any, patched: PatchedBlock, arguments: dict[str, Any]) -> Tensor:
    attention, mlp = block.attn, block.mlp
    hidden: Tensor = arguments["hidden_states"]
    batch, tokens, width = hidden.shape
    next_gamma = next_norm_weight(patched, "ln_1", hidden)
    qkv, x = layer_norm_linear(
        hidden.reshape(batch * tokens, width),
        block.ln_1.weight,
        block.ln_1.bias,
        attention.c_attn.weight,
        attention.c_attn.bias,
        epsilon=block.ln_1.eps,
        norm_inputs=take(hidden, block.ln_1.weight),
    )
    y = _attend(patched.family, attention, qkv.view(batch, tokens, 3 * width), arguments)
    out, made = layer_norm_outputs(
        y.reshape(batch * tokens, width),
        x,
        attention.c_proj.weight,
        attention.c_proj.bias,
        block.ln_2.weight,
        block.ln_2.bias,
        mlp.c_fc.weight,
        mlp.c_fc.bias,
        mlp.c_proj.weight,
        mlp.c_proj.bias,
        epsilon=block.ln_2.eps,
        activation=patched.activation,
        next_gamma=next_gamma,
        recompute=patched.options.recompute,
    )
    # No view in autograd's eyes: FSDP2 warns of layers that return one.
    out = torch.ops.aten._unsafe_view(out, (batch, tokens, width)).to(hidden.dtype)
    return hand_on(out, next_gamma, made)


def _attend(family: Gpt2, attention: Any, qkv: Tensor, arguments: dict[str, Any]) -> Tensor:
    """The model's own attention and cache: [B, T, H, d] of q, k, v side by side [B, T, 3·H·d]."""
    query, key, value = (
        z.unflatten(2, (-1, attention.head_dim)).transpose(1, 2)
        for z in qkv.split(attention.split_size, dim=2)
    )
    past = arguments.get("past_key_values")
    if past is not None:
        cache = getattr(past, "self_attention_cache", past)  # beside that of cross-attention
        key, value = cache.update(key, value, attention.layer_idx)
    module = family.module
    attend = find_attention(
        attention, module.ALL_ATTENTION_FUNCTIONS, module.eager_attention_forward
    )
    others = {
        name: argument
        for name, argument in arguments.items()
        if name not in family.attention_arguments
    }
    y, weights = attend(
        attention,
        query,
        key,
        value,
        arguments.get("attention_mask"),
        dropout=attention.attn_dropout.p if attention.training else 0.0,
        scaling=attention.scaling,
        use_cache=arguments.get("use_cache", False),
        **others,
    )
    # A block that runs fused has no hooks here but transformers' recorders. Whether attention
    # weights are asked for they alone know, and a checkpoint's second pass must not depend on it.
    for recorder in attention._forward_hooks.values():
        recorder(attention, (), (y, weights))
    return y
