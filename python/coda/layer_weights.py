"""What the functions of a layer's halves share, above all what they do with their parameters.

They are saved as they are and cast again in backward, so that a copy in the type of the computation
never outlives a call. Only those gradients are computed that somebody asked for: a frozen weight
costs no GEMM.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

ops = torch.ops.coda


def cast(parameters: Sequence[Tensor | None], like: Tensor) -> list[Any]:
    """The parameters in the type of `like`."""
    kind = like.dtype
    return [p if p is None or p.dtype == kind else p.to(kind) for p in parameters]


def as_type_of(parameter: Tensor, gradient: Tensor) -> Tensor:
    """A gradient in its parameter's type."""
    return gradient if gradient.dtype == parameter.dtype else gradient.to(parameter.dtype)


def weight_gradients(
    dz: Sequence[Tensor], x: Tensor, weights: Sequence[Tensor], needed: Sequence[bool]
) -> list[Tensor | None]:
    """Gradients of the weights [N_i, K] that need one, from one GEMM, as rows of its result."""
    wanted = [i for i in range(len(weights)) if needed[i]]
    gradients: list[Tensor | None] = [None] * len(weights)
    if not wanted:
        return gradients
    kinds = [weights[i].dtype for i in wanted]
    stacked = ops.linear_weight_grad([dz[i] for i in wanted], x, gradient_type(x, *kinds))
    rows = [weights[i].shape[0] for i in wanted]
    for i, gradient in zip(wanted, stacked.split(rows) if len(rows) > 1 else [stacked]):
        gradients[i] = as_type_of(weights[i], gradient)
    return gradients


def gradient_type(x: Tensor, *kinds: torch.dtype) -> torch.dtype:
    """What linear_weight_grad of x gives, for weights of these types to be rounded to once."""
    return x.dtype if all(kind == x.dtype for kind in kinds) else torch.float32


def keep_from_autograd(ctx: Any, *made: Tensor) -> None:
    """Marks outputs that follow from others and from parameters: the function that takes them
    gives the whole gradient of these."""
    ctx.mark_non_differentiable(*made)
    if not torch.compiler.is_compiling():  # which makes none, and does not know this method
        ctx.set_materialize_grads(False)  # no zeros [M, h] for each of them
