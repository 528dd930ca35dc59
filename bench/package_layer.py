"""The layer without attention as the PyTorch package has it: the second half of a decoder layer and
the first half of the next (coda.layer), each an autograd function, on the tensors of a checkpoint.
And with Liger's operators, for torch_layer.TorchLayer.
"""

import torch
import torch.nn.functional as F
from torch_layer import EPSILON, Rotation, Shape, Tensors

from coda.layer import attention_inputs, attention_outputs


class PackageLayer:
    """Like torch_layer.TorchLayer: `forward` keeps what `backward` then uses up."""

    def __init__(self, shape: Shape, t: Tensors, rotation: Rotation, incoming: tuple):
        gate, up = t.gate_up.split(shape.ffn)
        q, k, v = t.qkv.split(shape.widths)
        parts = dict(y=t.y, x=t.x, wo=t.wo, gamma1=t.gamma1, gate=gate, up=up, wd=t.wd)
        parts |= dict(gamma2=t.gamma2, q=q, k=k, v=v)
        self.leaves = {name: p.detach().clone().requires_grad_() for name, p in parts.items()}
        count = int(rotation.positions.max()) + 1
        every = Rotation(rotation.inv_freq, torch.arange(count, device=t.x.device))
        cos, sin = (table[:, 0] for table in every.tables(t.x.dtype))  # [count, d/2]
        self.angles = dict(positions=rotation.positions, cos=cos, sin=sin, head_dim=shape.head_dim)
        self.incoming, self.outputs = incoming, None

    def run(self) -> tuple:
        """x2, q, k, v"""
        p = self.leaves
        weights = [p[name] for name in ("wo", "gamma1", "gate", "up", "wd")]
        x2, made = attention_outputs(
            p["y"], p["x"], *weights, epsilon=EPSILON, next_gamma=p["gamma2"]
        )
        weights = [p[name] for name in ("gamma2", "q", "k", "v")]
        q, k, v, x2 = attention_inputs(
            x2, *weights, epsilon=EPSILON, norm_inputs=made, **self.angles
        )
        return x2, q, k, v

    def forward(self) -> tuple:
        with torch.enable_grad():
            self.outputs = self.run()
        return self.outputs

    def backward(self) -> dict[str, torch.Tensor]:
        gradients = torch.autograd.grad(self.outputs, tuple(self.leaves.values()), self.incoming)
        self.outputs = None
        return dict(zip(self.leaves, gradients))

    def inference(self) -> None:
        with torch.no_grad():
            self.run()


def joined(gradients: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Under the names of torch_layer.Tensors."""
    whole = dict(gate_up=("gate", "up"), qkv=("q", "k", "v"))
    parts = {name for names in whole.values() for name in names}
    rest = {name: value for name, value in gradients.items() if name not in parts}
    return rest | {name: torch.cat([gradients[p] for p in names]) for name, names in whole.items()}


def liger_layer(t: Tensors, cos, sin, widths: tuple[int, int, int], head_dim: int):
    """GEMMs by PyTorch. ImportError where Liger is not installed."""
    from liger_kernel.ops.fused_add_rms_norm import LigerFusedAddRMSNormFunction as AddNorm
    from liger_kernel.ops.rope import LigerRopeFunction
    from liger_kernel.ops.swiglu import LigerFusedGateUpSiLUMulFunction

    n, x1 = AddNorm.apply(F.linear(t.y, t.wo), t.x, t.gamma1, EPSILON)
    mlp = F.linear(LigerFusedGateUpSiLUMulFunction.apply(F.linear(n, t.gate_up)), t.wd)
    n, x2 = AddNorm.apply(mlp, x1, t.gamma2, EPSILON)
    q, k, v = F.linear(n, t.qkv).split(widths, dim=-1)
    heads = [z.view(1, len(z), -1, head_dim).transpose(1, 2) for z in (q, k)]
    tables = [torch.cat((table, table), -1).transpose(0, 1) for table in (cos, sin)]  # [1, M, d]
    q, k = (z.transpose(1, 2).reshape(len(v), -1) for z in LigerRopeFunction.apply(*heads, *tables))
    return x2, q, k, v
