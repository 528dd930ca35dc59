"""fold_norm_weight: a norm's weight folded into the linear layer behind it, W⊙γ."""

from typing import Any

from torch import Tensor

from coda import _native
from coda.operators.registration import declare, define
from coda.operators.variants import NAMES

SCHEMA = "fold_norm_weight(Tensor weight, Tensor gamma) -> Tensor"
HANDLE = declare("fold_norm_weight", "", "", "weight", "gamma", "out")


def fold_norm_weight(weight: Tensor, gamma: Tensor) -> Tensor:
    """weight [N, K], gamma [K] -> [N, K]."""
    out = weight.new_empty(weight.shape[0], weight.shape[1])
    _native.run(HANDLE, NAMES[weight.dtype], weight, gamma, out)
    return out


def save(ctx: Any, output: Tensor, given: Any) -> None:
    ctx.save_for_backward(given.weight, given.gamma)


def backward(ctx: Any, dout: Tensor) -> tuple[Any, ...]:
    weight, gamma = ctx.saved_tensors
    dweight = operator(dout, gamma) if ctx.needs[0] else None
    dgamma = (dout.float() * weight).sum(0).to(gamma.dtype) if ctx.needs[1] else None
    return dweight, dgamma


operator = define(SCHEMA, fold_norm_weight, save, backward, shapes={"gamma": "[K]"})
