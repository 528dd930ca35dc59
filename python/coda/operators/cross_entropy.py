"""linear_cross_entropy: the loss of a language model's head on z = x Wᵀ, and its gradients.

z [M, V] never exists as a whole: with make_dx or make_dweight the gradients are made during the
forward, some rows of z at a time; else backward makes z again, some of its columns at a time.
"""

from typing import Any

import torch
from torch import Tensor

from coda import _native
from coda.operators import scale_gradient
from coda.operators.errors import DECLARED, Declared
from coda.operators.registration import define

LOSS, WITH_GRADIENTS, RECOMPUTE = 0, 1, 3  # of coda_cross_entropy_step
REDUCTIONS = {"none": 0, "sum": 1, "mean": 2}  # coda_loss_reduction
DEFAULT_LOGITS = 1 << 30  # that exist at a time: the fewer, the more often dweight is added to

# chunk: rows of z that exist at a time; 0: as many as have 2³⁰ elements.
OPTIONS = (
    'int ignore_index=-100, str reduction="mean", float z_loss=0., float label_smoothing=0., '
    "float softcap=0., int chunk=0"
)
SCHEMA = (
    f"linear_cross_entropy(Tensor x, Tensor weight, Tensor target, {OPTIONS}, "
    "bool make_dx=False, bool make_dweight=False) "
    "-> (Tensor loss, Tensor lse, Tensor dx, Tensor dweight)"
)
BACKWARD_SCHEMA = (
    "linear_cross_entropy_backward(Tensor dloss, Tensor x, Tensor weight, Tensor target, "
    f"Tensor lse, {OPTIONS}, bool make_dx=True, bool make_dweight=True) "
    "-> (Tensor dx, Tensor dweight)"
)
NAMES = {
    "soft_cap": "softcap", "smoothing": "label_smoothing", "chunk_rows": "chunk",
    "chunk_columns": "chunk",
}  # fmt: skip
DECLARED["linear_cross_entropy"] = Declared("linear_cross_entropy", NAMES)
DECLARED["linear_cross_entropy_backward"] = DECLARED["linear_cross_entropy"]
SHAPES = {"x": "[M, h]", "weight": "[V, h]", "target": "[M]"}


def rows_at_a_time(chunk: int, vocabulary: int) -> int:
    return chunk or max(DEFAULT_LOGITS // max(vocabulary, 1) // 64 * 64, 64)


def columns_at_a_time(chunk: int, rows: int, vocabulary: int) -> int:
    """As many logits as rows_at_a_time() lets exist, in whole groups of 128 columns."""
    logits = min(rows_at_a_time(chunk, vocabulary), rows) * vocabulary
    return max(-(-logits // max(rows, 1) // 128) * 128, 128)


def run(
    step: int,
    chunk: int,
    options: tuple[int, str, float, float, float],
    x: Tensor,
    weight: Tensor,
    target: Tensor,
    loss: Tensor | None,
    lse: Tensor,
    dloss: Tensor | None,
    dweight: Tensor | None,
    dx: Tensor | None,
) -> None:
    """A step of libcoda. options: from ignore_index to softcap."""
    ignore_index, reduction, z_loss, label_smoothing, softcap = options
    if reduction not in REDUCTIONS:
        raise ValueError(f"reduction: expected one of {list(REDUCTIONS)}, got {reduction!r}")
    if chunk < 0:
        raise ValueError(f"chunk: expected 0 or a number of rows, got {chunk}")
    if _native.pretending():  # numbers of rows may be symbols, which nobody should compare
        return
    if step == WITH_GRADIENTS:
        chunk = rows_at_a_time(chunk, weight.shape[0])
    elif step == RECOMPUTE:
        chunk = columns_at_a_time(chunk, x.shape[0], weight.shape[0])
    else:
        chunk = 0
    wanted = _native.cross_entropy_workspace_bytes(step, chunk, x, weight)
    workspace = x.new_empty(wanted // 8 + 32, dtype=torch.int64)  # 256 bytes for its alignment
    numbers = (step, REDUCTIONS[reduction], chunk, ignore_index, softcap, z_loss, label_smoothing)
    _native.run_cross_entropy(*numbers, x, weight, target, loss, lse, dloss, dweight, dx, workspace)


def linear_cross_entropy(
    x: Tensor,
    weight: Tensor,
    target: Tensor,
    ignore_index: int = -100,
    reduction: str = "mean",
    z_loss: float = 0.0,
    label_smoothing: float = 0.0,
    softcap: float = 0.0,
    chunk: int = 0,
    make_dx: bool = False,
    make_dweight: bool = False,
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """x [M, h], weight [V, h], target [M] -> loss [] or [M], lse [M], dx [M, h], dweight [V, h].

    dx and dweight are those of the loss itself; all are fp32 but for dx, which has x's type.
    """
    options = (ignore_index, reduction, z_loss, label_smoothing, softcap)
    lse = x.new_empty(x.shape[0], dtype=torch.float32)
    loss = x.new_empty(lse.shape if reduction == "none" else (), dtype=torch.float32)
    dx = x.new_empty(x.shape) if make_dx else None
    dweight = x.new_empty(weight.shape, dtype=torch.float32) if make_dweight else None
    step = WITH_GRADIENTS if make_dx or make_dweight else LOSS
    run(step, chunk, options, x, weight, target, loss, lse, None, dweight, dx)
    return loss, lse, dx, dweight


def linear_cross_entropy_backward(
    dloss: Tensor,
    x: Tensor,
    weight: Tensor,
    target: Tensor,
    lse: Tensor,
    ignore_index: int = -100,
    reduction: str = "mean",
    z_loss: float = 0.0,
    label_smoothing: float = 0.0,
    softcap: float = 0.0,
    chunk: int = 0,
    make_dx: bool = True,
    make_dweight: bool = True,
) -> tuple[Tensor | None, Tensor | None]:
    """dloss [] or [M] fp32, lse [M] of the forward -> dx [M, h], dweight [V, h], x's type."""
    options = (ignore_index, reduction, z_loss, label_smoothing, softcap)
    dx = x.new_empty(x.shape, dtype=torch.float32) if make_dx else None
    dweight = weight.new_empty(weight.shape, dtype=torch.float32) if make_dweight else None
    if make_dx or make_dweight:
        run(RECOMPUTE, chunk, options, x, weight, target, None, lse, dloss, dweight, dx)
    return (
        None if dx is None else dx.to(x.dtype),
        None if dweight is None else dweight.to(weight.dtype),
    )


def save(ctx: Any, output: Any, given: Any) -> None:
    _, lse, dx, dweight = output
    ctx.mark_non_differentiable(*(t for t in (lse, dx, dweight) if t is not None))
    ctx.options, ctx.made = given[3:9], (given.make_dx, given.make_dweight)  # chunk is the last
    later = [need and not made for need, made in zip(ctx.needs_input_grad[1:3], ctx.made)]
    inputs = (given.x, given.weight, given.target, lse)
    ctx.save_for_backward(dx, dweight, *(inputs if any(later) else ()))
    ctx.types = (given.x.dtype, given.weight.dtype)


def backward(ctx: Any, dloss: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
    """dloss [] or [M]."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            "coda::linear_cross_entropy has one derivative: its gradients are made with the loss "
            "and have none. Call backward without create_graph=True, or compute the loss with "
            "F.cross_entropy(F.linear(hidden, weight), target)."
        )
    dx, dweight, *inputs = ctx.saved_tensors
    needs = ctx.needs[:2]
    later = [need and not made for need, made in zip(needs, ctx.made)]
    gradients: list[Tensor | None] = [None, None]
    if any(later):
        made = backward_operator(dloss, *inputs, *ctx.options, *later)
        gradients = list(made)
    for i, (gradient, dtype) in enumerate(zip((dx, dweight), ctx.types)):
        if needs[i] and ctx.made[i]:
            gradients[i] = scale_gradient.operator(gradient, dloss, dtype)
    return (*gradients, *[None] * 9)


operator = define(SCHEMA, linear_cross_entropy, save, backward, shapes=SHAPES)
backward_operator = define(
    BACKWARD_SCHEMA, linear_cross_entropy_backward, shapes=SHAPES | {"lse": "[M]"}
)
