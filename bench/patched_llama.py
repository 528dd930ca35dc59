"""A training step of transformers' Llama: patched by coda, beside the stock model, eager and
compiled, and beside Liger where it is installed.

    python bench/patched_llama.py --json model_h200.json
    python bench/patched_llama.py --json model_h200.json --first-steps coda compile   # adds them
    python bench/patched_llama.py --device cpu --json model_cpu.json
    python bench/patched_llama.py --contenders coda "coda, nothing again"

Contenders share parameters and optimizer, take turns in one process (race.py), and use PyTorch's
attention (cuDNN on a GPU). `forward + backward` leaves gradients in memory; `step` is that, the
clipping of gradients and AdamW on fp32 weights. With zeros, embeddings and so all activations are
zero. A first step runs in a process of its own, after the imports, from a model that lies on the
device; compilers start from an empty cache there.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import arguments
import torch  # before libcoda, so that both use one OpenMP runtime
from bare_step import BareStep
from capi import Coda
from machine import PowerMeter, check_one_openmp, keep_memory, write_results
from race import Contender, race
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch_model import PRESETS, MasterWeights

DEFAULTS = {"cuda": ("1b", 2, 8192), "cpu": ("small", 4, 512)}
BACKENDS = {
    "cuda": [SDPBackend.CUDNN_ATTENTION],
    "cpu": [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH],
}
USUAL = ("eager", "compile", "Liger", "coda", "coda compiled")
# "Liger compiled" has ended in illegal accesses, after which nothing runs.
NAMES = (*USUAL, "coda, nothing again", "Liger compiled")
TYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}


def make_inputs(a: argparse.Namespace):
    from stock_llama import make_model

    torch.manual_seed(0)
    config = PRESETS[a.model]
    model = make_model(config, a.device, TYPES[a.dtype])
    return model, torch.randint(config.vocab, (a.batch, a.seq), device=a.device)


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def print_first_step(a: argparse.Namespace) -> None:
    """Of the only contender, as JSON."""
    from stock_llama import contender

    if a.first.startswith("coda"):
        import coda  # noqa: F401
    model, tokens = make_inputs(a)
    wait(a.device)
    begin = time.perf_counter()
    contender(a.first, model)(tokens).backward()
    wait(a.device)
    print(json.dumps({"first_step_s": time.perf_counter() - begin}))


def first_step(name: str, a: argparse.Namespace) -> float | None:
    command = [sys.executable, __file__, "--first", name, "--device", a.device, "--dtype", a.dtype]
    command += ["--model", a.model, "--batch", str(a.batch), "--seq", str(a.seq)]
    with tempfile.TemporaryDirectory() as caches:
        folders = {
            key: f"{caches}/{key}" for key in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
        }
        environment = os.environ | folders
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{name}: first step failed: {done.stderr.strip().splitlines()[-1:]}")
        return None
    return json.loads(done.stdout.splitlines()[-1])["first_step_s"]


def add_first_steps(a: argparse.Namespace) -> None:
    """To the file of a race of the same commit."""
    document, commit = json.loads(a.json.read_text()), Coda(a.device).commit()
    if document["commit"] != commit:
        message = f"{a.json} is of commit {document['commit']}, this is {commit}: nothing added"
        raise SystemExit(message)
    seconds = {name: first_step(name, a) for name in a.first_steps}
    for name, taken in seconds.items():
        print(f"{name}: {taken} s")
        for r in document["results"]:
            if r["contender"] == name and taken is not None:
                r["first_step_s"] = taken
    a.json.write_text(json.dumps(document, indent=2) + "\n")
    if None in seconds.values():
        raise SystemExit(1)


class Step:
    """A contender's forward and backward, and the update of the weights that all share."""

    def __init__(self, name: str, loss, tokens: torch.Tensor, weights: MasterWeights):
        self.name, self.loss, self.tokens, self.weights = name, loss, tokens, weights

    def forward_backward(self) -> torch.Tensor:
        self.weights.forget_gradients()
        loss = self.loss(self.tokens)
        loss.backward()
        return loss.detach()

    def racer(self) -> Contender:
        phases = {"forward_backward": self.forward_backward, "update": self.weights.update}
        return Contender(self.name, phases)


def make_steps(a: argparse.Namespace, model, tokens, weights) -> dict[str, Step]:
    """Those that run, each after its first step; their losses agree."""
    from stock_llama import contender

    steps, losses = {}, {}
    for name in a.contenders:
        began = time.perf_counter()
        try:
            step = Step(name, contender(name, model), tokens, weights)
            losses[name] = step.forward_backward().item()
        except Exception as problem:  # a peer's, or a compiler's: the others can still be compared
            if name.startswith("coda"):
                raise
            print(f"{name}: left out: {type(problem).__name__}: {str(problem)[:300]}")
            continue
        steps[name] = step
        print(f"{name:20} loss {losses[name]:.5f}, ready in {time.perf_counter() - began:.1f} s")
        if abs(losses[name] - losses[a.contenders[0]]) > 0.01 * abs(losses[a.contenders[0]]):
            raise SystemExit(f"{name}: the loss differs from {a.contenders[0]}'s: not timed")
    return steps


def bare_racers(a: argparse.Namespace, zeros: bool) -> list[Contender]:
    if a.device != "cuda":
        return []
    step = BareStep(PRESETS[a.model], a.batch, a.seq, TYPES[a.dtype], zeros)
    return [Contender("bare", {"forward_backward": step.forward_backward})]


def bare_times(racers: dict[str, list[Contender]]) -> dict[str, float]:
    return {
        regime: one.medians()["forward_backward"] for regime, both in racers.items() for one in both
    }


def measure(
    a: argparse.Namespace, steps: dict[str, Step], zeros: bool, more: list[Contender]
) -> list[dict]:
    """A line per step. Others race with them."""
    memory = {}
    if a.device == "cuda":
        memory = {
            name: step.weights.peak_over_weights(step.forward_backward)
            for name, step in steps.items()
        }
    racers = [step.racer() for step in steps.values()]
    with PowerMeter() as meter:
        race([*racers, *more], a.rounds, a.device)
    results = []
    for racer in racers:
        both = zip(racer.ms["forward_backward"], racer.ms["update"])
        step_ms = statistics.median(map(sum, both))
        results.append(
            {
                "contender": racer.name,
                "model": a.model,
                "dtype": a.dtype,
                "batch": a.batch,
                "sequence": a.seq,
                "regime": "zeros" if zeros else "random",
                "rounds": a.rounds,
                "forward_backward_ms": racer.medians()["forward_backward"],
                "step_ms": step_ms,
                "tokens_per_second": a.batch * a.seq / step_ms * 1e3,
                "peak_over_weights_bytes": memory.get(racer.name),
                **meter.reading(),
            }
        )
    return results


def print_table(results: list[dict], bare: dict[str, float]) -> None:
    head = f"{'':20} {'data':7}{'fwd+bwd ms':>11}{'step ms':>9}{'tokens/s':>10}"
    print(f"{head}{'GiB':>7}")
    for r in results:
        peak = r["peak_over_weights_bytes"]
        cells = f"{r['forward_backward_ms']:11.1f}{r['step_ms']:9.1f}{r['tokens_per_second']:10.0f}"
        cells += f"{peak / 2**30:7.1f}" if peak else " " * 7
        print(f"{r['contender']:20} {r['regime']:7}{cells}")
    for regime, ms in bare.items():
        print(f"{regime}: its GEMMs and attention alone {ms:.1f} ms")
    for regime in ("random", "zeros"):
        group = [r for r in results if r["regime"] == regime]
        ours = [r for r in group if r["contender"].startswith("coda")]
        for r in group:
            if ours and not r["contender"].startswith("coda"):
                ratios = ", ".join(
                    f"{r['forward_backward_ms'] / one['forward_backward_ms']:.3f} and "
                    f"{r['step_ms'] / one['step_ms']:.3f} ({one['contender']})"
                    for one in ours
                )
                print(f"{regime}: over {r['contender']}: forward + backward and step {ratios}")


def fastest(results: list[dict]) -> str:
    """Of what coda.patch gives by itself, eager or compiled."""
    usual = [name for name in USUAL if name.startswith("coda")]
    ours = [r for r in results if r["contender"] in usual and r["regime"] == "random"]
    return min(ours, key=lambda r: r["step_ms"])["contender"] if ours else "coda"


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="transformers' Llama patched by coda")
    parser.add_argument("--device", type=arguments.device, choices=DEFAULTS, default="cuda")
    parser.add_argument("--model", choices=PRESETS)
    parser.add_argument("--batch", type=arguments.count)
    parser.add_argument("--seq", type=arguments.count)
    parser.add_argument("--dtype", choices=TYPES, default="bf16")
    parser.add_argument("--rounds", type=arguments.count, default=20)
    parser.add_argument("--contenders", nargs="+", choices=NAMES, default=USUAL)
    parser.add_argument("--first-steps", nargs="+", choices=NAMES, help="only these; adds to FILE")
    parser.add_argument("--first", choices=NAMES, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=arguments.count, default=2, help="on the CPU")
    parser.add_argument("--json", type=arguments.result_file, metavar="FILE")
    a = parser.parse_args()
    if a.first_steps and not (a.json and a.json.is_file()):
        parser.error("--first-steps adds to a file that is there: --json FILE")
    model, batch, seq = DEFAULTS[a.device]
    a.model, a.batch, a.seq = a.model or model, a.batch or batch, a.seq or seq
    return a


def main() -> int:
    a = parsed()
    if a.device == "cpu":
        torch.set_num_threads(a.threads)
        keep_memory()
    with sdpa_kernel(BACKENDS[a.device]):
        if a.first:
            print_first_step(a)
            return 0
        if a.first_steps:
            add_first_steps(a)
            return 0
        model, tokens = make_inputs(a)
        weights = MasterWeights(list(model.parameters()))
        steps = make_steps(a, model, tokens, weights)
        bare = {"random": bare_racers(a, zeros=False)}
        results = measure(a, steps, False, bare["random"])
        if a.device == "cuda":
            with torch.no_grad():
                model.model.embed_tokens.weight.zero_()
            fresh = MasterWeights(weights.parameters)
            for step in steps.values():
                step.weights = fresh
            bare["zeros"] = bare_racers(a, zeros=True)
            results += measure(a, steps, True, bare["zeros"])
    if a.device == "cpu":
        check_one_openmp()
    facts = {"kind": "model", "ours": fastest(results), "bare_ms": bare_times(bare)}
    document = write_results(a.json, Coda(a.device), results, **facts)
    where = f"{document['gpu'] or document['machine']}; commit {document['commit']}"
    print(f"{where}; {document['versions']}")
    print_table(results, facts["bare_ms"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
