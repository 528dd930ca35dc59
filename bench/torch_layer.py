"""The layer without attention in PyTorch: from the attention's output to the next q, k and v, with
gradients by autograd, and its bare GEMMs. Weights are joined (gate above up; q, k, v), which is
PyTorch's faster way; coda takes the parts, which are the tensors of a checkpoint.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F

EPSILON = 1e-6
HEAD_DIM = 128


@dataclass
class Shape:
    tokens: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    head_dim: int = HEAD_DIM

    @property
    def widths(self) -> tuple[int, int, int]:  # of q, k, v
        return tuple(n * self.head_dim for n in (self.heads, self.kv_heads, self.kv_heads))


def llama_shape(tokens: int, hidden: int) -> Shape:
    """A head for every 128 columns, F = 8h/3 up to a multiple of 256."""
    ffn = (hidden * 8 // 3 + 255) // 256 * 256
    return Shape(tokens, hidden, ffn, hidden // HEAD_DIM, hidden // HEAD_DIM)


@dataclass
class Tensors:
    """What the layer is given; gradients have the same names."""

    y: torch.Tensor  # [M, h]: of the attention
    x: torch.Tensor  # [M, h]: the residual stream
    wo: torch.Tensor  # [h, h]
    gate_up: torch.Tensor  # [2F, h]
    wd: torch.Tensor  # [h, F]
    qkv: torch.Tensor  # [(Hq + 2 Hkv) d, h]
    gamma1: torch.Tensor  # [h]
    gamma2: torch.Tensor  # [h]

    def items(self) -> dict[str, torch.Tensor]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def to(self, dtype: torch.dtype) -> "Tensors":
        return Tensors(**{name: t.detach().to(dtype) for name, t in self.items().items()})


@dataclass
class Rotation:
    inv_freq: torch.Tensor  # [d/2], fp32
    positions: torch.Tensor  # [M]

    def tables(self, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        angle = torch.outer(self.positions.to(torch.float64), self.inv_freq.to(torch.float64))
        return angle.cos().to(dtype)[:, None, :], angle.sin().to(dtype)[:, None, :]


def make_tensors(shape: Shape, device: str, zeros: bool, dtype=torch.bfloat16) -> Tensors:
    """In the regime `zeros` the activations are zero, and so is A of every GEMM."""
    M, h, ffn = shape.tokens, shape.hidden, shape.ffn

    def normal(*size, scale=1.0):
        return (torch.randn(*size, device=device) * scale).to(dtype)

    activation = torch.zeros if zeros else torch.randn
    attended = shape.heads * shape.head_dim
    return Tensors(
        y=activation(M, attended, device=device).to(dtype),
        x=activation(M, h, device=device).to(dtype),
        wo=normal(h, attended, scale=attended**-0.5),
        gate_up=normal(2 * ffn, h, scale=h**-0.5),
        wd=normal(h, ffn, scale=ffn**-0.5),
        qkv=normal(sum(shape.widths), h, scale=h**-0.5),
        gamma1=1 + normal(h, scale=0.25),
        gamma2=1 + normal(h, scale=0.25),
    )


def make_rotation(shape: Shape, device: str, sequence: int = 8192) -> Rotation:
    steps = torch.arange(0, shape.head_dim, 2, dtype=torch.float64) / shape.head_dim
    inv_freq = (10000.0**-steps).to(device, torch.float32)
    positions = torch.arange(shape.tokens, device=device, dtype=torch.int64) % sequence
    return Rotation(inv_freq, positions)


def make_gradients(shape: Shape, device: str, zeros: bool, dtype=torch.bfloat16) -> tuple:
    """Of x2, q, k and v."""
    make = torch.zeros if zeros else torch.randn
    columns = (shape.hidden, *shape.widths)
    return tuple(make(shape.tokens, n, device=device).to(dtype) for n in columns)


def rotate(t, cos, sin, head_dim: int):
    a, b = t.view(t.shape[0], -1, head_dim).chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).view(t.shape)


def layer(t: Tensors, cos, sin, widths: tuple[int, int, int], head_dim: int):
    x1 = t.y @ t.wo.t() + t.x
    gate, up = (F.rms_norm(x1, t.gamma1.shape, t.gamma1, EPSILON) @ t.gate_up.t()).chunk(2, dim=-1)
    x2 = (F.silu(gate) * up) @ t.wd.t() + x1
    z = F.rms_norm(x2, t.gamma2.shape, t.gamma2, EPSILON) @ t.qkv.t()
    q, k, v = z.split(widths, dim=-1)
    return x2, rotate(q, cos, sin, head_dim), rotate(k, cos, sin, head_dim), v


class TorchLayer:
    """`forward` keeps what `backward` then uses up."""

    def __init__(self, function, shape: Shape, t: Tensors, rotation: Rotation, incoming: tuple):
        dtype = t.x.dtype
        self.function = function
        self.tensors = Tensors(**{n: v.detach().requires_grad_() for n, v in t.items().items()})
        self.rest = (*rotation.tables(dtype), shape.widths, shape.head_dim)
        self.incoming = incoming
        self.outputs = None

    def forward(self):
        with torch.enable_grad():
            self.outputs = self.function(self.tensors, *self.rest)
        return self.outputs

    def backward(self) -> dict[str, torch.Tensor]:
        wanted = self.tensors.items()
        gradients = torch.autograd.grad(self.outputs, wanted.values(), self.incoming)
        self.outputs = None
        return dict(zip(wanted, gradients))

    def inference(self) -> None:
        with torch.no_grad():
            self.function(self.tensors, *self.rest)


def bare_gemms(shape: Shape, device: str, zeros: bool) -> dict[str, Callable[[], None]]:
    """The layer's GEMMs alone, of joined weights: Z = X Wᵀ, dX = dZ W and dW = dZᵀ X of each."""
    h, attended, make = (
        shape.hidden,
        shape.heads * shape.head_dim,
        torch.zeros if zeros else torch.randn,
    )
    calls = {"forward": [], "backward": []}
    for N, K in ((h, attended), (2 * shape.ffn, h), (h, shape.ffn), (sum(shape.widths), h)):
        x, dz = (make(shape.tokens, n, device=device).bfloat16() for n in (K, N))
        w = (torch.randn(N, K, device=device) * K**-0.5).bfloat16()
        z, dx, dw = (torch.empty_like(like) for like in (dz, x, w))
        calls["forward"].append((x, w.t(), z))
        calls["backward"] += [(dz, w, dx), (dz.t(), x, dw)]

    def run(listed):
        for a, b, out in listed:
            torch.mm(a, b, out=out)

    return {phase: lambda listed=listed: run(listed) for phase, listed in calls.items()}
