"""Calls of every differentiable operator, as (name, arguments by name): small, ragged, with one row
and with none."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

EPSILON = 1e-5


@dataclass
class Case:
    operator: str
    arguments: dict[str, Any]
    contraction: int  # of the longest GEMM, for the error rule's floor
    fixed: frozenset[str] = frozenset()  # tensors without a gradient

    def __str__(self) -> str:
        given = [
            f"{name}{list(value.shape)}" if isinstance(value, Tensor) else f"{name}={value}"
            for name, value in self.arguments.items()
        ]
        return f"{self.operator}({', '.join(given)})"


def normal(*shape: int, dtype: torch.dtype, device: str, scale: float = 1.0) -> Tensor:
    return (torch.randn(shape) * scale).to(dtype=dtype, device=device)


def squares_of(x: Tensor) -> Tensor:
    """Σx² in two parts, [2, M] fp32."""
    return torch.stack([part.float().square().sum(1) for part in x.tensor_split(2, 1)])


def linear_case(dtype: torch.dtype, device: str, m: int, n: int, k: int) -> Case:
    kind = {"dtype": dtype, "device": device}
    x = normal(m, k, **kind)
    return Case(
        "linear",
        {
            "x": x, "weight": normal(n, k, **kind), "bias": normal(n, **kind),
            "squares": squares_of(x), "epsilon": EPSILON, "width": k, "c": normal(m, n, **kind),
            "alpha": 0.75, "beta": 0.5,
        },
        max(k, n, m),
    )  # fmt: skip


def residual_norm_case(dtype: torch.dtype, device: str, m: int, n: int, k: int) -> Case:
    kind = {"dtype": dtype, "device": device}
    return Case(
        "linear_residual_norm",
        {
            "x": normal(m, k, **kind), "weight": normal(n, k, **kind),
            "residual": normal(m, n, **kind), "gamma": normal(n, **kind), "bias": normal(n, **kind),
        },
        max(k, n, m),
    )  # fmt: skip


def swiglu_case(
    dtype: torch.dtype, device: str, m: int, n: int, k: int, activation: str = "silu"
) -> Case:
    kind = {"dtype": dtype, "device": device}
    x = normal(m, k, **kind)
    return Case(
        "linear_swiglu",
        {
            "x": x, "gate_weight": normal(n, k, **kind, scale=k**-0.5),
            "up_weight": normal(n, k, **kind, scale=k**-0.5), "squares": squares_of(x),
            "epsilon": EPSILON, "width": k, "activation": activation,
        },
        max(k, n, m),
    )  # fmt: skip


def rope_case(
    dtype: torch.dtype,
    device: str,
    m: int,
    k: int,
    heads: tuple[int, int] = (4, 2),
    head_dim: int = 64,
    tables: bool = True,
    biases: bool = False,
    norms: bool = False,
    squares: bool = True,
) -> Case:
    kind = {"dtype": dtype, "device": device}
    x = normal(m, k, **kind)
    widths = [count * head_dim for count in (heads[0], heads[1], heads[1])]
    arguments: dict[str, Any] = {"x": x}
    for name, width in zip("qkv", widths):
        arguments[f"{name}_weight"] = normal(width, k, **kind, scale=k**-0.5)
        if biases:
            arguments[f"{name}_bias"] = normal(width, **kind)
    arguments |= {"head_dim": head_dim, "positions": torch.arange(m, device=device).flip(0)}
    if tables:
        angle = torch.rand(m + 1, head_dim // 2, device=device) * 6
        arguments |= {"cos": angle.cos().to(dtype), "sin": angle.sin().to(dtype)}
    else:
        arguments["inv_freq"] = 100 ** -torch.linspace(0, 1, head_dim // 2, device=device)
    if squares:
        arguments |= {"squares": squares_of(x), "epsilon": EPSILON, "width": k}
    if norms:
        arguments |= {name: 1 + 0.3 * normal(head_dim, **kind) for name in ("q_norm", "k_norm")}
        arguments["norm_epsilon"] = 1e-6
    return Case("linear_rope", arguments, max(*widths, k, m), frozenset({"cos", "sin", "inv_freq"}))


def row_cases(dtype: torch.dtype, device: str, m: int, h: int) -> list[Case]:
    kind = {"dtype": dtype, "device": device}
    x, gamma = normal(m, h, **kind), normal(h, **kind)
    tokens = torch.arange(m, device=device) * 5 % 7
    return [
        Case("norm_inputs", {"x": x, "gamma": gamma}, h),
        Case("norm_inputs", {"x": x}, h),
        Case(
            "embedding_norm", {"table": normal(7, h, **kind), "tokens": tokens, "gamma": gamma}, m
        ),
        Case("fold_norm_weight", {"weight": x, "gamma": gamma}, m),
        Case(
            "embedding_positions",
            {
                "table": normal(7, h, **kind), "tokens": tokens,
                "positions_table": normal(m + 1, h, **kind),
                "positions": torch.arange(m, device=device).flip(0),
            },
            m,
        ),
    ]  # fmt: skip


def layer_norm_case(dtype: torch.dtype, device: str, m: int, h: int) -> Case:
    kind = {"dtype": dtype, "device": device}
    vectors = {name: normal(h, **kind) for name in ("gamma", "beta")}
    return Case("layer_norm", {"x": normal(m, h, **kind), **vectors, "epsilon": EPSILON}, max(m, h))


def fp32_cases(device: str, m: int, h: int) -> list[Case]:
    x = normal(m, h, dtype=torch.float32, device=device)
    return [Case("finish_columns", {"partials": x}, m), Case("square_sums", {"x": x}, h)]


def all_cases(
    dtype: torch.dtype, device: str, m: int = 37, n: int = 72, k: int = 136
) -> list[Case]:
    """n and k: multiples of 8, as rows on a GPU begin at multiples of 16 bytes."""
    cases = [
        linear_case(dtype, device, m, n, k),
        residual_norm_case(dtype, device, m, n, k),
        swiglu_case(dtype, device, m, n, k),
        swiglu_case(dtype, device, m, n, k, "gelu_tanh"),
        *row_cases(dtype, device, m, n),
    ]
    if dtype != torch.float16:  # which some backward operators have no variant for
        cases += [
            rope_case(dtype, device, m, k),
            rope_case(dtype, device, m, k, tables=False, biases=True),
            rope_case(dtype, device, m, k, biases=True, norms=True),
            rope_case(dtype, device, m, k, squares=False),
        ]
        cases.append(layer_norm_case(dtype, device, m, n))
    return cases + (fp32_cases(device, m, n) if dtype == torch.float32 else [])
