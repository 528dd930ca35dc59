"""coda beside PyTorch on the CPU, in one process, contenders taking turns (A B C A B C ...).

    pip install torch==2.13.0          # the CPU build is enough
    make build
    python bench/torch_cpu.py --json bench/results/torch_cpu.json

The baseline of a fused operation is the fastest of several ways to write it in PyTorch: eager and
torch.compile (which needs a C++ compiler). Every result is compared with an fp32 evaluation first;
none is timed that is more than twice as far off as PyTorch's own. docs/benchmarking.md says more.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import arguments
import torch  # before libcoda, so that both use one OpenMP runtime
import torch.nn.functional as F
from capi import Coda, pair
from machine import check_one_openmp, keep_memory, machine, write_results

SHAPES = ((1024, 1024, 1024), (4096, 2048, 2048), (2048, 5632, 2048))
EPSILON = 1e-5


@dataclass
class Contender:
    name: str  # "coda", or what PyTorch runs
    run: Callable[[], object]
    ms: list[float] = field(default_factory=list)

    def median(self) -> float:
        return statistics.median(self.ms)


@dataclass
class Race:
    operation: str
    variant: str
    dtype: str
    flops: float
    contenders: list[Contender]  # coda's first

    def result(self, shape: tuple[int, int, int], rounds: int) -> dict:
        ours, *others = self.contenders
        best = min(others, key=Contender.median)
        ms, baseline_ms = ours.median(), best.median()
        return {
            "operation": self.operation,
            "variant": self.variant,
            "backend": "cpu",
            "dtype": self.dtype,
            **dict(zip("MNK", shape, strict=True)),
            "config": "default",
            "chosen": True,
            "regime": "random",
            "rounds": rounds,
            "ms": ms,
            "baseline": best.name,
            "baseline_ms": baseline_ms,
            "speedup": baseline_ms / ms,
            "tflops": self.flops / ms * 1e-9,
            "clock_mhz": None,
            "power_w": None,
            "others_ms": {other.name: other.median() for other in others},
        }


def error(got: torch.Tensor, exact: torch.Tensor) -> float:
    return ((got.float() - exact).norm() / exact.norm()).item()


def check(name: str, ours: torch.Tensor, theirs: torch.Tensor, exact: torch.Tensor, K: int):
    """The error rule: at most twice the error of the unfused computation, plus a floor."""
    bound = 2 * error(theirs, exact) + 2**-24 * K**0.5
    if not error(ours, exact) <= bound:
        raise SystemExit(f"{name}: error {error(ours, exact):.2e}, at most {bound:.2e}: not timed")


def linear(coda: Coda, shape, dtype: torch.dtype) -> Race:
    M, N, K = shape
    a, w = torch.randn(M, K, dtype=dtype), torch.randn(N, K, dtype=dtype)
    ours, theirs = torch.empty(M, N, dtype=dtype), torch.empty(M, N, dtype=dtype)
    name = {torch.bfloat16: "bf16", torch.float32: "fp32"}[dtype]
    run = coda.prepare("linear", name, a, w, out=ours)
    run()
    torch.mm(a, w.t(), out=theirs)
    exact = a.double() @ w.double().t() if dtype == torch.float32 else a.float() @ w.float().t()
    check(f"linear {name} {shape}", ours, theirs, exact, K)
    contenders = [
        Contender("coda", run),
        Contender("torch.mm", lambda: torch.mm(a, w.t(), out=theirs)),
    ]
    return Race("linear", name, name, 2.0 * M * N * K, contenders)


def residual_norm(a, w, x, gamma):
    y = a @ w.t() + x
    return y, F.rms_norm(y, gamma.shape, gamma, EPSILON)


def residual_norm_addmm(a, w, x, gamma):
    y = torch.addmm(x, a, w.t())
    return y, F.rms_norm(y, gamma.shape, gamma, EPSILON)


def linear_residual_norm(coda: Coda, shape) -> Race:
    M, N, K = shape
    a, w, x = (torch.randn(s, dtype=torch.bfloat16) for s in ((M, K), (N, K), (M, N)))
    gamma = torch.randn(N, dtype=torch.bfloat16)
    out, scaled = torch.empty_like(x), torch.empty_like(x)
    squares = torch.empty((N + 63) // 64, M)
    ports = dict(residual=x, gamma=gamma, out=out, scaled=scaled, squares=squares)
    run = coda.prepare("linear_residual_norm", "kept-bf16", a, w, **ports)
    run()
    compiled = torch.compile(residual_norm)
    exact = residual_norm(*(t.float() for t in (a, w, x, gamma)))
    theirs = residual_norm(a, w, x, gamma)
    rstd = torch.rsqrt(squares.sum(0) / N + EPSILON)
    check(f"residual {shape}", out, theirs[0], exact[0], K)
    check(f"norm {shape}", scaled.float() * rstd[:, None], theirs[1], exact[1], K)
    contenders = [
        Contender("coda", run),
        Contender("torch eager", lambda: residual_norm(a, w, x, gamma)),
        Contender("torch eager, addmm", lambda: residual_norm_addmm(a, w, x, gamma)),
        Contender("torch.compile", lambda: compiled(a, w, x, gamma)),
    ]
    return Race("linear_residual_norm", "kept-bf16", "bf16", 2.0 * M * N * K, contenders)


def swiglu(x, gate, up):
    return F.silu(x @ gate.t()) * (x @ up.t())


def swiglu_joined(x, joined):
    g, u = (x @ joined.t()).chunk(2, dim=1)
    return F.silu(g) * u


def linear_swiglu(coda: Coda, shape) -> Race:
    """PyTorch starts from the normalised input, coda from the unnormalised one and its Σx²."""
    M, N, K = shape
    x = torch.randn(M, K, dtype=torch.bfloat16)
    gate, up = (torch.randn(N, K, dtype=torch.bfloat16) / K**0.5 for _ in range(2))
    joined = torch.cat((gate, up))
    squares = x.float().square().view(M, -1, 64).sum(2).t().contiguous()
    normed = F.rms_norm(x, (K,), None, EPSILON)
    out = torch.empty(M, N, dtype=torch.bfloat16)
    numbers = dict(rstd__width=float(K), rstd__epsilon=EPSILON)
    weights = pair(gate, up)
    run = coda.prepare("linear_swiglu", "bf16", x, weights, rstd=squares, out=out, **numbers)
    run()
    compiled, compiled_joined = torch.compile(swiglu), torch.compile(swiglu_joined)
    exact = swiglu(F.rms_norm(x.float(), (K,), None, EPSILON), gate.float(), up.float())
    check(f"swiglu {shape}", out, swiglu(normed, gate, up), exact, K)
    contenders = [
        Contender("coda", run),
        Contender("torch eager", lambda: swiglu(normed, gate, up)),
        Contender("torch eager, one weight", lambda: swiglu_joined(normed, joined)),
        Contender("torch.compile", lambda: compiled(normed, gate, up)),
        Contender("torch.compile, one weight", lambda: compiled_joined(normed, joined)),
    ]
    return Race("linear_swiglu", "bf16", "bf16", 4.0 * M * N * K, contenders)


def measure(races: list[Race], rounds: int, label: str) -> None:
    contenders = [contender for race in races for contender in race.contenders]
    for turn in range(-2, rounds):  # two rounds to compile and to warm up
        for contender in contenders:
            start = time.perf_counter()
            contender.run()
            if turn >= 0:
                contender.ms.append((time.perf_counter() - start) * 1e3)
        if sys.stderr.isatty():
            print(f"\r{label}: round {turn + 1}/{rounds}\033[K", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)


def print_table(results: list[dict]) -> None:
    head = f"{'operation':22}{'type':6}{'M':>6}{'N':>6}{'K':>6}{'coda ms':>10}"
    print(f"{head}{'torch ms':>10}{'speedup':>9}  fastest PyTorch")
    for r in results:
        sizes = f"{r['M']:6}{r['N']:6}{r['K']:6}"
        times = f"{r['ms']:10.2f}{r['baseline_ms']:10.2f}{r['speedup']:9.2f}"
        print(f"{r['operation']:22}{r['dtype']:6}{sizes}{times}  {r['baseline']}")


def main() -> int:
    parser = argparse.ArgumentParser(description="coda beside PyTorch on the CPU")
    parser.add_argument("--shape", nargs="+", type=arguments.shape, default=SHAPES, metavar="MxNxK")
    parser.add_argument("--rounds", type=arguments.count, default=20)
    parser.add_argument("--threads", type=arguments.count, default=2)
    parser.add_argument("--json", type=arguments.result_file, metavar="FILE")
    a = parser.parse_args()
    if any(k % 64 != 0 for _, _, k in a.shape):
        parser.error("--shape: expected K a multiple of 64, of which a partial sum is")

    keep_memory()
    torch.manual_seed(1)
    torch.set_num_threads(a.threads)
    torch.set_grad_enabled(False)
    coda = Coda(threads=a.threads)
    check_one_openmp()
    results = []
    for shape in a.shape:
        races = [
            linear(coda, shape, torch.bfloat16),
            linear(coda, shape, torch.float32),
            linear_residual_norm(coda, shape),
            linear_swiglu(coda, shape),
        ]
        measure(races, a.rounds, "x".join(map(str, shape)))
        results += [race.result(shape, a.rounds) for race in races]
    version = coda.library.coda_version().decode()
    print(f"{machine()}; {a.threads} threads; coda {version}, torch {torch.__version__}")
    print_table(results)
    write_results(a.json, coda, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
