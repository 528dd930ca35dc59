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

from coda.patching.parts import Function, Part, is_stock

# transformers' hidden_act to the activations of linear_swiglu.
ACTIVATIONS = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}

# Classes that compute the latter, of transformers.activations or torch.nn; versions of transformers
# differ in which they have. Not those of transformers' ACT2FN, where anybody may put others.
ACTIVATION_CLASSES = {
    "silu": ("SiLUActivation", "SiLU"),
    "gelu": ("GELUActivation",),
    "gelu_tanh": ("NewGELUActivation", "GELUTanh", "PytorchGELUTanh"),
    "relu": ("ReLU",),
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
    module: ModuleType  # transformers' modeling_…
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
        eager = self.module.eager_attention_forward
        return find_attention(attention, self.attention_functions, eager)

    def sliding_window(self, attention: Any) -> dict[str, int | None]:
        """The argument that all but Llama give to the attention function."""
        if self.name == "llama":
            return {}
        if self.name == "mistral":
            return {"sliding_window": getattr(attention.config, "sliding_window", None)}
        return {"sliding_window": attention.sliding_window}

    @property
    def functions(self) -> tuple[Function, ...]:
        """That a layer's program stands for, beside the forwards of its parts."""
        return (
            (self.layer, "forward"),
            (self.attention, "forward"),
            (self.module, "apply_rotary_pos_emb"),
            (self.module, "rotate_half"),
        )


def families_of(model: nn.Module) -> list[Family]:
    """Those that the model has layers of. Where their modules are not imported, it has none."""
    families = []
    for name, prefix in PREFIXES.items():
        module: Any = sys.modules.get(f"transformers.models.{name}.modeling_{name}")
        if module is not None and has_layers(model, getattr(module, f"{prefix}DecoderLayer", ())):
            families.append(_family(name, prefix, module))
    return families


def has_layers(model: nn.Module, layer: Any) -> bool:
    return any(isinstance(module, layer) for module in model.modules())


def _family(name: str, prefix: str, module: ModuleType) -> Family:
    try:
        layer = getattr(module, f"{prefix}DecoderLayer")
        attention = getattr(module, f"{prefix}Attention")
        layer_arguments = arguments_of(layer)
        attention_arguments = arguments_of(attention)
        # Layers whose attention is somebody else's run stock, whatever it takes.
        if "position_embeddings" not in attention_arguments and is_stock(attention, "forward"):
            raise AttributeError("position_embeddings of the attention")
        for function in ("eager_attention_forward", "apply_rotary_pos_emb", "rotate_half"):
            getattr(module, function)
        return Family(
            name=name,
            layer=layer,
            attention=attention,
            mlp=getattr(module, f"{prefix}MLP"),
            norm=getattr(module, f"{prefix}RMSNorm"),
            rotary=getattr(module, f"{prefix}RotaryEmbedding"),
            decoder=getattr(module, f"{prefix}Model"),
            causal_lm=getattr(module, f"{prefix}ForCausalLM"),
            module=module,
            attention_functions=module.ALL_ATTENTION_FUNCTIONS,
            layer_arguments=layer_arguments,
            layer_defaults=defaults_of(layer),
            attention_arguments=frozenset(attention_arguments),
            past_name=next(
                n for n in layer_arguments if n in ("past_key_values", "past_key_value")
            ),
        )
    except (AttributeError, StopIteration) as error:
        check_forward(module.__dict__[f"{prefix}DecoderLayer"])
        version = getattr(sys.modules.get("transformers"), "__version__", "of this version")
        raise RuntimeError(
            f"coda.patch: transformers {version} has no {error} in its {name} models; expected "
            "4.53 or newer: pip install -U transformers"
        ) from error


def activation_class(activation: str, layer: nn.Module, name: str) -> type[nn.Module]:
    """That of the layer's own activation, of this name in its MLP, if it computes `activation`;
    else one that does, for a Part to compare with."""
    from transformers import activations

    known: list[Any] = [
        getattr(home, kind)
        for home in (activations, nn)
        for kind in ACTIVATION_CLASSES[activation]
        if hasattr(home, kind)
    ]
    own: Any = type(getattr(layer._modules.get("mlp"), name, None))
    return own if own in known else known[0]


def find_attention(attention: Any, functions: Any, eager: Callable[..., Any]) -> Callable[..., Any]:
    """The function of the implementation that the module's config names, as transformers finds it:
    version 5 knows more names than the registry has, None and paged ones."""
    implementation = attention.config._attn_implementation
    if hasattr(functions, "get_interface"):
        found: Callable[..., Any] = functions.get_interface(implementation, eager)
        return found
    return eager if implementation == "eager" else functions[implementation]


def check_forward(layer: type[nn.Module]) -> None:
    """RuntimeError: the forward is somebody else's, and hides what the stock one takes."""
    if not is_stock(layer, "forward"):
        raise RuntimeError(
            f"coda.patch: {layer.__name__}.forward was replaced by {described(layer.forward)}, "
            "with other arguments: undo that, or make it with functools.wraps"
        )


def described(function: Any) -> str:
    """Its name and where it was written: functools.wraps gives it the name of another one."""
    name = getattr(function, "__qualname__", type(function).__name__)
    home = getattr(function, "__globals__", {}).get("__name__")
    return name if home is None else f"{name} of {home}"


def defaults_of(module: type[nn.Module]) -> dict[str, Any]:
    """What a module's forward takes for arguments that are not given."""
    parameters = inspect.signature(module.forward).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


def arguments_of(module: type[nn.Module]) -> tuple[str, ...]:
    """Names of the arguments of a module's forward, without self and **kwargs."""
    parameters = inspect.signature(module.forward).parameters.values()
    named = [p.name for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD]
    return tuple(named[1:])
