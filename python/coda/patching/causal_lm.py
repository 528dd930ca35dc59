"""The forward of a patched causal language model: the loss without the logits."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from coda.loss import linear_cross_entropy
from coda.patching.conditions import (
    Patched,
    unfit_for_gpu,
    unusable_call,
)
from coda.patching.parts import Function

NOT_FOR_THE_DECODER = ("labels", "logits_to_keep", "return_dict")


def loss_functions() -> tuple[Function, ...]:
    """What the stock loss is made of. Others replace one of these in a process, for all models."""
    from transformers.loss import loss_utils

    own = ((loss_utils, "ForCausalLMLoss"), (loss_utils, "fixed_cross_entropy"))
    return (*own, (F, "cross_entropy"))


class PatchedHead(Patched):
    """Of a causal language model."""

    def unusual(self, sharded: bool = False) -> str | None:
        from transformers.loss.loss_utils import ForCausalLMLoss

        reason = super().unusual(sharded)
        if reason is not None:
            return reason
        model = self.module  # whose loss may be one of its own, or transformers' of another name
        if model.loss_function is not ForCausalLMLoss:
            return "its loss_function is not transformers' ForCausalLMLoss"
        if sharded:
            return None
        weight = model.lm_head.weight
        if weight.shape[0] != model.config.vocab_size:
            return f"lm_head has {weight.shape[0]} rows, vocab_size is {model.config.vocab_size}"
        return unfit_for_gpu(weight, weight.shape[1]) if weight.is_cuda else None


def make_forward(causal_lm: type[nn.Module]) -> Callable[..., Any]:
    """The function that takes the place of the model's forward, with the stock one's signature.

    In training with labels the output has the loss and no logits. Without labels, in evaluation
    and with logits_to_keep the stock head runs.
    """
    from transformers import modeling_outputs

    names = tuple(inspect.signature(causal_lm.forward).parameters)[1:]
    output: Any = modeling_outputs.CausalLMOutputWithPast
    if "encoder_hidden_states" in names:
        output = modeling_outputs.CausalLMOutputWithCrossAttentions

    @functools.wraps(causal_lm.forward)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        arguments = dict(zip(names, args))
        arguments.update(kwargs)
        if not _fits(self, arguments):
            return type(self).forward(self, *args, **kwargs)
        outputs = getattr(self, self.base_model_prefix)(
            **{name: a for name, a in arguments.items() if name not in NOT_FOR_THE_DECODER}
        )
        result = output(
            loss=_loss(outputs.last_hidden_state, self.lm_head.weight, arguments),
            past_key_values=outputs.past_key_values,
            hidden_states=outputs.hidden_states,
            attentions=outputs.attentions,
            **{name: outputs[name] for name in ("cross_attentions",) if name in outputs},
        )
        as_dict = arguments.get("return_dict")
        if as_dict is None:
            as_dict = self.config.return_dict
        return result if as_dict else result.to_tuple()

    # accelerate takes off its wrappers as long as it finds this; it shall not take off coda's.
    stock = forward.__dict__.pop("__wrapped__")
    forward.__dict__["__signature__"] = inspect.signature(stock)
    return forward


def _fits(model: Any, arguments: dict[str, Any]) -> bool:
    labels = arguments.get("labels")
    if labels is None or not model.training or not _keeps_all(arguments.get("logits_to_keep", 0)):
        return False
    patched: PatchedHead | None = model._coda_patch  # None: Patched
    if patched is None or patched.options.few(labels.numel(), labels.device) or not patched.fits():
        return False
    weight = model.lm_head.weight
    reason = unusable_call(weight, weight)
    return reason is None or patched.refuse(reason)


def _keeps_all(logits_to_keep: Any) -> bool:
    return isinstance(logits_to_keep, int) and logits_to_keep == 0


def _loss(hidden: Tensor, weight: Tensor, arguments: dict[str, Any]) -> Any:
    """ForCausalLMLoss: every token's hidden state [B, T, h] predicts the next label."""
    ignored = arguments.get("ignore_index", -100)
    labels = arguments.get("shift_labels")
    if labels is None:
        labels = F.pad(arguments["labels"], (0, 1), value=ignored)[..., 1:]
    labels = labels.to(hidden.device).reshape(-1)
    items = arguments.get("num_items_in_batch")
    loss = linear_cross_entropy(
        hidden.reshape(-1, hidden.shape[-1]),
        weight,
        labels,
        ignore_index=ignored,
        reduction="mean" if items is None else "sum",
    )
    if items is None:
        return loss
    return loss / (items.to(loss.device) if isinstance(items, Tensor) else items)
