"""Calls of operators with good arguments, of which tests change some."""

from typing import Any

import torch
from torch import Tensor

OPS = torch.ops.coda
M, K, N, D = 5, 64, 32, 16


def ones(*shape: int, dtype: torch.dtype = torch.float32, device: str = "cpu") -> Tensor:
    return torch.ones(shape, dtype=dtype, device=device)


def linear(**changed: Any) -> Any:
    return OPS.linear(**{"x": ones(M, K), "weight": ones(N, K)} | changed)


def residual_norm(**changed: Any) -> Any:
    given = {"x": ones(M, K), "weight": ones(N, K), "residual": ones(M, N), "gamma": ones(N)}
    return OPS.linear_residual_norm(**given | changed)


def swiglu(**changed: Any) -> Any:
    given = {"x": ones(M, K), "gate_weight": ones(N, K), "up_weight": ones(N, K)}
    return OPS.linear_swiglu(**given | changed)


def swiglu_backward(**changed: Any) -> Any:
    given = {"dy": ones(M, K), "down_weight": ones(K, N), "gate": ones(M, N), "up": ones(M, N)}
    return OPS.linear_swiglu_backward(**given | changed)


def rope(**changed: Any) -> Any:
    weights = {f"{name}_weight": ones(2 * D, K) for name in "qkv"}
    given = {"x": ones(M, K), "head_dim": D, "positions": torch.arange(M), "inv_freq": ones(D // 2)}
    return OPS.linear_rope(**given | weights | changed)


def rope_backward(**changed: Any) -> Any:
    given = {name: ones(M, 2 * D) for name in ("dq", "dk", "dv", "q", "k", "v")}
    more = {"head_dim": D, "positions": torch.arange(M), "squares": ones(1, M), "epsilon": 1e-5,
            "width": K, "inv_freq": ones(D // 2)}  # fmt: skip
    return OPS.rope_backward(**given | more | changed)


def norm_backward(**changed: Any) -> Any:
    given = {"dz": [ones(M, N)], "weights": [ones(N, K)], "x": ones(M, K), "squares": ones(1, M),
             "epsilon": 1e-5, "dots": ones(1, M), "gamma": ones(K)}  # fmt: skip
    return OPS.linear_norm_backward(**given | changed)


def weight_grad(**changed: Any) -> Any:
    return OPS.linear_weight_grad(**{"dz": [ones(M, N)], "x": ones(M, K)} | changed)


def input_grad(**changed: Any) -> Any:
    return OPS.linear_input_grad(**{"dz": [ones(M, N)], "weights": [ones(N, K)]} | changed)


def activated(**changed: Any) -> Any:
    return OPS.linear_activation(**{"x": ones(M, K), "weight": ones(N, K)} | changed)


def layer_norm_backward(**changed: Any) -> Any:
    given = {"dz": [ones(M, N)], "weights": [ones(N, K)], "x": ones(M, K), "epsilon": 1e-5,
             "moments": ones(1, 2 * M), "dots": ones(1, M), "shifts": ones(1, M),
             "gamma": ones(K), "beta": ones(K)}  # fmt: skip
    return OPS.linear_layer_norm_backward(**given | changed)


def embedding(**changed: Any) -> Any:
    given = {"table": ones(7, K), "tokens": torch.arange(M), "gamma": ones(K)}
    return OPS.embedding_norm(**given | changed)


def embedding_backward(**changed: Any) -> Any:
    given = {"dx": ones(M, K), "tokens": torch.arange(M), "rows": 7, "dtype": torch.float32}
    return OPS.embedding_backward(**given | changed)


def square_sums(**changed: Any) -> Any:
    return OPS.square_sums(**{"x": ones(M, K)} | changed)


def adamw(**changed: Any) -> Any:
    state = {name: ones(8, K) for name in ("master", "m", "v", "gradient")}
    return OPS.adamw(**state | {"rates": ones(3)} | changed)
