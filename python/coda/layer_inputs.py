"""The first half of a decoder layer, up to attention: F4, B0 to B2 of docs/training.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from coda.differentiable_once import differentiable_once
from coda.layer_weights import as_type_of, cast, weight_gradients

ops = torch.ops.coda


def project_and_rotate(
    scaled: Tensor,
    squares: Tensor,
    parameters: Sequence[Any],
    tables: Sequence[Tensor],
    width: int,
    head_dim: int,
    epsilon: float,
    norm_epsilon: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """linear_rope: (q, k, v, zq, zk) of x⊙γ [M, h], h being `width`.

    parameters: weights, biases of q, k, v; norms of q, k. tables: positions, cos, sin.
    """
    q_weight, k_weight, v_weight, q_bias, k_bias, v_bias, q_norm, k_norm = parameters
    positions, cos, sin = tables
    norm = (squares, epsilon, width)
    # By position: names take PyTorch 2 µs more.
    return ops.linear_rope(
        scaled, q_weight, k_weight, v_weight, head_dim, positions, cos, sin, None, *norm,
        q_bias, k_bias, v_bias, q_norm, k_norm, norm_epsilon,
    )  # fmt: skip


class AttentionInputs(torch.autograd.Function):
    """(q, k, v, x) of x: norm_inputs where x⊙γ and Σx² are not given, linear_rope."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        gamma: Tensor,
        q_weight: Tensor,
        k_weight: Tensor,
        v_weight: Tensor,
        q_bias: Tensor | None,
        k_bias: Tensor | None,
        v_bias: Tensor | None,
        q_norm: Tensor | None,
        k_norm: Tensor | None,
        positions: Tensor,
        cos: Tensor,
        sin: Tensor,
        scaled: Tensor | None,
        squares: Tensor | None,
        width: int,
        head_dim: int,
        epsilon: float,
        norm_epsilon: float,
        recompute: str,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        parameters = (q_weight, k_weight, v_weight, q_bias, k_bias, v_bias, q_norm, k_norm)
        tables = (positions, cos, sin)
        numbers = (width, head_dim, epsilon, norm_epsilon)
        if scaled is None or squares is None:
            scaled, squares = ops.norm_inputs(x, *cast([gamma], x))
        q, k, v, zq, zk = project_and_rotate(scaled, squares, cast(parameters, x), tables, *numbers)
        normed = q_norm is not None
        ctx.save_for_backward(
            x,
            gamma,
            *parameters,
            *tables,
            squares,
            zq if normed else q,
            zk if normed else k,
            v,
            scaled if recompute == "nothing" else None,
        )
        ctx.numbers = numbers
        return q, k, v, x

    @staticmethod
    @differentiable_once
    def backward(ctx: Any, tensors: Any, dq: Tensor, dk: Tensor, dv: Tensor, dx_in: Tensor) -> Any:
        x, gamma, *rest = tensors
        parameters, tables = rest[:8], rest[8:11]
        squares, q, k, v, scaled = rest[11:]
        width, head_dim, epsilon, norm_epsilon = ctx.numbers
        needs = ctx.needs_input_grad
        norm, *typed = cast([gamma, *parameters], x)
        positions, cos, sin = tables
        norm_values = (squares, epsilon, width)
        dzq, dzk, dzv, dots, *small = ops.rope_backward(
            dq, dk, dv, q, k, v, head_dim, positions, *norm_values, cos, sin, None, *typed[3:8],
            norm_epsilon,
        )  # fmt: skip
        dz = [dzq, dzk, dzv]
        dx: Any = None
        dgamma: Any = None
        again = scaled is None and any(needs[2:5])
        if needs[0] or needs[1]:
            dx, made, dgamma = ops.linear_norm_backward(
                dz, typed[:3], x, squares, epsilon, dots, dx_in, norm, again
            )
            scaled = made if again else scaled
        elif again:
            scaled, _ = ops.norm_inputs(x, norm)
        dweights = weight_gradients(dz, scaled, parameters[:3], needs[2:5])
        dsmall = [
            as_type_of(parameter, gradient) if needed else None
            for gradient, parameter, needed in zip(small, parameters[3:], needs[5:10])
        ]
        return (
            dx if needs[0] else None,
            as_type_of(gamma, dgamma) if needs[1] else None,
            *dweights,
            *dsmall,
            *([None] * 10),
        )
