"""What a patched layer hands to the next one beside the hidden states.

The layer's last GEMM makes what the next layer's first norm needs of them, x⊙γ and Σx² (Σx and Σx²
for a LayerNorm), in its epilogue, instead of another pass over x. It travels on the tensor of the
hidden states itself: whoever puts other ones in their place loses it, and the next layer makes its
own.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn

from coda.layer import NormInputs, compute_type
from coda.patching.parts import is_hooked


class Place:
    """Where a layer stands: at this index of the layers that a stock model calls in turn."""

    def __init__(self, decoder: nn.Module, layers: str, index: int) -> None:
        self.decoder, self.layers, self.index = decoder, layers, index

    def __deepcopy__(self, memo: dict[int, Any]) -> Place | None:
        """That in the copied model; a layer that is copied alone stands nowhere."""
        decoder = memo.get(id(self.decoder))
        return None if decoder is None else Place(decoder, self.layers, self.index)

    def next_layer(self) -> Any:
        """The layer behind; None at the end, which the config may say."""
        config: Any = self.decoder.config
        following = self.index + 1
        return self._layers().get(str(following)) if following < config.num_hidden_layers else None

    def is_of(self, layer: Any) -> bool:
        """Whether the layer is still there, and has not been moved."""
        return self._layers().get(str(self.index)) is layer

    def _layers(self) -> dict[str, Any]:
        layers: Any = self.decoder._modules[self.layers]
        return layers._modules


def may_hand_on(layer: Any, place: Place) -> bool:
    """Whether nothing stands between a layer and the next one, which runs fused."""
    if not place.is_of(layer):
        return False
    following = place.next_layer()
    if following is None or not (_is_alone(layer) and _is_alone(following)):
        return False
    return (
        # What backward makes again has to be what was there before.
        not (_is_checkpointed(layer) or _is_checkpointed(following))
        and not _saves_otherwise()
        and not torch.is_inference_mode_enabled()  # whose tensors have no versions
        and following._coda_patch.unusual() is None
    )


def _is_alone(layer: Any) -> bool:
    """Whether a layer is patched, and nobody put anything around its forward, or compiled it: what
    it then takes it leaves where it is."""
    return has_codas_forward(layer) and not is_hooked(layer) and layer._compiled_call_impl is None


def has_codas_forward(module: Any) -> bool:
    """Whether a module has the very forward that patch() gave to it."""
    function = getattr(module.__dict__.get("forward"), "__func__", None)
    patched = module.__dict__.get("_coda_patch")
    return patched is not None and patched.forward is function


def _is_checkpointed(layer: Any) -> bool:
    return bool(layer.training and getattr(layer, "gradient_checkpointing", False))


class Beside:
    """What travels on a tensor, and with no copy of it: not to a file, nor to another process."""

    def __init__(self, kept: tuple[Any, ...]) -> None:
        self.kept = kept

    def __reduce__(self) -> tuple[Any, ...]:
        return OrderedDict, ()  # nothing, of a type that torch.load takes


def next_norm_weight(patched: Any, norm: str, hidden: Tensor) -> Tensor | None:
    """γ of the norm that a layer makes something for: of the next layer, on the same device."""
    following = patched.next_layer()
    if following is None:
        return None
    gamma: Tensor = following._modules[norm].weight
    if gamma.device != hidden.device or gamma.is_inference():  # without a version
        return None
    return gamma


def hand_on(hidden: Tensor, gamma: Tensor | None, made: NormInputs | None) -> Tensor:
    """The hidden states, with what was made of them for the norm of weight γ."""
    if gamma is not None:
        handed = (gamma, _state(hidden), _state(gamma), made)
        hidden._coda_norm_inputs = Beside(handed)  # type: ignore[attr-defined]
    return hidden


def take(hidden: Tensor, gamma: Tensor) -> NormInputs | None:
    """What came with hidden states for the norm of weight γ, once: it shall not live as long."""
    if torch.compiler.is_compiling():
        return None
    handed = getattr(hidden, "_coda_norm_inputs", None)
    if not isinstance(handed, Beside):
        return None
    hidden._coda_norm_inputs = None  # type: ignore[attr-defined]
    made_for, *states, made = handed.kept
    same = made_for is gamma and all(map(_is_same, states, (_state(hidden), _state(gamma))))
    # Autocast may have changed in between, and a checkpoint's second forward gets nothing.
    same = same and made[0].dtype == compute_type(hidden)
    return made if same and not (_saves_otherwise() or _is_first_pass(hidden)) else None


def _saves_otherwise() -> bool:
    """Whether hooks take what is saved for backward, as torch.utils.checkpoint's do."""
    return torch._C._autograd._top_saved_tensors_default_hooks(False) is not None


def _is_first_pass(hidden: Tensor) -> bool:
    """Of a reentrant checkpoint, whose second one has other tensors."""
    return hidden.requires_grad and not torch.is_grad_enabled()


def _state(tensor: Tensor) -> tuple[Any, ...]:
    """It tells whether a tensor was changed, or its .data replaced."""
    return (tensor._version, tensor.untyped_storage())


def _is_same(before: tuple[Any, ...], after: tuple[Any, ...]) -> bool:
    return bool(before[0] == after[0] and before[1]._cdata == after[1]._cdata)
