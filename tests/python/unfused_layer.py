"""A decoder layer outside attention, operator by operator, in any type: in fp64 it is exact."""

import torch
import torch.nn.functional as F
from torch import Tensor

ACTIVATIONS = {
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu,
}


def rms(x: Tensor, gamma: Tensor, epsilon: float) -> Tensor:
    """As transformers has it: in fp32 (exact: fp64) up to the weight."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    normed = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)
    return gamma * normed.to(x.dtype)


def rotate(z: Tensor, cos: Tensor, sin: Tensor, positions: Tensor, head_dim: int) -> Tensor:
    heads = z.unflatten(-1, (-1, head_dim))
    first, second = heads.chunk(2, -1)
    c, s = cos[positions][:, None], sin[positions][:, None]
    return torch.cat((first * c - second * s, second * c + first * s), -1).flatten(-2)


def attention_inputs(p: dict[str, Tensor], x: Tensor, tables, head_dim: int, epsilons):
    """(q, k, v) of x [M, h]; p: parameters by name."""
    n = rms(x, p["gamma"], epsilons[0])
    q, k, v = (F.linear(n, p[f"{z}_weight"], p.get(f"{z}_bias")) for z in "qkv")
    if "q_norm" in p:
        q, k = (
            rms(z.unflatten(-1, (-1, head_dim)), p[name], epsilons[1]).flatten(-2)
            for z, name in ((q, "q_norm"), (k, "k_norm"))
        )
    return rotate(q, *tables, head_dim), rotate(k, *tables, head_dim), v


def mlp(p: dict[str, Tensor], x: Tensor, epsilon: float, activation: str) -> Tensor:
    n = rms(x, p["gamma2"], epsilon)
    gate = ACTIVATIONS[activation](F.linear(n, p["gate_weight"]))
    return x + F.linear(gate * F.linear(n, p["up_weight"]), p["down_weight"])


def attention_outputs(p: dict[str, Tensor], y: Tensor, x: Tensor, epsilon: float, activation: str):
    return mlp(p, x + F.linear(y, p["o_weight"], p.get("o_bias")), epsilon, activation)
