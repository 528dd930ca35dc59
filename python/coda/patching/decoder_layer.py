"""The forward of a patched decoder layer."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from coda.layer import attention_inputs, attention_outputs
from coda.patching import rotation
from coda.patching.boundary import hand_on, next_norm_weight, take
from coda.patching.conditions import Options, PatchedLayer, unusable_call
from coda.patching.families import ACTIVATIONS, Family, activation_class
from coda.patching.parts import Watch


def patched_layer(name: str, layer: Any, family: Family, options: Options) -> PatchedLayer:
    """What patch() leaves beside a layer. ValueError: one that coda does not cover."""
    config = layer.self_attn.config
    where = f"coda.patch: {type(layer).__name__} {name}"
    if config.hidden_act not in ACTIVATIONS:
        raise ValueError(
            f"{where}: config.hidden_act is {config.hidden_act!r}; coda covers "
            f"{', '.join(ACTIVATIONS)}"
        )
    if getattr(config, "mlp_bias", False):
        raise ValueError(f"{where}: config.mlp_bias is True; coda's MLP has no biases")
    if layer.self_attn.head_dim % 2 != 0:
        raise ValueError(
            f"{where}: head_dim is {layer.self_attn.head_dim}; expected an even number"
        )
    if family.name.startswith("qwen") and not hasattr(layer.self_attn, "sliding_window"):
        raise RuntimeError(
            f"{where}: its attention has no sliding_window; expected transformers 4.53 or newer"
        )
    activation = ACTIVATIONS[config.hidden_act]
    stock = activation_class(activation, layer, "act_fn")
    watch = Watch(family.parts(stock), family.functions)
    return PatchedLayer(layer, name, watch, options, family, activation)


def make_forward(family: Family) -> Callable[..., Any]:
    """The function that takes the place of a layer's forward, with the stock one's signature."""

    @functools.wraps(family.layer.forward)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        arguments = family.layer_defaults | dict(zip(family.layer_arguments, args)) | kwargs
        patched: PatchedLayer | None = self._coda_patch  # None: Patched
        if patched is None or not _fits(self, patched, arguments):
            return type(self).forward(self, *args, **kwargs)
        hidden = _forward(self, patched, arguments)
        return (hidden,) if family.returns_tuple else hidden

    return forward


def _fits(layer: Any, patched: PatchedLayer, arguments: dict[str, Any]) -> bool:
    hidden = arguments.get("hidden_states")
    embeddings = arguments.get("position_embeddings")
    if hidden is None or hidden.dim() != 3 or embeddings is None:
        return False  # stock says what is missing
    if patched.options.few(hidden.shape[0] * hidden.shape[1], hidden.device):
        return False
    if not patched.fits():
        return False
    attention = layer.self_attn
    reason = unusable_call(hidden, attention.q_proj.weight)
    if reason is None and arguments.get("output_attentions"):
        reason = "attention weights are asked for"
    if reason is None:
        reason = rotation.unusable(embeddings, hidden.shape[1], attention.head_dim)
    return reason is None or patched.refuse(reason)


def _forward(layer: Any, patched: PatchedLayer, arguments: dict[str, Any]) -> Tensor:
    family, recompute = patched.family, patched.options.recompute
    attention, mlp = layer.self_attn, layer.mlp
    hidden: Tensor = arguments["hidden_states"]
    batch, tokens, width = hidden.shape
    positions, cos, sin = rotation.tables(arguments["position_embeddings"], batch)
    heads = _head_norms(attention) if family.normalises_heads else {}
    next_gamma = next_norm_weight(patched, "input_layernorm", hidden)
    q, k, v, x = attention_inputs(
        hidden.reshape(batch * tokens, width),
        layer.input_layernorm.weight,
        attention.q_proj.weight,
        attention.k_proj.weight,
        attention.v_proj.weight,
        head_dim=attention.head_dim,
        epsilon=layer.input_layernorm.variance_epsilon,
        positions=positions,
        cos=cos,
        sin=sin,
        q_bias=attention.q_proj.bias,
        k_bias=attention.k_proj.bias,
        v_bias=attention.v_proj.bias,
        norm_inputs=take(hidden, layer.input_layernorm.weight),
        recompute=recompute,
        **heads,
    )
    d = attention.head_dim
    query, key, value = (
        z.view(batch, tokens, z.shape[1] // d, d).transpose(1, 2) for z in (q, k, v)
    )
    y = _attend(family, attention, query, key, value, arguments)
    out, made = attention_outputs(
        y.reshape(batch * tokens, q.shape[1]),
        x,
        attention.o_proj.weight,
        layer.post_attention_layernorm.weight,
        mlp.gate_proj.weight,
        mlp.up_proj.weight,
        mlp.down_proj.weight,
        epsilon=layer.post_attention_layernorm.variance_epsilon,
        o_bias=attention.o_proj.bias,
        activation=patched.activation,
        next_gamma=next_gamma,
        recompute=recompute,
    )
    # No view in autograd's eyes: FSDP2 warns of layers that return one.
    out = torch.ops.aten._unsafe_view(out, (batch, tokens, width)).to(hidden.dtype)
    return hand_on(out, next_gamma, made)


def _head_norms(attention: Any) -> dict[str, Any]:
    return {
        "q_norm": attention.q_norm.weight,
        "k_norm": attention.k_norm.weight,
        "norm_epsilon": attention.q_norm.variance_epsilon,
    }


def _attend(
    family: Family,
    attention: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    arguments: dict[str, Any],
) -> Tensor:
    """The model's own attention and cache: [B, T, Hq, d] of q, k, v [B, H, T, d]."""
    past = arguments.get(family.past_name)
    if past is not None:
        extra: tuple[Any, ...] = ()
        if "cache_position" in family.attention_arguments:
            cos, sin = arguments["position_embeddings"]
            position = arguments.get("cache_position")
            extra = ({"sin": sin, "cos": cos, "cache_position": position},)
        key, value = past.update(key, value, attention.layer_idx, *extra)
    others = {
        name: argument
        for name, argument in arguments.items()
        if name not in family.attention_arguments and name != "hidden_states"
    }
    y, _ = family.attention_function(attention)(
        attention,
        query,
        key,
        value,
        arguments.get("attention_mask"),
        dropout=attention.attention_dropout if attention.training else 0.0,
        scaling=attention.scaling,
        **family.sliding_window(attention),
        **others,
    )
    return y
