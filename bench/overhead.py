"""Host time of the Python operators, called with tensors of no rows: nothing is computed, and what
is left is dispatch, allocation and libcoda's checks (on a GPU with 64 rows, launches among them).

    python bench/overhead.py [--device cuda] [--json runs/overhead.json]

In µs, the least of many batches: the operator without gradients; the same recorded for a backward
pass; and of the former its kernel as a Python function (the rest is PyTorch's dispatcher), that
with libcoda's calls left out (allocations, mostly), and those calls with reading the tensors. Last,
the forward pass of a decoder layer's two halves, five operators.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import arguments
import torch
from capi import Coda
from machine import write_results

from coda import _native
from coda.layer import attention_inputs, attention_outputs
from coda.operators import (
    linear,
    linear_activation,
    linear_activation_backward,
    linear_layer_norm_backward,
    linear_norm_backward,
    linear_residual_layer_norm,
    linear_residual_norm,
    linear_rope,
    linear_swiglu,
    linear_swiglu_backward,
    linear_weight_grad,
    norm_inputs,
    rope_backward,
)

H, F, HEAD_DIM, HEADS = 256, 512, 64, 4
COLUMNS = ("operator", "recorded", "kernel", "allocation", "libcoda")


def least(call: Callable[[], Any], seconds: float, synchronise: Callable[[], None]) -> float:
    """µs of one call: the least over batches of 20, which other processes disturb rarely."""
    call()  # whose first time may compile
    synchronise()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(20):
            call()
        best = min(best, time.perf_counter() - start)
        synchronise()
    return best / 20 * 1e6


def calls(device: str, rows: int) -> list[tuple[Any, tuple[Any, ...]]]:
    """Every operator of a layer's passes: its module, and arguments as a layer gives them."""

    def tensor(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
        return torch.ones(shape, dtype=dtype, device=device)

    x, gamma, square, wide = tensor(rows, H), tensor(H), tensor(H, H), tensor(F, H)
    squares = tensor(H // 64, rows, dtype=torch.float32)
    y, bias = tensor(rows, F), tensor(F)
    column = tensor(F, dtype=torch.float32)
    moments = tensor(H // 64, 2 * rows, dtype=torch.float32)
    norm = (squares, 1e-5, H)
    positions = torch.zeros(rows, dtype=torch.int64, device=device)
    tables = (tensor(8, HEAD_DIM // 2), tensor(8, HEAD_DIM // 2))
    return [
        (norm_inputs, (x, gamma)),
        (linear, (x, square)),
        (linear_residual_norm, (x, square, x, gamma)),
        (linear_swiglu, (x, wide, wide, *norm)),
        (linear_rope, (x, square, square, square, HEAD_DIM, positions, *tables, None, *norm)),
        (linear_swiglu_backward, (x, tensor(H, F), y, y, *norm)),
        (rope_backward, (x, x, x, x, x, x, HEAD_DIM, positions, *norm, *tables)),
        (linear_norm_backward, ([y, y], [wide, wide], x, squares, 1e-5, squares, x, gamma)),
        (linear_weight_grad, ([y[:, :8], y[:, :8]], x[:, :64])),
        (linear_residual_layer_norm, (x, square, x, gamma, gamma)),
        (linear_activation, (x, wide, bias, moments, 1e-5, column, column, "gelu_tanh", True)),
        (linear_activation_backward, (x, wide.t(), y, column, column, bias, "gelu_tanh")),
        (linear_layer_norm_backward, ([y], [wide], x, moments, 1e-5, squares, squares, gamma,
                                      gamma, x, True)),
    ]  # fmt: skip


def layer_calls(device: str, rows: int) -> dict[str, Callable[[], Any]]:
    """A decoder layer without attention, as patched models run it, forward: by column."""

    def parameter(*shape: int) -> torch.Tensor:
        return torch.ones(shape, dtype=torch.bfloat16, device=device, requires_grad=True)

    x, square, wide = parameter(rows, H), parameter(H, H), parameter(F, H)
    gamma, down = parameter(H), parameter(H, F)
    tables = [torch.ones(8, HEAD_DIM // 2, dtype=torch.bfloat16, device=device)] * 2
    positions = torch.zeros(rows, dtype=torch.int64, device=device)
    angles = dict(positions=positions, cos=tables[0], sin=tables[1], head_dim=HEAD_DIM)

    def forward() -> torch.Tensor:
        q, _, _, stream = attention_inputs(x, gamma, square, square, square, epsilon=1e-5, **angles)
        return attention_outputs(q, stream, square, gamma, wide, wide, down, epsilon=1e-5)[0]

    return {"operator": torch.no_grad()(forward), "recorded": forward}


def without_libcoda(kernel: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    _native.pretend(True)
    kernel(*arguments)
    _native.pretend(False)


def parts_of(module: Any, arguments: tuple[Any, ...]) -> dict[str, Callable[[], Any]]:
    """What is timed of an operator, by column."""
    name = module.__name__.rsplit(".", 1)[1]
    operator, kernel = module.operator, getattr(module, name)
    with mock.patch.object(module, "_native") as recorder:
        kernel(*arguments)
    values = recorder.run.call_args.args
    leaves = tuple(
        a.detach().requires_grad_() if isinstance(a, torch.Tensor) and a.is_floating_point() else a
        for a in arguments
    )

    return {
        "operator": lambda: operator(*arguments),
        "recorded": lambda: operator(*leaves),
        "kernel": lambda: kernel(*arguments),
        "allocation": lambda: without_libcoda(kernel, arguments),
        "libcoda": lambda: _native.run(*values),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Host time of the Python operators")
    parser.add_argument("--device", type=arguments.device, choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--seconds", type=arguments.seconds, default=0.3, help="for each figure")
    parser.add_argument("--json", type=arguments.result_file, metavar="FILE")
    options = parser.parse_args()
    torch.set_num_threads(1)
    synchronise = torch.cuda.synchronize if options.device == "cuda" else lambda: None
    rows = 64 if options.device == "cuda" else 0
    results = []
    print(f"{'µs':28}" + "".join(f"{column:>12}" for column in COLUMNS))
    for module, given in calls(options.device, rows):
        parts = parts_of(module, given)
        name = module.__name__.rsplit(".", 1)[1]
        times = {c: least(parts[c], options.seconds, synchronise) for c in COLUMNS}
        results.append({"operator": name, "microseconds": times})
        print(f"{name:28}" + "".join(f"{times[column]:12.1f}" for column in COLUMNS))
    layer = layer_calls(options.device, rows)
    times = {c: least(call, options.seconds, synchronise) for c, call in layer.items()}
    print(f"{'a layer, forward':28}" + "".join(f"{time:12.1f}" for time in times.values()))
    facts = {"kind": "overhead", "rows": rows, "layer": times}
    write_results(options.json, Coda(options.device), results, **facts)


if __name__ == "__main__":
    main()
