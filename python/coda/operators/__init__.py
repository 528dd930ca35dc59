"""`torch.ops.coda.*`: the catalogue's operations on PyTorch tensors, CPU and CUDA.

Every operator is functional, has a fake kernel and a gradient, and runs on the current stream.
An output that was not asked for is an empty tensor of shape [0].
"""

from coda.operators import linear, linear_weight_grad

__all__ = ["linear", "linear_weight_grad"]
