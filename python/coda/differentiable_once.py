"""Backward functions of layers, which have no derivative themselves and say so."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from coda.operators.autograd import tensors_of

Backward = Callable[..., Any]


def differentiable_once(backward: Backward) -> Backward:
    """The backward of an autograd function, of backward(ctx, tensors, *gradients) with its saved
    tensors: going back through its results is an error.

    Those of torch.autograd.function.once_differentiable do not hang on what backward read, so that
    torch.autograd.functional.hvp and its like, and allow_unused=True, find zeros there.
    """
    name = backward.__qualname__.partition(".")[0]

    @functools.wraps(backward)
    def run(ctx: Any, *gradients: Any) -> Any:
        if all(gradient is None for gradient in gradients):  # as of an output that nobody used
            return (None,) * len(ctx.needs_input_grad)
        saved = ctx.saved_tensors  # once: checkpoints give them no second time
        if torch.compiler.is_compiling():
            return backward(ctx, saved, *gradients)
        if any(map(torch._C._functorch.is_legacy_batchedtensor, tensors_of(gradients))):
            raise RuntimeError(
                f"coda: {name} takes one gradient at a time: call torch.autograd.grad without "
                "is_grads_batched=True (torch.autograd.functional: without vectorize=True)"
            )
        with torch.no_grad():
            made = backward(ctx, saved, *gradients)
        if not torch.is_grad_enabled():
            return made
        return Second.apply(name, made, *tensors_of((*saved, *gradients)))

    return run


class Second(torch.autograd.Function):
    """The gradients that a backward made, hanging on the tensors that it read."""

    @staticmethod
    def forward(ctx: Any, name: str, made: Sequence[Tensor | None], *tensors: Tensor) -> Any:
        ctx.name = name
        # Not as views of one tensor, which nobody could change in place.
        return tuple(None if gradient is None else gradient.detach() for gradient in made)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RuntimeError(
            f"coda: {ctx.name} has one derivative: call backward without create_graph=True, or run "
            "stock for a second one, after coda.unpatch(model)"
        )
