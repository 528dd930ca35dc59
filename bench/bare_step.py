"""The GEMMs and the attention of a Llama's forward and backward, and nothing else: what would be
left of a training step if all its other operators cost nothing. GEMMs are torch.mm, as PyTorch's
layers have them: q, k and v, gate and up apart.
"""

import torch
import torch.nn.functional as F
from torch_model import Config


class BareStep:
    """Tensors of a step's shapes, normally distributed, or with zero activations."""

    def __init__(self, config: Config, batch: int, tokens: int, dtype: torch.dtype, zeros: bool):
        self.layers, rows = config.layers, batch * tokens
        kind = {"device": "cuda", "dtype": dtype}

        def activation(*shape: int) -> torch.Tensor:
            return torch.zeros(*shape, **kind) if zeros else torch.randn(*shape, **kind)

        def heads(count: int) -> torch.Tensor:
            return activation(batch, tokens, count, config.head_dim).transpose(1, 2)

        hidden, ffn, narrow = config.hidden, config.ffn, config.kv_heads * config.head_dim
        self.stream, self.wide = activation(rows, hidden), activation(rows, ffn)
        self.narrow, self.logits = activation(rows, narrow), activation(rows, config.vocab)
        self.q = heads(config.heads).requires_grad_()
        self.k, self.v = (heads(config.kv_heads).requires_grad_() for _ in range(2))
        self.dy = heads(config.heads)
        # Input, weight and output's gradient of every linear layer, in order.
        into, out = (self.stream, self.stream), (self.stream, self.wide)
        before = [(*into, hidden), *((self.stream, self.narrow, narrow) for _ in range(2))]
        after = [(*into, hidden), (*out, ffn), (*out, ffn), (self.wide, self.stream, hidden)]
        self.before, self.after = (
            [(x, torch.randn(n, x.shape[1], **kind) * 0.02, dz) for x, dz, n in linears]
            for linears in (before, after)
        )
        self.head = (self.stream, torch.randn(config.vocab, hidden, **kind) * 0.02, self.logits)

    def forward_backward(self) -> None:
        attended = []
        for _ in range(self.layers):
            forward(self.before)
            y = F.scaled_dot_product_attention(
                self.q, self.k, self.v, is_causal=True, enable_gqa=True
            )
            attended.append(y)
            forward(self.after)
        forward([self.head])
        backward([self.head])
        for _ in range(self.layers):
            backward(self.after)
            torch.autograd.grad(attended.pop(), (self.q, self.k, self.v), self.dy)
            backward(self.before)


def forward(linears: list) -> None:
    for x, weight, _ in linears:
        torch.mm(x, weight.t())


def backward(linears: list) -> None:
    for x, weight, dz in linears:
        torch.mm(dz, weight)
        torch.mm(dz.t(), x)
