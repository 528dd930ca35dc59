"""Modules for models of one's own: what patched models run, with parameters named as LLaMA's.

Everything but attention is a program of coda; attention is a function that the layer is given.
Programs read the parameters of a module's parts and call none of them.
Inputs are [..., h], in bf16, on the CPU also in fp32, or any type under torch.autocast to bf16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coda.layer import RECOMPUTE, attention_inputs, attention_outputs, gated_mlp
from coda.loss import linear_cross_entropy
from coda.patching.parts import Watch, parts_of

__all__ = ["DecoderLayer", "LinearCrossEntropy", "ResidualGatedMLP", "rope_tables"]

ACTIVATIONS = ("silu", "gelu", "gelu_tanh", "relu")


class FusedModule(nn.Module):
    """Calls none of its parts: what is done to one, or put in its place, would be lost without a
    word, and is an error."""

    def _keep_parts(self) -> None:
        """They shall stay what they are now."""
        self._watch = Watch(parts_of(self))

    # Without arguments, as dynamo takes no objects for constant ones (before torch 2.13).
    @torch.compiler.assume_constant_result
    def _check_parts(self) -> None:
        reason = self._watch.unusual_part(self)  # hooks for all modules see this one as a whole
        if reason is not None:
            raise RuntimeError(
                f"coda.nn.{type(self).__name__}: {reason}. It reads the parameters of its parts "
                "and calls none of them: undo that, or make the layer of coda.layer's functions"
            )


class ResidualGatedMLP(FusedModule):
    """x + down_proj(f(gate_proj(n))·up_proj(n)) with n = norm(x), an RMSNorm: [..., h] of [..., h].

    Args:
        hidden_size: h. intermediate_size: F, the rows of gate_proj and up_proj.
        epsilon: of the norm. activation: f, "silu", "gelu", "gelu_tanh" or "relu".
        recompute: what backward makes again, "nothing", "activation" or "block" (coda.layer).
    """

    def __init__(
        self,
        hidden_size: int,
        intermediate_size: int,
        *,
        epsilon: float = 1e-6,
        activation: str = "silu",
        recompute: str = "activation",
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        _check_sizes(hidden_size=hidden_size, intermediate_size=intermediate_size)
        _check_choice("activation", activation, ACTIVATIONS)
        _check_choice("recompute", recompute, RECOMPUTE)
        self.activation, self.recompute = activation, recompute
        kind = {"device": device, "dtype": dtype}
        self.norm = nn.RMSNorm(hidden_size, eps=epsilon, **kind)
        self.gate_proj = nn.Linear(hidden_size, intermediate_size, bias=False, **kind)
        self.up_proj = nn.Linear(hidden_size, intermediate_size, bias=False, **kind)
        self.down_proj = nn.Linear(intermediate_size, hidden_size, bias=False, **kind)
        self._keep_parts()

    def forward(self, x: Tensor) -> Tensor:
        self._check_parts()
        norm: Any = self.norm
        out = gated_mlp(
            x.reshape(-1, x.shape[-1]),
            norm.weight,
            self.gate_proj.weight,
            self.up_proj.weight,
            self.down_proj.weight,
            epsilon=norm.eps,
            activation=self.activation,
            recompute=self.recompute,
        )
        return out.view(x.shape).to(x.dtype)


def causal_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """[B, Hq, T, d] of query [B, Hq, T, d] and key, value [B, Hkv, T, d]."""
    return F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)


class DecoderLayer(FusedModule):
    """A pre-norm decoder layer: x1 = x + attention(norm(x)), x1 + mlp(norm(x1)).

    Parameters have the names of transformers' Llama, Mistral, Qwen2 and Qwen3 layers.

    Args:
        hidden_size: h. intermediate_size: F. heads, kv_heads: Hq, Hkv. head_dim: d.
        epsilon: of all norms. activation: of the MLP's gate.
        attention_bias: q_proj, k_proj and v_proj have biases (Qwen2).
        head_norm: heads of q and k are normalised before RoPE (Qwen3).
        attention: (query [B, Hq, T, d], key, value [B, Hkv, T, d]) -> [B, Hq, T, d].
        recompute: what backward makes again, "nothing", "activation" or "block" (coda.layer).
    """

    def __init__(
        self,
        hidden_size: int,
        intermediate_size: int,
        heads: int,
        *,
        kv_heads: int | None = None,
        head_dim: int | None = None,
        epsilon: float = 1e-6,
        activation: str = "silu",
        attention_bias: bool = False,
        head_norm: bool = False,
        attention: Callable[[Tensor, Tensor, Tensor], Tensor] = causal_attention,
        recompute: str = "activation",
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        _check_sizes(hidden_size=hidden_size, intermediate_size=intermediate_size, heads=heads)
        self.head_dim = d = hidden_size // heads if head_dim is None else head_dim
        kv = heads if kv_heads is None else kv_heads
        _check_sizes(kv_heads=kv, head_dim=d)
        if heads % kv != 0:
            raise ValueError(f"coda.nn: kv_heads is {kv}, expected a divisor of heads, {heads}")
        if d % 2 != 0:
            raise ValueError(f"coda.nn: head_dim is {d}, expected an even number: RoPE turns pairs")
        _check_choice("activation", activation, ACTIVATIONS)
        _check_choice("recompute", recompute, RECOMPUTE)
        self.activation, self.recompute = activation, recompute
        kind = {"device": device, "dtype": dtype}

        def linear(inputs: int, outputs: int, bias: bool = False) -> nn.Linear:
            return nn.Linear(inputs, outputs, bias=bias, **kind)

        def norm(width: int) -> nn.RMSNorm:
            return nn.RMSNorm(width, eps=epsilon, **kind)

        self.input_layernorm = norm(hidden_size)
        self.self_attn = nn.ModuleDict(
            {
                "q_proj": linear(hidden_size, heads * d, attention_bias),
                "k_proj": linear(hidden_size, kv * d, attention_bias),
                "v_proj": linear(hidden_size, kv * d, attention_bias),
                "o_proj": linear(heads * d, hidden_size),
            }
        )
        if head_norm:
            self.self_attn.update({"q_norm": norm(d), "k_norm": norm(d)})
        self.post_attention_layernorm = norm(hidden_size)
        self.mlp = nn.ModuleDict(
            {
                "gate_proj": linear(hidden_size, intermediate_size),
                "up_proj": linear(hidden_size, intermediate_size),
                "down_proj": linear(intermediate_size, hidden_size),
            }
        )
        self._keep_parts()
        self.attention = attention  # is called: no such part where it is a module

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, positions: Tensor | None = None
    ) -> Tensor:
        """x [B, T, h] of x [B, T, h].

        cos, sin: [rows, d/2], as rope_tables() makes them. positions: [B, T], int64, the row of
        every token; None: token t takes row t.
        """
        self._check_parts()
        batch, tokens, width = x.shape
        if positions is None:
            if tokens > cos.shape[0]:
                raise ValueError(
                    f"coda.nn.DecoderLayer: cos and sin have {cos.shape[0]} rows, expected at "
                    f"least {tokens}, one for each token of x; or give positions"
                )
            positions = torch.arange(tokens, device=x.device).expand(batch, tokens)
        parts: Any = self.self_attn
        mlp: Any = self.mlp
        norm: Any = self.input_layernorm
        norm2: Any = self.post_attention_layernorm
        q, k, v, stream = attention_inputs(
            x.reshape(batch * tokens, width),
            norm.weight,
            parts["q_proj"].weight,
            parts["k_proj"].weight,
            parts["v_proj"].weight,
            head_dim=self.head_dim,
            epsilon=norm.eps,
            positions=positions.reshape(-1),
            cos=cos,
            sin=sin,
            q_bias=parts["q_proj"].bias,
            k_bias=parts["k_proj"].bias,
            v_bias=parts["v_proj"].bias,
            recompute=self.recompute,
            **_head_norms(parts),
        )
        d = self.head_dim
        heads = [z.view(batch, tokens, z.shape[1] // d, d).transpose(1, 2) for z in (q, k, v)]
        y = self.attention(*heads).transpose(1, 2)
        out, _ = attention_outputs(
            y.reshape(batch * tokens, q.shape[1]),
            stream,
            parts["o_proj"].weight,
            norm2.weight,
            mlp["gate_proj"].weight,
            mlp["up_proj"].weight,
            mlp["down_proj"].weight,
            epsilon=norm2.eps,
            activation=self.activation,
            recompute=self.recompute,
        )
        return out.view(x.shape).to(x.dtype)


def _head_norms(attention: Any) -> dict[str, Any]:
    if "q_norm" not in attention:
        return {}
    q, k = attention["q_norm"], attention["k_norm"]
    if q.eps != k.eps:
        raise RuntimeError(f"coda.nn: eps of q_norm is {q.eps} and of k_norm {k.eps}, expected one")
    return {"q_norm": q.weight, "k_norm": k.weight, "norm_epsilon": q.eps}


class LinearCrossEntropy(nn.Module):
    """The loss of a language model's head without its logits: coda.linear_cross_entropy.

    Usable where torch.nn.CrossEntropyLoss behind a torch.nn.Linear would be, whose weight it takes;
    options as those of coda.linear_cross_entropy.
    """

    def __init__(
        self,
        *,
        ignore_index: int = -100,
        reduction: str = "mean",
        z_loss: float = 0.0,
        label_smoothing: float = 0.0,
        softcap: float = 0.0,
    ) -> None:
        super().__init__()
        _check_choice("reduction", reduction, ("mean", "sum", "none"))
        self.ignore_index, self.reduction = ignore_index, reduction
        self.z_loss, self.label_smoothing, self.softcap = z_loss, label_smoothing, softcap

    def forward(
        self, hidden: Tensor, weight: Tensor, target: Tensor, bias: Tensor | None = None
    ) -> Tensor:
        """The loss of hidden [..., h], weight [V, h], target [...] and bias [V]."""
        return linear_cross_entropy(
            hidden,
            weight,
            target,
            bias=bias,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            z_loss=self.z_loss,
            label_smoothing=self.label_smoothing,
            softcap=self.softcap,
        )


def rope_tables(
    rows: int,
    head_dim: int,
    *,
    theta: float = 10000.0,
    device: Any = None,
    dtype: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:
    """cos and sin [rows, d/2] of row·theta^(-2i/d): RoPE as Llama has it."""
    _check_sizes(rows=rows, head_dim=head_dim)
    frequency = theta ** (
        -torch.arange(0, head_dim, 2, device=device, dtype=torch.float64) / head_dim
    )
    angle = torch.arange(rows, device=device, dtype=torch.float64)[:, None] * frequency
    return angle.cos().to(dtype or torch.float32), angle.sin().to(dtype or torch.float32)


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if not isinstance(size, int) or size < 1:
            raise ValueError(f"coda.nn: {name} is {size!r}, expected a whole number above 0")


def _check_choice(name: str, value: str, expected: tuple[str, ...]) -> None:
    if value not in expected:
        choices = ", ".join(repr(choice) for choice in expected)
        raise ValueError(f"coda.nn: {name} is {value!r}, expected one of {choices}")
