"""What the operators refuse: one exception of the right type that names the argument and the
remedy, and nothing is changed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from good_calls import (
    OPS,
    D,
    K,
    M,
    N,
    activated,
    adamw,
    embedding,
    embedding_backward,
    input_grad,
    layer_norm_backward,
    linear,
    norm_backward,
    ones,
    residual_norm,
    rope,
    rope_backward,
    square_sums,
    swiglu,
    swiglu_backward,
    weight_grad,
)
from torch import Tensor

from coda.operators import linear as linear_module
from coda.operators import registration


@dataclass
class Bad:
    call: Callable[..., Any]
    given: dict[str, Any]
    error: type[Exception]
    says: str  # a regular expression: the argument, and what was expected or what to do


BF16, FP64, INT = torch.bfloat16, torch.float64, torch.int64
CASES = [
    # devices
    Bad(linear, {"weight": ones(N, K, device="meta")}, ValueError,
        r"x is on cpu, weight on meta: .*\.to\(device\)"),
    Bad(linear, {"x": ones(M, K, device="meta")}, ValueError, r"x is on meta, weight on cpu"),
    Bad(linear, {"bias": ones(N, device="meta")}, ValueError, r"x is on cpu, bias on meta"),
    Bad(norm_backward, {"dz": [ones(M, N, device="meta")]}, ValueError, r"dz\[0\] is on meta"),
    Bad(rope, {"positions": torch.arange(M, device="meta")}, ValueError, r"positions on meta"),
    # element types
    Bad(linear, {"x": ones(M, K, dtype=FP64)}, TypeError, r"x: expected bfloat16.*\.to\(dtype\)"),
    Bad(linear, {"weight": ones(N, K, dtype=FP64)}, TypeError, r"weight: expected .*\.to\(dtype\)"),
    Bad(linear, {"weight": ones(N, K, dtype=BF16)}, ValueError,
        r"weight: expected .*fp32 as in x, got bf16"),
    Bad(linear, {"x": ones(M, K, dtype=torch.bool)}, TypeError, r"x: .*\.to\(dtype\)"),
    Bad(linear, {"x": ones(M, K, dtype=torch.complex64)}, TypeError, r"x: .*\.to\(dtype\)"),
    Bad(linear, {"x": torch.ones(M, K).to(torch.float8_e4m3fn)}, TypeError, r"x: .*\.to\(dtype\)"),
    Bad(linear, {"x": ones(M, K, dtype=INT), "weight": ones(N, K, dtype=INT)}, TypeError,
        r"x: expected bfloat16"),
    Bad(linear, {"bias": ones(N, dtype=BF16)}, ValueError, r"bias: expected .*fp32.*got bf16"),
    Bad(linear, {"squares": ones(1, M, dtype=BF16), "width": K}, ValueError,
        r"squares: expected .*fp32.*got bf16"),
    Bad(linear, {"dtype": INT}, TypeError, r"dtype: expected bfloat16"),
    Bad(linear, {"dtype": BF16}, ValueError, r"fp32-bf16"),
    Bad(residual_norm, {"gamma": ones(N, dtype=BF16)}, ValueError, r"gamma: expected .*fp32"),
    Bad(residual_norm, {"residual": ones(M, N, dtype=BF16)}, ValueError, r"kept-fp32-bf16stream"),
    Bad(swiglu, {"up_weight": ones(N, K, dtype=BF16)}, ValueError, r"up_weight: expected .*fp32"),
    Bad(rope, {"positions": torch.arange(M, dtype=torch.int32)}, ValueError,
        r"positions: expected .*int64"),
    Bad(rope, {"positions": torch.arange(M).float().requires_grad_()}, ValueError,
        r"positions: expected .*int64, got fp32"),
    Bad(rope, {"inv_freq": ones(D // 2, dtype=BF16)}, ValueError, r"inv_freq: expected .*fp32"),
    Bad(embedding, {"tokens": torch.arange(M).float()}, ValueError, r"tokens: expected .*int64"),
    Bad(embedding, {"tokens": torch.arange(M, dtype=torch.int32)}, ValueError, r"fp32-int32"),
    Bad(embedding, {"dtype": INT}, TypeError, r": dtype: expected bfloat16.*got torch.int64"),
    Bad(embedding_backward, {"tokens": ones(M)}, ValueError,
        r"tokens: expected elements of type int64, got fp32"),
    Bad(embedding_backward, {"tokens": ones(M), "dx": ones(M, K, dtype=torch.float16)}, ValueError,
        r"tokens: expected elements of type int32, got fp32"),
    Bad(embedding_backward, {"tokens": ones(M, dtype=torch.bool)}, TypeError, r"tokens: expected"),
    Bad(embedding_backward, {"tokens": ones(M, dtype=torch.complex64)}, TypeError,
        r"tokens: expected"),
    Bad(embedding_backward, {"dtype": INT}, TypeError, r": dtype: expected bfloat16"),
    Bad(adamw, {"m": ones(8, K, dtype=BF16)}, ValueError, r"m: expected .*fp32"),
    Bad(swiglu_backward, {"dy": ones(M, K, dtype=torch.float16)}, ValueError, r"fp16"),
    # shapes
    Bad(linear, {"x": ones(2, M, K)}, ValueError, r"x: expected .*3 dimensions: .*flatten"),
    Bad(linear, {"x": ones(K)}, ValueError, r"x: expected \[rows, columns\], got 1 .*reshape"),
    Bad(linear, {"x": torch.tensor(1.0)}, ValueError, r"x: expected \[rows, columns\].*reshape"),
    Bad(linear, {"weight": ones(N, K + 1)}, ValueError,
        r"weight: expected a contraction of 64 as in x, got 65"),
    Bad(linear, {"bias": ones(N + 1)}, ValueError, r"bias: expected .*32.*got .*33"),
    Bad(linear, {"bias": ones(1)}, ValueError, r"bias: expected .*32"),
    Bad(linear, {"c": ones(M, N + 1)}, ValueError, r"c: expected .*\[5, 32\].*got .*\[5, 33\]"),
    Bad(linear, {"squares": ones(1, M + 1), "width": K}, ValueError, r"squares: expected .*5"),
    Bad(linear, {"squares": ones(M), "width": K}, ValueError,
        r"squares: expected \[parts, M\], got \[5\]: use \.reshape\(parts, -1\)"),
    Bad(linear, {"bias": ones(1, N)}, ValueError,
        r"bias: expected \[N\], got \[1, 32\]: use \.reshape\(-1\)"),
    Bad(linear, {"squares": ones(1, M)}, ValueError, r"width: expected .*got 0: pass width"),
    Bad(linear, {"squares": ones(1, M), "width": -3}, ValueError, r"width: expected .*got -3"),
    Bad(residual_norm, {"residual": ones(M + 1, N)}, ValueError, r"residual: expected .*\[5, 32\]"),
    Bad(residual_norm, {"gamma": ones(K)}, ValueError, r"gamma: expected .*32"),
    Bad(swiglu, {"up_weight": ones(N + 1, K)}, ValueError, r"up_weight: expected \[32, 64\]"),
    Bad(swiglu, {"activation": "swish"}, ValueError, r"activation: expected one of silu, gelu"),
    Bad(swiglu_backward, {"activation": ""}, ValueError, r"activation: expected one of silu"),
    Bad(swiglu_backward, {"up": ones(M, N + 1)}, ValueError, r"up: expected .*\[5, 32\]"),
    Bad(rope, {"head_dim": D + 1}, ValueError, r"head_dim: expected an even number.*got 17"),
    Bad(rope, {"head_dim": 0}, ValueError, r"head_dim: expected .*got 0"),
    Bad(rope, {"k_weight": ones(2 * D, K - 1)}, ValueError, r": k_weight: expected .*64.*got 63"),
    Bad(rope, {"v_weight": ones(2 * D, K, dtype=BF16)}, ValueError, r": v_weight: expected .*fp32"),
    Bad(rope, {f"{z}_bias": ones(2 * D - (z == "k")) for z in "qkv"}, ValueError,
        r": k_bias: expected 32 .*got 31"),
    Bad(rope, {"inv_freq": None, "cos": ones(M, D // 2), "sin": ones(M, D // 2 - 1)}, ValueError,
        r": sin: expected 8 .*got 7"),
    Bad(rope, {"positions": torch.arange(M + 1)}, ValueError, r"positions: expected .*5"),
    Bad(rope, {"inv_freq": ones(D)}, ValueError, r"inv_freq: expected .*8"),
    Bad(rope, {"inv_freq": None}, ValueError, r"cos, sin, inv_freq: expected .*got neither"),
    Bad(rope, {"cos": ones(M, D // 2), "sin": ones(M, D // 2)}, ValueError, r"got both"),
    Bad(rope, {"inv_freq": None, "cos": ones(M, D // 2)}, ValueError,
        r"cos, sin: expected both or neither, got cos"),
    Bad(rope, {"sin": ones(M, D // 2)}, ValueError, r"cos, sin: expected both .*got sin"),
    Bad(rope, {"q_norm": ones(D), "k_norm": ones(D), "norm_epsilon": -1.0}, ValueError,
        r"norm_epsilon: expected a number, 0 or more, got -1"),
    Bad(rope, {"q_bias": ones(2 * D)}, TypeError, r"q_bias/k_bias/v_bias: expected a tensor"),
    Bad(rope, {"q_norm": ones(D)}, ValueError, r"k_norm: expected .*missing"),
    Bad(rope_backward, {"k": ones(M, D)}, ValueError, r"dk|k: expected"),
    Bad(rope_backward, {"head_dim": 7}, ValueError, r"head_dim: expected"),
    Bad(norm_backward, {"dz": []}, ValueError, r"dz: expected 1 to 4 tensors"),
    Bad(norm_backward, {"dz": [ones(M, 8)] * 5, "weights": [ones(8, K)] * 5}, ValueError,
        r"dz: expected 1 to 4 tensors, got 5"),
    Bad(norm_backward, {"dz": [ones(M, N)] * 2}, ValueError, r"weights: expected|dz: expected"),
    Bad(norm_backward, {"gamma": None, "scaled": True}, ValueError, r"scaled: expected False"),
    Bad(norm_backward, {"dz": [ones(M, N), ones(M, N)], "weights": [ones(N, K), ones(N, K + 1)]},
        ValueError, r": weights\[1\]: expected .*64.*got .*65"),
    Bad(weight_grad, {"dz": []}, ValueError, r"dz: expected 1 to 4 tensors"),
    Bad(weight_grad, {"dz": [ones(M + 1, N)]}, ValueError, r"x: expected a contraction of 6"),
    Bad(activated, {"activation": "swish"}, ValueError, r"activation: expected one of .*identity"),
    Bad(activated, {"bias": ones(N + 1)}, ValueError, r"bias: expected .*32.*got .*33"),
    Bad(activated, {"shift": ones(N)}, ValueError, r"moments, shift, offset: expected all"),
    Bad(activated, {"moments": ones(1, M), "shift": ones(N), "offset": ones(N)}, ValueError,
        r"moments: expected"),
    Bad(layer_norm_backward, {"beta": ones(K + 1)}, ValueError, r"beta: expected .*64"),
    Bad(layer_norm_backward, {"moments": ones(1, M + 1)}, ValueError, r"moments: expected"),
    Bad(layer_norm_backward, {"weights": [ones(N, K + 1)]}, ValueError, r"x: expected \[5, 65\]"),
    Bad(input_grad, {"weights": [ones(N + 1, K)]}, ValueError,
        r"^coda::linear_input_grad: weights: expected a contraction of 32 as in dz, got 33"),
    Bad(input_grad, {"weights": []}, ValueError, r"weights: expected 1 to 4 tensors"),
    Bad(input_grad, {"dz": [ones(M, N, dtype=BF16)]}, ValueError,
        r"^coda::linear_input_grad: weights: expected .*bf16 as in dz, got fp32"),
    Bad(embedding, {"tokens": torch.full((M,), 7)}, ValueError, r"tokens.*7"),
    Bad(embedding, {"tokens": torch.full((M,), -1)}, ValueError, r"tokens.*-1"),
    Bad(embedding, {"tokens": torch.tensor(3)}, ValueError, r"tokens: expected \[M\], got \[\]"),
    Bad(embedding_backward, {"tokens": torch.full((M,), 2**32 + 1)}, ValueError,
        r"tokens: expected .*from 0 to 6.*got 4294967297 at 0"),
    Bad(embedding_backward,
        {"tokens": torch.full((M,), 2**32 + 1), "dx": ones(M, K, dtype=torch.float16)}, ValueError,
        r"tokens: expected .*from 0 to 6.*got 4294967297 at 0"),
    Bad(embedding_backward, {"rows": 0}, ValueError, r": rows: expected at least one row"),
    Bad(square_sums, {"x": ones(K)}, ValueError, r"x: expected \[N, K\], got \[64\]"),
    Bad(adamw, {"rates": ones(2)}, ValueError, r"rates: expected .*3"),
    Bad(adamw, {"gradient": ones(8, K + 1)}, ValueError, r"gradient: expected .*64"),
    # kinds of tensors
    Bad(linear, {"x": torch.eye(M, K).to_sparse()}, TypeError, r"x: expected a dense.*to_dense"),
    Bad(linear, {"weight": torch.eye(N, K).to_sparse_csr()}, TypeError, r"weight: .*to_dense"),
    Bad(linear, {"x": torch.quantize_per_tensor(ones(M, K), 0.1, 0, torch.qint8)}, TypeError,
        r"x: expected a dense.*dequantize"),
]  # fmt: skip


def tensors(value: Any) -> list[Tensor]:
    if isinstance(value, list):
        return value
    return [value] if isinstance(value, Tensor) and value.device.type == "cpu" else []


@pytest.mark.parametrize("bad", CASES, ids=lambda b: f"{b.call.__name__}-{b.says[:24]}")
def test_refused(bad: Bad) -> None:
    given = [t for value in bad.given.values() for t in tensors(value) if t.layout == torch.strided]
    before = [t.detach().clone() for t in given if t.device.type == "cpu"]
    with pytest.raises(bad.error, match=bad.says) as caught:
        bad.call(**bad.given)
    assert type(caught.value) is bad.error
    assert str(caught.value).startswith("coda::")
    after = [t for t in given if t.device.type == "cpu"]
    assert all(torch.equal(a.detach(), b) for a, b in zip(after, before) if not a.is_quantized)


def test_the_calls_are_good_without_the_change() -> None:
    for call in {bad.call for bad in CASES}:
        call()


def test_gradients_of_tables_are_refused() -> None:
    cos = ones(M, D // 2).requires_grad_()
    q, *_ = rope(inv_freq=None, cos=cos, sin=ones(M, D // 2))
    with pytest.raises(RuntimeError, match="cos, sin and inv_freq have no gradient: detach"):
        q.sum().backward()


def test_head_norms_without_what_their_gradient_needs() -> None:
    says = "^coda::linear_rope: keep: expected True where gradients are needed"
    with pytest.raises(ValueError, match=says):
        rope(x=ones(M, K).requires_grad_(), q_norm=ones(D), k_norm=ones(D), keep=False)


PORTS = {"bias": ones(N), "squares": ones(2, M), "c": ones(M, N)}
WRONG_PORTS = [
    ("bias", ones(1)),
    ("bias", ones(N, dtype=torch.float16)),
    ("squares", ones(2, 1)),
    ("c", ones(N)),
    ("c", ones(1, N)),
]


def test_ports_that_pytorch_adds() -> None:
    """On a GPU, where no kernel has several of bias, squares and c."""
    linear_module.check_ports(ones(M, N), **PORTS)
    for name, wrong in WRONG_PORTS:
        with pytest.raises(ValueError, match=rf"^{name}: expected \["):
            linear_module.check_ports(ones(M, N), **PORTS | {name: wrong})


@pytest.mark.gpu
def test_ports_that_pytorch_adds_are_looked_at() -> None:
    def on_the_gpu(name: str, tensor: Tensor) -> Tensor:
        same = name == "squares" or tensor.dtype == torch.float16
        return tensor.to("cuda", tensor.dtype if same else BF16)

    x, weight = (ones(rows, K, dtype=BF16, device="cuda") for rows in (M, N))
    given = {name: on_the_gpu(name, tensor) for name, tensor in PORTS.items()}
    torch.ops.coda.linear(x, weight, width=K, **given)
    for name, wrong in WRONG_PORTS:
        with pytest.raises(ValueError, match=f"^(coda::linear: )?{name}: expected "):
            torch.ops.coda.linear(x, weight, width=K, **given | {name: on_the_gpu(name, wrong)})


def test_dtensor() -> None:
    from torch.distributed import destroy_process_group, init_process_group
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, distribute_tensor
    from torch.testing._internal.distributed.fake_pg import FakeStore

    init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        mesh = init_device_mesh("cpu", (2,))
        sharded = distribute_tensor(ones(N, K), mesh, [Replicate()])
        with pytest.raises(TypeError, match=r"weight: .*got a DTensor: .*to_local"):
            linear(weight=sharded)
        with pytest.raises(TypeError, match=r"x: .*got a DTensor: .*to_local"):
            linear(x=sharded, weight=sharded)
    finally:
        destroy_process_group()


def test_pytorch_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "TABLE", "__not_there_before_2_10__")
    with pytest.raises(ImportError, match=r"2\.10 or later.*pip install --upgrade torch"):
        registration.connect()


@pytest.mark.gpu
class TestOnAGpu:
    def test_devices_that_differ(self) -> None:
        with pytest.raises(ValueError, match=r"x is on cpu, weight on cuda:0"):
            linear(weight=ones(N, K, device="cuda"))

    def test_host_tensor_in_a_graph(self) -> None:
        x, weight = ones(M, K, dtype=BF16, device="cuda"), ones(N, K, dtype=BF16)
        with torch.cuda.graph(torch.cuda.CUDAGraph()), pytest.raises(ValueError, match="on cpu"):
            OPS.linear(x, weight)

    def test_rows_that_begin_anywhere(self) -> None:
        x = ones(M, 63, dtype=BF16, device="cuda")
        with pytest.raises(ValueError, match="16"):
            OPS.linear(x, x)

    def test_elements_that_have_no_kernels(self) -> None:
        x = ones(M, K, device="cuda")
        with pytest.raises(RuntimeError, match="no kernels for CUDA"):
            OPS.linear(x, x)
