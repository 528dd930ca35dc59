"""square_sums, clip_factor and adamw: a step of the optimizer, from gradients to weights."""

from typing import Any

import torch
from torch import Tensor

from coda import _native
from coda.operators.registration import declare, define
from coda.operators.variants import NAMES

SQUARE_SUMS = declare("square_sums", "", "", "x", "sums")
CLIP_FACTOR = declare("clip_factor", "", "", "squares", "max_norm", "norm", "factor")
ADAMW = declare(
    "adamw", "", "", "master", "m", "v", "gradient", "rates", "clip", "weight", "gamma", "folded",
    "beta1", "beta2", "epsilon", "decay",
)  # fmt: skip
ADAMW_SCHEMA = (
    "adamw(Tensor master, Tensor m, Tensor v, Tensor gradient, Tensor rates, Tensor? clip=None, "
    "Tensor? gamma=None, float beta1=0.9, float beta2=0.999, float epsilon=1e-8, float decay=0., "
    "ScalarType? dtype=None) "
    "-> (Tensor master, Tensor m, Tensor v, Tensor weight, Tensor folded)"
)
AdamwOutputs = tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]


def square_sums(x: Tensor) -> Tensor:
    """x [N, K] fp32 -> Σ x² of every row [N], added up in fp64."""
    out = x.new_empty(x.shape[0])
    _native.run(SQUARE_SUMS, NAMES[x.dtype], x, out)
    return out


def save_square_sums(ctx: Any, output: Tensor, given: Any) -> None:
    ctx.save_for_backward(given.x)


def square_sums_backward(ctx: Any, dsums: Tensor) -> tuple[Any, ...]:
    (x,) = ctx.saved_tensors
    return (2 * x * dsums.unsqueeze(1),)


def clip_factor(squares: Tensor, max_norm: float) -> tuple[Tensor, Tensor]:
    """squares [n] fp32 -> norm = √Σ squares [1], factor = min(1, max_norm/(norm + 1e-6)) [1]."""
    norm, factor = squares.new_empty(1), squares.new_empty(1)
    _native.run(CLIP_FACTOR, NAMES[squares.dtype], squares, max_norm, norm, factor)
    return norm, factor


def adamw(
    master: Tensor,
    m: Tensor,
    v: Tensor,
    gradient: Tensor,
    rates: Tensor,
    clip: Tensor | None = None,
    gamma: Tensor | None = None,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    decay: float = 0.0,
    dtype: torch.dtype | None = None,
) -> AdamwOutputs:
    """master, m, v, gradient [N, K] fp32, rates [3] fp32 = (lr, 1/(1−β1ᵗ), 1/(1−β2ᵗ)), clip [1],
    gamma [K] -> master, m, v after the step; with dtype the weight rounded to it, with gamma
    folded = weight⊙γ of gamma's type. A clip that is not finite changes nothing."""
    element = dtype if dtype is not None else gamma.dtype if gamma is not None else torch.float32
    after = [t.clone(memory_format=torch.contiguous_format) for t in (master, m, v)]
    # What a step that changes nothing leaves.
    weight = None if dtype is None else after[0].to(dtype, copy=True)
    folded = None if gamma is None else after[0].to(element) * gamma
    _native.run(
        ADAMW, NAMES[element], *after, gradient, rates, clip, weight, gamma, folded, beta1, beta2,
        epsilon, decay,
    )  # fmt: skip
    return after[0], after[1], after[2], weight, folded


square_sums_operator = define(
    "square_sums(Tensor x) -> Tensor",
    square_sums,
    save_square_sums,
    square_sums_backward,
    shapes={"x": "[N, K]"},
)
clip_factor_operator = define(
    "clip_factor(Tensor squares, float max_norm) -> (Tensor norm, Tensor factor)",
    clip_factor,
    shapes={"squares": "[n]"},
)
adamw_operator = define(ADAMW_SCHEMA, adamw, shapes={"rates": "[3]", "gamma": "[K]"})
