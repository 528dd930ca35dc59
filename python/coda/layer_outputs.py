"""The second half of a decoder layer, from attention on: F1 to F3, B3 to B7 of docs/training.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from coda.differentiable_once import differentiable_once
from coda.layer_weights import as_type_of, cast, keep_from_autograd, weight_gradients

ops = torch.ops.coda


def mlp(
    x: Tensor,
    scaled: Tensor,
    squares: Tensor,
    weights: Sequence[Tensor],
    width: int,
    epsilon: float,
    activation: str,
    keep: bool,
    next_gamma: Tensor | None = None,
) -> tuple[tuple[Tensor, Any, Any], Tensor, Tensor, Tensor]:
    """((x2, x2⊙γ', Σx2²), gate, up, a) of x⊙γ [M, h], x2 = x + down(a) and γ' the next norm's.

    h is `width`. Without γ' there is only x2; gate and up are None where not kept.
    """
    gate_weight, up_weight, down_weight = weights
    a, gate, up = ops.linear_swiglu(
        scaled, gate_weight, up_weight, squares, epsilon, width, activation, keep
    )
    if next_gamma is None:
        return (ops.linear(a, down_weight, c=x), None, None), gate, up, a
    return ops.linear_residual_norm(a, down_weight, x, next_gamma, None), gate, up, a


def mlp_backward(
    dx2: Tensor,
    x: Tensor,
    saved: Sequence[Any],
    gamma: Tensor,
    weights: Sequence[Tensor],
    epsilon: float,
    activation: str,
    needs: Sequence[bool],
) -> tuple[Tensor, Tensor, list[Tensor | None]]:
    """(dx, dgamma, gradients of gate, up and down), x [M, h] being the stream before the norm.

    saved: squares, gate, up, and x⊙γ and the activation or None. needs: of the weights.
    """
    squares, gate, up, scaled, a = saved
    norm, gate_weight, up_weight, down_weight = cast([gamma, *weights], x)
    again = a is None and needs[2]
    dgate, dup, made, dots = ops.linear_swiglu_backward(
        dx2, down_weight, gate, up, squares, epsilon, x.shape[1], activation, again
    )
    (ddown,) = weight_gradients([dx2], made if again else a, weights[2:], needs[2:])
    again = scaled is None and (needs[0] or needs[1])
    dx, made, dgamma = ops.linear_norm_backward(
        [dgate, dup],
        [gate_weight, up_weight],
        x,
        squares,
        epsilon,
        dots,
        dx2,
        norm,
        again,
    )
    dpair = weight_gradients([dgate, dup], made if again else scaled, weights[:2], needs[:2])
    return dx, as_type_of(gamma, dgamma), [*dpair, ddown]


class AttentionOutputs(torch.autograd.Function):
    """x2 of y and x: linear_residual_norm, linear_swiglu, linear or linear_residual_norm."""

    @staticmethod
    def forward(
        ctx: Any,
        y: Tensor,
        x: Tensor,
        o_weight: Tensor,
        o_bias: Tensor | None,
        gamma: Tensor,
        gate_weight: Tensor,
        up_weight: Tensor,
        down_weight: Tensor,
        next_gamma: Tensor | None,
        width: int,
        epsilon: float,
        activation: str,
        recompute: str,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        parameters = (o_weight, o_bias, gamma, gate_weight, up_weight, down_weight)
        o, bias, norm, *weights = cast(parameters, x)
        x1, scaled, squares = ops.linear_residual_norm(y, o, x, norm, bias)
        keep = recompute != "block"
        outputs, gate, up, a = mlp(
            x1, scaled, squares, weights, width, epsilon, activation, keep, next_gamma
        )
        made: tuple[Tensor | None, ...]
        if recompute == "block":
            made = (x, None, None, None, None, None)
        elif recompute == "activation":
            made = (x1, squares, gate, up, None, None)
        else:
            made = (x1, squares, gate, up, scaled, a)
        ctx.save_for_backward(y, *parameters, *made)
        ctx.options = (epsilon, activation)
        if next_gamma is not None:
            keep_from_autograd(ctx, *outputs[1:])
        return outputs

    @staticmethod
    @differentiable_once
    def backward(ctx: Any, tensors: Any, dx2: Tensor, *_: None) -> Any:
        y, o_weight, o_bias, gamma, *rest = tensors
        weights, x1, saved = rest[:3], rest[3], rest[4:]
        epsilon, activation = ctx.options
        needs = ctx.needs_input_grad
        o, bias, norm, gate_weight, up_weight = cast([o_weight, o_bias, gamma, *weights[:2]], x1)
        if saved[0] is None:  # of the forward only x was kept
            x1, scaled, squares = ops.linear_residual_norm(y, o, x1, norm, bias)
            a, gate, up = ops.linear_swiglu(
                scaled, gate_weight, up_weight, squares, epsilon, x1.shape[1], activation, True
            )
            saved = (squares, gate, up, scaled, a)
        dx1, dgamma, dweights = mlp_backward(
            dx2, x1, saved, gamma, weights, epsilon, activation, needs[5:8]
        )
        dy = ops.linear(dx1, o.t()) if needs[0] else None
        (do_weight,) = weight_gradients([dx1], y, [o_weight], needs[2:3])
        do_bias = None
        if needs[3]:
            do_bias = dx1.sum(0, dtype=torch.float32).to(o_bias.dtype)
        return (
            dy,
            dx1 if needs[1] else None,
            do_weight,
            do_bias,
            dgamma if needs[4] else None,
            *dweights,
            *([None] * 5),
        )


class GatedMlp(torch.autograd.Function):
    """x + mlp(rms(x)): norm_inputs, linear_swiglu, linear."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        gamma: Tensor,
        gate_weight: Tensor,
        up_weight: Tensor,
        down_weight: Tensor,
        width: int,
        epsilon: float,
        activation: str,
        recompute: str,
    ) -> Tensor:
        parameters = (gamma, gate_weight, up_weight, down_weight)
        norm, *weights = cast(parameters, x)
        scaled, squares = ops.norm_inputs(x, norm)
        keep = recompute != "block"
        (out, _, _), gate, up, a = mlp(
            x, scaled, squares, weights, width, epsilon, activation, keep
        )
        made: tuple[Tensor | None, ...]
        if recompute == "block":
            made = (None, None, None, None, None)
        elif recompute == "activation":
            made = (squares, gate, up, None, None)
        else:
            made = (squares, gate, up, scaled, a)
        ctx.save_for_backward(x, *parameters, *made)
        ctx.options = (epsilon, activation)
        return out

    @staticmethod
    @differentiable_once
    def backward(ctx: Any, tensors: Any, dout: Tensor) -> Any:
        x, gamma, *rest = tensors
        weights, saved = rest[:3], rest[3:]
        epsilon, activation = ctx.options
        needs = ctx.needs_input_grad
        if saved[0] is None:
            norm, gate_weight, up_weight = cast([gamma, *weights[:2]], x)
            scaled, squares = ops.norm_inputs(x, norm)
            a, gate, up = ops.linear_swiglu(
                scaled, gate_weight, up_weight, squares, epsilon, x.shape[1], activation, True
            )
            saved = (squares, gate, up, scaled, a)
        dx, dgamma, dweights = mlp_backward(
            dout, x, saved, gamma, weights, epsilon, activation, needs[2:5]
        )
        return (dx if needs[0] else None, dgamma if needs[1] else None, *dweights, *([None] * 4))
