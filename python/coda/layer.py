"""The two halves of a decoder layer as autograd functions: up to attention, and from it on.

A layer is x1 = x + attention(rms(x)) Woᵀ, x2 = x1 + mlp(rms(x1)). attention_inputs() makes q, k and
v of x and hands x on, attention_outputs() makes x2 of the attention's output y and of x; the
attention between them is the caller's. What the next layer's norm needs of x2 can be made with it,
by the same GEMM, and given to the next attention_inputs(). Because x goes through the first half,
the gradient of the residual stream comes into its backward and is added in the epilogue of the last
GEMM. gated_mlp() is the second half without the projection of y.

Shapes: M tokens, h the width of the stream, F that of the MLP. x is [M, h], weights are [out, in]
as checkpoints have them, norms' weights are [h]. The computation runs in x's type, or in that of
torch.autocast where it is on; parameters of another type are cast, and their gradients come in
their own type.
"""

from __future__ import annotations

import torch
from torch import Tensor

from coda.layer_inputs import AttentionInputs, project_and_rotate
from coda.layer_outputs import AttentionOutputs, GatedMlp, mlp
from coda.layer_weights import cast

ops = torch.ops.coda

NormInputs = tuple[Tensor, Tensor]  # x⊙γ [M, h] and Σx² [⌈h/64⌉, M], as norm_inputs gives them

# What backward makes again instead of finding it saved: nothing; x⊙γ and the activation, in
# epilogues that run anyway; or all but the inputs of a half, whose forward then runs twice.
RECOMPUTE = ("nothing", "activation", "block")


def attention_inputs(
    x: Tensor,
    gamma: Tensor,
    q_weight: Tensor,
    k_weight: Tensor,
    v_weight: Tensor,
    *,
    head_dim: int,
    epsilon: float,
    positions: Tensor,
    cos: Tensor,
    sin: Tensor,
    q_bias: Tensor | None = None,
    k_bias: Tensor | None = None,
    v_bias: Tensor | None = None,
    q_norm: Tensor | None = None,
    k_norm: Tensor | None = None,
    norm_epsilon: float = 0.0,
    norm_inputs: NormInputs | None = None,
    recompute: str = "activation",
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """RMSNorm, the projections to q, k and v, and RoPE: (q, k, v, x) of x.

    Args:
        x: [M, h], the residual stream.
        gamma: [h], weight of the norm, whose epsilon is `epsilon`.
        q_weight: [Hq·d, h]; k_weight, v_weight: [Hkv·d, h]; their biases: [Hq·d] and [Hkv·d].
        head_dim: d.
        positions: [M], int64, the row of `cos` and `sin`, [rows, d/2], of every token.
        q_norm, k_norm: [d], weights of norms of every head before RoPE, with `norm_epsilon`.
        norm_inputs: what attention_outputs() gave with x, `gamma` being its `next_gamma`; else
            x is read once more for it.
        recompute: one of RECOMPUTE.

    Returns:
        q [M, Hq·d], k and v [M, Hkv·d], and x [M, h] to give to attention_outputs().
    """
    check_options(recompute, epsilon, norm_epsilon)
    if wants_gradient(cos, sin):
        raise ValueError(
            "coda: cos or sin wants a gradient, which RoPE here does not give: detach()"
        )
    x = to_compute_type(x)
    tables = (positions, *cast((cos, sin), x))
    parameters = (gamma, q_weight, k_weight, v_weight, q_bias, k_bias, v_bias, q_norm, k_norm)
    # The width is read here: in an autograd function dynamo takes it for a result (PyTorch 2.11).
    numbers = (x.shape[1], head_dim, epsilon, norm_epsilon)
    scaled, squares = norm_inputs or (None, None)
    if records(x, *parameters):
        return AttentionInputs.apply(x, *parameters, *tables, scaled, squares, *numbers, recompute)
    norm, *others = cast(parameters, x)
    if scaled is None or squares is None:
        scaled, squares = ops.norm_inputs(x, norm)
    q, k, v, _, _ = project_and_rotate(scaled, squares, others, tables, *numbers)
    return q, k, v, x


def attention_outputs(
    y: Tensor,
    x: Tensor,
    o_weight: Tensor,
    gamma: Tensor,
    gate_weight: Tensor,
    up_weight: Tensor,
    down_weight: Tensor,
    *,
    epsilon: float,
    o_bias: Tensor | None = None,
    activation: str = "silu",
    next_gamma: Tensor | None = None,
    recompute: str = "activation",
) -> tuple[Tensor, NormInputs | None]:
    """The projection of attention's output onto the stream, and the gated MLP behind its RMSNorm.

    Args:
        y: [M, Hq·d], what attention gave.
        x: [M, h], as attention_inputs() handed it on.
        o_weight: [h, Hq·d]; o_bias: [h].
        gamma: [h], weight of the norm, whose epsilon is `epsilon`.
        gate_weight, up_weight: [F, h]; down_weight: [h, F].
        activation: "silu", "gelu", "gelu_tanh" or "relu", of the gate.
        next_gamma: [h], weight of the next layer's first norm.
        recompute: one of RECOMPUTE.

    Returns:
        x2 [M, h], the next layer's x, and with `next_gamma` what its attention_inputs() takes as
        `norm_inputs`. Gradients flow through x2 alone: those of `next_gamma` come from there too.
    """
    check_options(recompute, epsilon)
    x = to_compute_type(x)
    y = y.to(x.dtype)
    parameters = (o_weight, o_bias, gamma, gate_weight, up_weight, down_weight)
    (next_norm,) = cast([None if next_gamma is None else next_gamma.detach()], x)
    if records(x, y, *parameters):
        outputs = AttentionOutputs.apply(
            y, x, *parameters, next_norm, x.shape[1], epsilon, activation, recompute
        )
    else:
        o, bias, norm, *weights = cast(parameters, x)
        x1, scaled, squares = ops.linear_residual_norm(y, o, x, norm, bias)
        numbers = (x.shape[1], epsilon)
        outputs, *_ = mlp(x1, scaled, squares, weights, *numbers, activation, False, next_norm)
    return outputs[0], None if next_norm is None else outputs[1:]


def gated_mlp(
    x: Tensor,
    gamma: Tensor,
    gate_weight: Tensor,
    up_weight: Tensor,
    down_weight: Tensor,
    *,
    epsilon: float,
    activation: str = "silu",
    recompute: str = "activation",
) -> Tensor:
    """x + down(f(gate(n))·up(n)) with n the RMSNorm of x: [M, h] of [M, h].

    Arguments as those of attention_outputs().
    """
    check_options(recompute, epsilon)
    x = to_compute_type(x)
    parameters = (gamma, gate_weight, up_weight, down_weight)
    if records(x, *parameters):
        return GatedMlp.apply(x, *parameters, x.shape[1], epsilon, activation, recompute)
    norm, *weights = cast(parameters, x)
    scaled, squares = ops.norm_inputs(x, norm)
    return mlp(x, scaled, squares, weights, x.shape[1], epsilon, activation, keep=False)[0][0]


def check_options(recompute: str, *epsilons: float) -> None:
    # Also so that dynamo has read these numbers before an autograd function does: where they are
    # dynamic, it fails on one that two functions share and nobody read before (PyTorch 2.13).
    for epsilon in epsilons:
        if epsilon < 0:
            raise ValueError(f"coda: a norm's epsilon is {epsilon}, expected 0 or more")
    if recompute not in RECOMPUTE:
        expected = ", ".join(repr(policy) for policy in RECOMPUTE)
        raise ValueError(f"coda: recompute is {recompute!r}, expected one of {expected}")


def compute_type(x: Tensor) -> torch.dtype:
    device = x.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype


def to_compute_type(x: Tensor) -> Tensor:
    return x.to(compute_type(x))


def records(x: Tensor, *others: Tensor | None) -> bool:
    """Whether a half of a layer that computes in x's type is recorded for a backward pass."""
    if not wants_gradient(x, *others):
        return False
    if x.dtype == torch.float16:
        raise TypeError(
            "coda: a layer in torch.float16 has no gradients, which would underflow: use "
            "torch.bfloat16, or torch.autocast to it"
        )
    return True


def wants_gradient(*tensors: Tensor | None) -> bool:
    return torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)
