"""A model of the LLaMA family in plain PyTorch: what bench/train.py compares with."""

import gc
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

EPSILON, THETA = 1e-5, 500000.0


@dataclass(frozen=True)
class Config:
    layers: int
    hidden: int
    ffn: int
    heads: int
    kv_heads: int
    vocab: int

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def layer(c: Config, x, w: dict, cos, sin):
    batch, tokens, hidden = x.shape

    def heads(z: torch.Tensor, count: int) -> torch.Tensor:
        return z.view(batch, tokens, count, c.head_dim).transpose(1, 2)

    n = F.rms_norm(x, (hidden,), w["norm1"], EPSILON)
    q = rotate(heads(n @ w["q"].t(), c.heads), cos, sin)
    k = rotate(heads(n @ w["k"].t(), c.kv_heads), cos, sin)
    v = heads(n @ w["v"].t(), c.kv_heads)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    x = x + y.transpose(1, 2).reshape(batch, tokens, hidden) @ w["o"].t()
    n = F.rms_norm(x, (hidden,), w["norm2"], EPSILON)
    return x + (F.silu(n @ w["gate"].t()) * (n @ w["up"].t())) @ w["down"].t()


def loss_of(c: Config, weights: dict, layers: list[dict], tokens, targets, cos, sin):
    x = F.embedding(tokens, weights["embedding"])
    for w in layers:
        x = layer(c, x, w, cos, sin)
    x = F.rms_norm(x, (c.hidden,), weights["norm"], EPSILON)
    logits = x.flatten(0, 1) @ weights["embedding"].t()
    return F.cross_entropy(logits.float(), targets.flatten())


PRESETS = {  # those of coda/train/presets.cpp
    "tiny": Config(layers=4, hidden=256, ffn=768, heads=4, kv_heads=2, vocab=256),
    "small": Config(layers=8, hidden=512, ffn=1536, heads=8, kv_heads=4, vocab=256),
    "1b": Config(layers=16, hidden=2048, ffn=8192, heads=32, kv_heads=8, vocab=128256),
}


class MasterWeights:
    """fp32 copies of parameters, which AdamW updates; the gradients' common norm is at most 1."""

    def __init__(self, parameters: list[torch.Tensor]):
        self.parameters = parameters
        self.masters = [p.detach().float().requires_grad_() for p in parameters]
        self.optimizer = torch.optim.AdamW(
            self.masters, lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True
        )

    def forget_gradients(self) -> None:
        for p in self.parameters:
            p.grad = None

    def peak_over_weights(self, forward_backward: Callable[[], object]) -> int:
        """Bytes on the GPU that it takes beyond what is there without gradients."""
        self.forget_gradients()
        gc.collect()
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        forward_backward()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before

    def update(self) -> None:
        for master, p in zip(self.masters, self.parameters, strict=True):
            master.grad = p.grad.float()
        torch.nn.utils.clip_grad_norm_(self.masters, 1.0)
        self.optimizer.step()
        with torch.no_grad():
            torch._foreach_copy_(self.parameters, self.masters)
        for master in self.masters:
            master.grad = None


class TorchModel:
    """bf16 weights, and fp32 ones that AdamW updates."""

    def __init__(self, config: Config, device: str):
        self.config = config
        h, kv = config.hidden, config.kv_heads * config.head_dim
        shapes = {
            "norm1": (h,),
            "norm2": (h,),
            "q": (h, h),
            "k": (kv, h),
            "v": (kv, h),
            "o": (h, h),
            "gate": (config.ffn, h),
            "up": (config.ffn, h),
            "down": (h, config.ffn),
        }

        def parameter(shape: tuple[int, ...]) -> torch.Tensor:
            full = torch.ones if len(shape) == 1 else torch.randn
            values = full(shape, device=device) * (1.0 if len(shape) == 1 else 0.02)
            return values.bfloat16().requires_grad_()

        self.weights = {"embedding": parameter((config.vocab, h)), "norm": parameter((h,))}
        self.layers = [
            {name: parameter(shape) for name, shape in shapes.items()} for _ in range(config.layers)
        ]
        self.loss_function: Callable = loss_of
        self.rotations: dict = {}
        self.masters = MasterWeights(self.parameters())

    def parameters(self) -> list[torch.Tensor]:
        return [*self.weights.values(), *(p for w in self.layers for p in w.values())]

    def compiled(self) -> "TorchModel":
        """The same weights and optimizer behind a compiled loss."""
        other = object.__new__(TorchModel)
        other.__dict__.update(self.__dict__)
        other.loss_function = torch.compile(loss_of, dynamic=False)
        return other

    def rotation(self, tokens: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        if tokens not in self.rotations:
            half = torch.arange(0, self.config.head_dim, 2, device=device)
            angle = torch.arange(tokens, device=device)[:, None] * THETA ** (
                -half / self.config.head_dim
            )
            self.rotations[tokens] = angle.cos().bfloat16(), angle.sin().bfloat16()
        return self.rotations[tokens]

    def loss(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        cos, sin = self.rotation(tokens.shape[1], tokens.device)
        return self.loss_function(self.config, self.weights, self.layers, tokens, targets, cos, sin)
