"""Programs that are written in Python (@coda.program): seconds of a first call, µs of host time of
later ones, and speed beside the same program written in C++ (examples/programs, by `coda bench`).

    python bench/programs.py [--device cuda] [--shape 16384x4096x4096] [--json runs/programs.json]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import arguments
import torch
from capi import ROOT, Coda
from machine import write_results
from overhead import least

import coda
from coda import _native
from coda.authoring.program import OPERATORS

DTYPE = torch.bfloat16
COMMANDS = {"cpu": ROOT / "build" / "coda", "cuda": ROOT / "build-gpu" / "coda"}


@coda.program
def gated(acc, up, scale: coda.PerRow, bias: coda.PerColumn):
    g = acc * scale + bias
    return coda.store(out=coda.silu(g) * up), coda.row_sum(norm=g * g)


@coda.program
def bias_gelu(acc, bias: coda.PerColumn):
    return coda.store(out=coda.gelu(acc + bias))


@coda.program
def squared_relu(acc):
    r = coda.relu(acc)
    return coda.store(out=r * r)


def make_tensors(device: str, rows: int, columns: int, depth: int) -> list[torch.Tensor]:
    shapes = ((rows, depth), (columns, depth), (rows, columns), (rows,), (columns,))
    return [torch.randn(shape, device=device).to(DTYPE) for shape in shapes]


def synchroniser(device: str) -> Callable[[], None]:
    return torch.cuda.synchronize if device == "cuda" else lambda: None


def first_call(device: str) -> dict[str, float]:
    """In a process of its own, with nothing kept on disk."""
    tensors = [t.requires_grad_() for t in make_tensors(device, 128, 256, 64)]
    synchroniser(device)()
    seconds = {}
    start = time.perf_counter()
    with torch.no_grad():
        gated(*tensors)
    synchroniser(device)()
    seconds["forward"] = time.perf_counter() - start
    y, norm = gated(*tensors)  # the same with the accumulator stored
    synchroniser(device)()
    start = time.perf_counter()
    (y.float().sum() + norm.sum()).backward()
    synchroniser(device)()
    seconds["backward"] = time.perf_counter() - start
    return seconds


def first_calls(device: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--device", device, "--first-call"]
        environment = {**os.environ, "CODA_CACHE": folder}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.split("\n")[-2])


def later_calls(device: str, seconds: float) -> dict[str, float]:
    """µs: the call, the same recorded for a backward pass, and libcoda's part alone."""
    tensors = make_tensors(device, 64, 64, 64)
    synchronise = synchroniser(device)
    gated(*tensors)
    operator = next(one for one in OPERATORS.values() if one.operator is gated._operator)
    (instance,) = operator.instances.values()
    out, norm = torch.empty_like(tensors[2]), torch.empty(1, 64, device=device)
    leaves = [tensor.detach().requires_grad_() for tensor in tensors]
    parts: dict[str, Callable[[], Any]] = {
        "call": lambda: gated(*tensors),
        "recorded": lambda: gated(*leaves),
        "libcoda": lambda: _native.run(instance.forward, "", *tensors, out, norm),
    }
    return {name: least(call, seconds, synchronise) for name, call in parts.items()}


def milliseconds(call: Callable[[], Any], device: str) -> float:
    """Of one call among ten."""
    synchronise = synchroniser(device)
    synchronise()
    start = time.perf_counter()
    for _ in range(10):
        call()
    synchronise()
    return (time.perf_counter() - start) * 100


def in_python(device: str, sizes: tuple[int, int, int], rounds: int) -> dict[str, float]:
    """ms of each program and of torch.ops.coda.linear, taking turns; medians of the rounds."""
    x, weight, _, _, bias = make_tensors(device, *sizes)
    calls: dict[str, Callable[[], Any]] = {
        "linear": lambda: torch.ops.coda.linear(x, weight),
        "bias_gelu": lambda: bias_gelu(x, weight, bias),
        "squared_relu": lambda: squared_relu(x, weight),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    with torch.no_grad():
        for _ in range(rounds + 1):
            for name, call in calls.items():
                times[name].append(milliseconds(call, device))
    return {name: median(list_of[1:]) for name, list_of in times.items()}


def in_cpp(device: str, shape: str, name: str, rounds: int) -> float:
    """ms of the program in examples/programs."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [str(COMMANDS[device]), "bench", f"examples/programs/{name}.h", "--backend"]
        command += [device, "--shape", shape, "--dtype", "bf16", "--rounds", str(rounds)]
        subprocess.run([*command, "--json", file.name], cwd=ROOT, check=True, capture_output=True)
        results = json.loads(Path(file.name).read_text())["results"]
    same = [r for r in results if r["chosen"] and r["regime"] != "zeros" and not r["ports"]]
    return min(r["ms"] for r in same or results)


def main() -> None:
    parser = argparse.ArgumentParser(description="Programs written in Python beside C++")
    parser.add_argument("--device", type=arguments.device, choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--shape", type=arguments.shape, metavar="MxNxK", help="of the comparison with C++"
    )
    parser.add_argument("--rounds", type=arguments.count, default=10)
    parser.add_argument(
        "--seconds", type=arguments.seconds, default=0.5, help="for each figure in µs"
    )
    parser.add_argument("--json", type=arguments.result_file, metavar="FILE")
    parser.add_argument("--first-call", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    device = options.device
    if options.first_call:
        print(json.dumps(first_call(device)))
        return
    usual = (16384, 4096, 4096) if device == "cuda" else (1024, 1024, 1024)
    sizes = options.shape or usual
    shape = "x".join(map(str, sizes))
    first, later = first_calls(device), later_calls(device, options.seconds)
    print("first call, s:   " + ", ".join(f"{name} {s:.2f}" for name, s in first.items()))
    print("later calls, µs: " + ", ".join(f"{name} {s:.1f}" for name, s in later.items()))
    python = in_python(device, sizes, options.rounds)
    results: list[dict] = [{"first_call_s": first, "later_calls_us": later}]
    for name in ("bias_gelu", "squared_relu"):
        cpp = in_cpp(device, shape, name, options.rounds)
        results.append({"program": name, "shape": shape, "python_ms": python[name], "cpp_ms": cpp,
                        "linear_ms": python["linear"]})  # fmt: skip
        print(f"{name} {shape}: {python[name]:.4f} ms from Python, {cpp:.4f} ms from C++, "
              f"{python['linear']:.4f} ms torch.ops.coda.linear")  # fmt: skip
    write_results(options.json, Coda(device), results, kind="programs")


if __name__ == "__main__":
    main()
