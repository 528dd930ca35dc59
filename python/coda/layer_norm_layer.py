"""The two halves of a decoder layer with LayerNorm, biases and an MLP without a gate, as GPT-2's.

x1 = x + attention(c_attn(ln(x))) Wo + bo, x2 = x1 + f(ln(x1) W1 + b1) W2 + b2. Like coda.layer's
functions: the attention between the halves is the caller's, x goes through the first half, so that
the gradient of the residual stream is added in the epilogue of its last GEMM.

Shapes: M tokens, h the width of the stream, F that of the MLP. Weights are [in, out], as GPT-2's
checkpoints have them, read in place; biases and norms' weights are vectors. A norm's mean and row
factor are applied behind the GEMM that takes x⊙γ: r·(x⊙γ W − μ·γW) + βW + b.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from coda.differentiable_once import differentiable_once
from coda.layer import NormInputs, check_options, records, to_compute_type
from coda.layer_weights import as_type_of, cast, gradient_type, keep_from_autograd

ops = torch.ops.coda


def layer_norm_linear(
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    weight: Tensor,
    bias: Tensor,
    *,
    epsilon: float,
    norm_inputs: NormInputs | None = None,
) -> tuple[Tensor, Tensor]:
    """A LayerNorm and the linear layer behind it, the projection to q, k and v say: (z, x) of x.

    Args:
        x: [M, h], the residual stream.
        gamma, beta: [h], weight and bias of the norm, whose epsilon is `epsilon`.
        weight: [h, N]; bias: [N].
        norm_inputs: what layer_norm_outputs() gave with x, `gamma` being its `next_gamma`; else
            x is read once more for it.

    Returns:
        z [M, N], and x [M, h] to give to layer_norm_outputs().
    """
    check_options("nothing", epsilon)
    x = to_compute_type(x)
    parameters = (gamma, beta, weight, bias)
    scaled, moments = norm_inputs or (None, None)
    if records(x, *parameters):
        return LayerNormLinear.apply(x, *parameters, scaled, moments, epsilon)
    norm, shift, *linear = cast(parameters, x)
    if scaled is None or moments is None:
        scaled, moments = ops.layer_norm_inputs(x, norm)
    behind = columns_behind(norm, shift, linear[0])
    return ops.linear_activation(scaled, linear[0].t(), linear[1], moments, epsilon, *behind)[0], x


def layer_norm_outputs(
    y: Tensor,
    x: Tensor,
    o_weight: Tensor,
    o_bias: Tensor,
    gamma: Tensor,
    beta: Tensor,
    up_weight: Tensor,
    up_bias: Tensor,
    down_weight: Tensor,
    down_bias: Tensor,
    *,
    epsilon: float,
    activation: str = "gelu_tanh",
    next_gamma: Tensor | None = None,
    recompute: str = "activation",
) -> tuple[Tensor, NormInputs | None]:
    """The projection of attention's output onto the stream, and the MLP behind its LayerNorm.

    Args:
        y: [M, n], what attention gave.
        x: [M, h], as layer_norm_linear() handed it on.
        o_weight: [n, h]; o_bias: [h].
        gamma, beta: [h], weight and bias of the norm, whose epsilon is `epsilon`.
        up_weight: [h, F]; up_bias: [F]; down_weight: [F, h]; down_bias: [h].
        activation: "gelu_tanh", "gelu", "silu" or "relu".
        next_gamma: [h], weight of the next layer's first norm.
        recompute: what backward makes again: "nothing", "activation" or "block" (coda.layer).

    Returns:
        x2 [M, h], the next layer's x, and with `next_gamma` what its layer_norm_linear() takes as
        `norm_inputs`. Gradients flow through x2 alone: those of `next_gamma` come from there too.
    """
    check_options(recompute, epsilon)
    x = to_compute_type(x)
    y = y.to(x.dtype)
    parameters = (
        o_weight, o_bias, gamma, beta, up_weight, up_bias, down_weight, down_bias
    )  # fmt: skip
    (next_norm,) = cast([None if next_gamma is None else next_gamma.detach()], x)
    if records(x, y, *parameters):
        outputs = LayerNormOutputs.apply(
            y, x, *parameters, next_norm, epsilon, activation, recompute
        )
    else:
        typed = cast(parameters, x)
        x1, a, _ = project_and_activate(y, x, typed, epsilon, activation, keep=False)
        outputs = add_onto(x1, a, typed, next_norm)
    return outputs[0], None if next_norm is None else outputs[1:]


def columns_behind(gamma: Tensor, beta: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """γW and βW [N], fp32, of weight [h, N]."""
    shift, offset = ops.linear(torch.stack((gamma, beta)), weight.t(), dtype=torch.float32)
    return shift, offset


def project_and_activate(
    y: Tensor, x: Tensor, parameters: list[Any], epsilon: float, activation: str, keep: bool
) -> tuple[Tensor, Tensor, tuple[Any, ...]]:
    """(x1, a, (moments, shift, offset, z)); parameters from o_weight on; z is None without keep."""
    o_weight, o_bias, gamma, beta, up_weight, up_bias = parameters[:6]
    x1, scaled, moments = ops.linear_residual_layer_norm(y, o_weight.t(), x, gamma, o_bias)
    shift, offset = columns_behind(gamma, beta, up_weight)
    a, z = ops.linear_activation(
        scaled, up_weight.t(), up_bias, moments, epsilon, shift, offset, activation, keep
    )
    return x1, a, (moments, shift, offset, z)


def add_onto(
    x1: Tensor, a: Tensor, parameters: list[Any], next_gamma: Tensor | None
) -> tuple[Tensor, Any, Any]:
    """(x2, x2⊙γ', its moments), x2 = x1 + a W2 + b2 and γ' the next norm's.

    Without γ' there is only x2, by the same operation: GPU kernels of linear have no bias beside c.
    """
    gamma, down_weight, down_bias = parameters[2], parameters[6], parameters[7]
    any_gamma = gamma if next_gamma is None else next_gamma
    x2, *made = ops.linear_residual_layer_norm(a, down_weight.t(), x1, any_gamma, down_bias)
    return (x2, None, None) if next_gamma is None else (x2, *made)


def weight_gradient(x: Tensor, dz: Tensor, weight: Tensor, needed: bool) -> Tensor | None:
    """xᵀ dz [in, out], in the weight's type."""
    if not needed:
        return None
    kind = gradient_type(dz, weight.dtype)
    return as_type_of(weight, ops.linear_weight_grad([x], dz, kind))


def vector_gradient(parameter: Tensor, gradient: Tensor | None, needed: bool) -> Tensor | None:
    return as_type_of(parameter, gradient) if needed and gradient is not None else None


class LayerNormLinear(torch.autograd.Function):
    """(z, x) of x: layer_norm_inputs where their results are not given, linear_activation."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        gamma: Tensor,
        beta: Tensor,
        weight: Tensor,
        bias: Tensor,
        scaled: Tensor | None,
        moments: Tensor | None,
        epsilon: float,
    ) -> tuple[Tensor, Tensor]:
        norm, norm_bias, w, b = cast((gamma, beta, weight, bias), x)
        if scaled is None or moments is None:
            scaled, moments = ops.layer_norm_inputs(x, norm)
        behind = columns_behind(norm, norm_bias, w)
        z, _ = ops.linear_activation(scaled, w.t(), b, moments, epsilon, *behind)
        ctx.save_for_backward(x, gamma, beta, weight, bias, moments, *behind, z)
        ctx.epsilon = epsilon
        return z, x

    @staticmethod
    @differentiable_once
    def backward(ctx: Any, tensors: Any, dz: Tensor, dx_in: Tensor) -> Any:
        x, gamma, beta, weight, bias, moments, shift, offset, z = tensors
        needs = ctx.needs_input_grad
        norm, norm_bias, w, b = cast((gamma, beta, weight, bias), x)
        dots, shifts, dbias = ops.layer_norm_sums(dz, z, shift, offset, b)
        dx = dgamma = dbeta = None
        normed: Any = None
        if any(needs[:4]):
            dx, normed, dgamma, dbeta, _ = ops.linear_layer_norm_backward(
                [dz], [w.t()], x, moments, ctx.epsilon, dots, shifts, norm, norm_bias, dx_in,
                needs[3], False,
            )  # fmt: skip
        return (
            dx if needs[0] else None,
            vector_gradient(gamma, dgamma, needs[1]),
            vector_gradient(beta, dbeta, needs[2]),
            weight_gradient(normed, dz, weight, needs[3]),
            vector_gradient(bias, dbias, needs[4]),
            *([None] * 3),
        )


class LayerNormOutputs(torch.autograd.Function):
    """x2 of y and x: linear_residual_layer_norm, linear_activation, linear_residual_layer_norm."""

    @staticmethod
    def forward(
        ctx: Any,
        y: Tensor,
        x: Tensor,
        o_weight: Tensor,
        o_bias: Tensor,
        gamma: Tensor,
        beta: Tensor,
        up_weight: Tensor,
        up_bias: Tensor,
        down_weight: Tensor,
        down_bias: Tensor,
        next_gamma: Tensor | None,
        epsilon: float,
        activation: str,
        recompute: str,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        parameters = (
            o_weight, o_bias, gamma, beta, up_weight, up_bias, down_weight, down_bias
        )  # fmt: skip
        typed = cast(parameters, x)
        keep = recompute != "block"
        x1, a, made = project_and_activate(y, x, typed, epsilon, activation, keep)
        if not keep:
            saved: tuple[Any, ...] = (x, None, None, None, None, None)
        else:
            saved = (x1, *made, a if recompute == "nothing" else None)
        ctx.save_for_backward(y, *parameters, *saved)
        ctx.options = (epsilon, activation)
        outputs = add_onto(x1, a, typed, next_gamma)
        if next_gamma is not None:
            keep_from_autograd(ctx, *outputs[1:])
        return outputs

    @staticmethod
    @differentiable_once
    def backward(ctx: Any, tensors: Any, dx2: Tensor, *_: None) -> Any:
        y, *rest = tensors
        parameters, x1, (moments, shift, offset, z, a) = rest[:8], rest[8], rest[9:]
        epsilon, activation = ctx.options
        needs = ctx.needs_input_grad
        typed = cast(parameters, x1)
        if z is None:  # of the forward only x was kept
            x1, a, (moments, shift, offset, z) = project_and_activate(
                y, x1, typed, epsilon, activation, True
            )
        o_weight, _, gamma, beta, up_weight, up_bias, down_weight, _ = typed
        again = a is None and needs[8]
        dz, made, dots, shifts, dup_bias = ops.linear_activation_backward(
            dx2, down_weight.t(), z, shift, offset, up_bias, activation, again
        )
        ddown = weight_gradient(made if again else a, dx2, parameters[6], needs[8])
        dx1, normed, dgamma, dbeta, do_bias = ops.linear_layer_norm_backward(
            [dz], [up_weight.t()], x1, moments, epsilon, dots, shifts, gamma, beta, dx2, needs[6],
            needs[3],
        )  # fmt: skip
        ddown_bias = dx2.sum(0, dtype=torch.float32) if needs[9] else None
        return (
            ops.linear(dx1, o_weight) if needs[0] else None,
            dx1 if needs[1] else None,
            weight_gradient(y, dx1, parameters[0], needs[2]),
            vector_gradient(parameters[1], do_bias, needs[3]),
            vector_gradient(parameters[2], dgamma, needs[4]),
            vector_gradient(parameters[3], dbeta, needs[5]),
            weight_gradient(normed, dz, parameters[4], needs[6]),
            vector_gradient(parameters[5], dup_bias, needs[7]),
            ddown,
            vector_gradient(parameters[7], ddown_bias, needs[9]),
            *([None] * 4),
        )
