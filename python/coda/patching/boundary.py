"""What a patched layer hands to the next one beside the hidden states.

The layer's last GEMM makes what the next layer's first norm needs of them, x⊙γ and Σx² (Σx and Σx²
for a LayerNorm), in its epilogue, instead of another pass over x. It travels on the tensor of the
hidden states itself: whoever puts other ones in their place loses it, and the next layer makes its
own.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from coda.layer import NormInputs
from coda.patching.parts import HOOKS, RECORDERS


class Place:
    """Where a layer stands: at this index of the layers that a stock model calls in turn."""

    def __init__(self, layers: nn.ModuleList, index: int) -> None:
        self.layers, self.index = layers, index

    def __deepcopy__(self, memo: dict[int, Any]) -> Place | None:
        """That of the copied list; a layer that is copied alone stands nowhere."""
        layers = memo.get(id(self.layers))
        return None if layers is None else Place(layers, self.index)

    def next_layer(self) -> Any:
        """The layer behind; None at the end."""
        return self.layers._modules.get(str(self.index + 1))


def may_hand_on(layer: Any, place: Place | None) -> bool:
    """Whether nothing stands between a layer and the next one, which runs fused."""
    following = None if place is None else place.next_layer()
    if following is None:
        return False
    patched = following.__dict__.get("_coda_patch")
    return (
        patched is not None
        # What backward makes again has to be what was there before.
        and not (layer.training and getattr(layer, "gradient_checkpointing", False))
        and not torch.is_inference_mode_enabled()  # whose tensors have no versions
        and not (_is_hooked(layer) or _is_hooked(following))
        and patched.unusual() is None
    )


def _is_hooked(layer: Any) -> bool:
    """By others than transformers, whose recorders of outputs change nothing."""
    return any(
        getattr(hook, "__module__", None) != RECORDERS
        for hooks in HOOKS
        for hook in layer.__dict__[hooks].values()
    )


def hand_on(hidden: Tensor, gamma: Tensor | None, made: NormInputs | None) -> Tensor:
    """The hidden states, with what was made of them for the norm of weight γ."""
    if gamma is not None:
        hidden._coda_norm_inputs = (gamma, _versions(hidden, gamma), made)  # type: ignore[attr-defined]
    return hidden


def take(hidden: Tensor, gamma: Tensor) -> NormInputs | None:
    """What came with hidden states for the norm of weight γ, once: it shall not live as long."""
    handed = getattr(hidden, "_coda_norm_inputs", None)
    if handed is None:
        return None
    hidden._coda_norm_inputs = None  # type: ignore[attr-defined]
    made_for, versions, made = handed
    return made if made_for is gamma and versions == _versions(hidden, gamma) else None


def _versions(*tensors: Tensor) -> tuple[int, ...]:
    """They tell whether tensors were changed. Dynamo knows none: of what it compiles the model's
    own loop alone stands between two layers."""
    return () if torch.compiler.is_compiling() else tuple(t._version for t in tensors)
