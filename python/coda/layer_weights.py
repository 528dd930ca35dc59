"""What both halves of a layer do with their parameters.

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
    return [None if p is None else p.to(like.dtype) for p in parameters]


def weight_gradients(
    dz: Sequence[Tensor], x: Tensor, weights: Sequence[Tensor], needed: Sequence[bool]
) -> list[Tensor | None]:
    """Gradients of the weights [N_i, K] that need one, from one GEMM, as rows of its result."""
    wanted = [i for i in range(len(weights)) if needed[i]]
    gradients: list[Tensor | None] = [None] * len(weights)
    if not wanted:
        return gradients
    stacked = ops.linear_weight_grad([dz[i] for i in wanted], x, weights[wanted[0]].dtype)
    rows = stacked.split([weights[i].shape[0] for i in wanted])
    for i, gradient in zip(wanted, rows):
        gradients[i] = gradient.to(weights[i].dtype)
    return gradients
