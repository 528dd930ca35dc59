"""`torch.ops.coda.*`: the catalogue's operations on PyTorch tensors, CPU and CUDA.

Every operator is functional, has a fake kernel, and runs on the current stream; those of a forward
pass have gradients, but for the parts of a LayerNorm that is applied behind the next GEMM
(coda.layer_norm_layer has them). An output that was not asked for is None.
"""

from coda.operators import (
    cross_entropy,
    embedding,
    finish_columns,
    fold_norm_weight,
    layer_norm,
    linear,
    linear_activation,
    linear_activation_backward,
    linear_input_grad,
    linear_layer_norm_backward,
    linear_norm_backward,
    linear_residual_layer_norm,
    linear_residual_norm,
    linear_rope,
    linear_swiglu,
    linear_swiglu_backward,
    linear_weight_grad,
    norm_inputs,
    optimizer,
    rope_backward,
    scale_gradient,
)

__all__ = [
    "cross_entropy",
    "embedding",
    "finish_columns",
    "fold_norm_weight",
    "layer_norm",
    "linear",
    "linear_activation",
    "linear_activation_backward",
    "linear_input_grad",
    "linear_layer_norm_backward",
    "linear_norm_backward",
    "linear_residual_layer_norm",
    "linear_residual_norm",
    "linear_rope",
    "linear_swiglu",
    "linear_swiglu_backward",
    "linear_weight_grad",
    "norm_inputs",
    "optimizer",
    "rope_backward",
    "scale_gradient",
]
