"""The families of transformers models whose decoder layers coda runs, and how they differ.

What a version of transformers has is found by looking at its classes: names of arguments and what a
layer returns changed between 4.x and 5.x.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from torch import nn

from coda.patching.parts import Part

# transformers' hidden_act to the activations of linear_swiglu.
ACTIVATIONS = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}

PREFIXES = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3"}
SUPPORTED = ", ".join(f"{prefix}ForCausalLM" for prefix in PREFIXES.values()) + ", GPT2LMHeadModel"


@dataclass(frozen=True)
class Family:
    """The stock classes of a family and the names that their functions use."""

    name: str
    layer: type[nn.Module]
    attention: type[nn.Module]
    mlp: type[nn.Module]
    norm: type[nn.Module]
    rotary: type[nn.Module]  # makes cos and sin
    decoder: type[nn.Module]  # all layers
    causal_lm: type[nn.Module]
    eager_attention: Callable[..., Any]
    attention_functions: Any  # by the name of an implementation: transformers' registry
    layer_arguments: tuple[str, ...]  # of the layer's forward, in order
    layer_defaults: dict[str, Any]  # of those that have one
    attention_arguments: frozenset[str]  # that the attention's forward names
    past_name: str  # of the argument with the cache

    def __deepcopy__(self, memo: dict[int, Any]) -> Family:
        """Itself: what it names is transformers', which a copied model shares."""
        return self

    @property
    def returns_tuple(self) -> bool:
        """Layers that took output_attentions gave (hidden states, attention weights)."""
        return "output_attentions" in self.layer_arguments

    @property
    def normalises_heads(self) -> bool:
        return self.name == "qwen3"

    def parts(self, activation: type[nn.Module]) -> tuple[Part, ...]:
        """Of a decoder layer, with this class as the MLP's activation."""
        heads = ("q_norm", "k_norm") if self.normalises_heads else ()
        return (
            Part("", "self_attn", self.attention, weight=False),
            Part("", "mlp", self.mlp, weight=False),
            Part("", "input_layernorm", self.norm),
            Part("", "post_attention_layernorm", self.norm),
            *(Part("self_attn", f"{z}_proj", nn.Linear, bias=True) for z in "qkvo"),
            *(Part("self_attn", name, self.norm) for name in heads),
            *(Part("mlp", f"{z}_proj", nn.Linear) for z in ("gate", "up", "down")),
            Part("mlp", "act_fn", activation, weight=False),
        )

    def attention_function(self, attention: Any) -> Callable[..., Any]:
        """What the attention module calls: SDPA, FlashAttention, flex, eager or the user's own."""
        return find_attention(attention, self.attention_functions, self.eager_attention)

    def sliding_window(self, attention: Any) -> dict[str, int | None]:
        """The argument that all but Llama give to the attention function."""
        if self.name == "llama":
            return {}
        if self.name == "mistral":
            return {"sliding_window": getattr(attention.config, "sliding_window", None)}
        return {"sliding_window": attention.sliding_window}


def loaded_families() -> list[Family]:
    """Those whose modules are imported: no model of another one can exist."""
    families = []
    for name, prefix in PREFIXES.items():
        module = sys.modules.get(f"transformers.models.{name}.modeling_{name}")
        if module is not None:
            families.append(_family(name, prefix, module))
    return families


def _family(name: str, prefix: str, module: ModuleType) -> Family:
    try:
        layer = getattr(module, f"{prefix}DecoderLayer")
        attention = getattr(module, f"{prefix}Attention")
        layer_arguments = arguments_of(layer)
        attention_arguments = arguments_of(attention)
        if "position_embeddings" not in attention_arguments:
            raise AttributeError("position_embeddings of the attention")
        return Family(
            name=name,
            layer=layer,
            attention=attention,
            mlp=getattr(module, f"{prefix}MLP"),
            norm=getattr(module, f"{prefix}RMSNorm"),
            rotary=getattr(module, f"{prefix}RotaryEmbedding"),
            decoder=getattr(module, f"{prefix}Model"),
            causal_lm=getattr(module, f"{prefix}ForCausalLM"),
            eager_attention=module.eager_attention_forward,
            attention_functions=module.ALL_ATTENTION_FUNCTIONS,
            layer_arguments=layer_arguments,
            layer_defaults=defaults_of(layer),
            attention_arguments=frozenset(attention_arguments),
            past_name=next(
                n for n in layer_arguments if n in ("past_key_values", "past_key_value")
            ),
        )
    except (AttributeError, StopIteration) as error:
        version = getattr(sys.modules.get("transformers"), "__version__", "of this version")
        raise RuntimeError(
            f"coda.patch: transformers {version} has no {error} in its {name} models; expected "
            "4.53 or newer: pip install -U transformers"
        ) from error


def find_attention(attention: Any, functions: Any, eager: Callable[..., Any]) -> Callable[..., Any]:
    """The function of the implementation that the module's config names, as transformers finds it:
    version 5 knows more names than the registry has, None and paged ones."""
    implementation = attention.config._attn_implementation
    if hasattr(functions, "get_interface"):
        found: Callable[..., Any] = functions.get_interface(implementation, eager)
        return found
    return eager if implementation == "eager" else functions[implementation]


def defaults_of(module: type[nn.Module]) -> dict[str, Any]:
    """What a module's forward takes for arguments that are not given."""
    parameters = inspect.signature(module.forward).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


def arguments_of(module: type[nn.Module]) -> tuple[str, ...]:
    """Names of the arguments of a module's forward, without self and **kwargs."""
    parameters = inspect.signature(module.forward).parameters.values()
    named = [p.name for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD]
    return tuple(named[1:])
