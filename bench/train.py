"""A training step: coda beside PyTorch, on the same model.

    python bench/train.py --json bench/results/train_cpu.json
    python bench/train.py --device cuda --json bench/results/train_h200.json

All take turns, in an order drawn anew each round, coda in a process of its own that is asked for
its rounds (`coda bench-train`).
`forward + backward` leaves gradients in memory; `step` is that, the clipping by the norm of all
gradients and AdamW on fp32 weights. PyTorch computes in bf16, eager and with torch.compile, with
its fused attention; its optimizer is the fused AdamW on fp32 copies of the weights.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

import arguments
import torch
from machine import PowerMeter, write_results
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch_model import PRESETS, TorchModel

ROOT = Path(__file__).resolve().parent.parent
DEFAULTS = {"cpu": ("small", 8, 512), "cuda": ("1b", 2, 8192)}


class Coda:
    def __init__(self, command: str, device: str, arguments: list[str]):
        self.name, self.device = "coda", device
        self.process = subprocess.Popen(
            [command, "bench-train", "--on-request", "--device", device, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.read()

    def read(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            sys.exit("coda bench-train ended")
        return json.loads(line)

    def round(self) -> dict:
        self.process.stdin.write("round\n")
        self.process.stdin.flush()
        return self.read()

    def finish(self) -> dict:
        self.process.stdin.close()
        self.facts = self.read()
        return self.facts

    def commit(self) -> str:
        return self.facts["commit"]


class Torch:
    """A contender in this process: rounds of `steps` forward and backward, then one update."""

    def __init__(self, name: str, model: TorchModel, tokens: torch.Tensor, steps: int):
        self.name, self.model, self.tokens, self.steps = name, model, tokens, steps
        self.cuda = tokens.device.type == "cuda"

    def wait(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()

    def timed(self, work, repetitions: int = 1) -> float:
        self.wait()
        begin = time.perf_counter()
        for _ in range(repetitions):
            work()
        self.wait()
        return (time.perf_counter() - begin) * 1e3 / repetitions

    def round(self) -> dict:
        return {
            "forward_backward_ms": self.timed(self.forward_backward, self.steps),
            "update_ms": self.timed(self.model.masters.update),
        }

    def forward_backward(self) -> None:
        self.model.masters.forget_gradients()
        self.model.loss(self.tokens, self.tokens).backward()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", type=arguments.device, choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--model", choices=PRESETS)
    parser.add_argument("--batch", type=arguments.count)
    parser.add_argument("--seq", type=arguments.count)
    parser.add_argument("--rounds", type=arguments.count, default=20)
    parser.add_argument("--steps", type=arguments.count, default=1, help="of a round")
    parser.add_argument("--coda", default=os.environ.get("CODA", str(ROOT / "build" / "coda")))
    parser.add_argument("--coda-arguments", default="", help="more of them for coda bench-train")
    parser.add_argument("--json", type=arguments.result_file, metavar="FILE")
    a = parser.parse_args()
    model, batch, seq = DEFAULTS[a.device]
    model, batch, seq = a.model or model, a.batch or batch, a.seq or seq
    shared = ["--model", model, "--batch", str(batch), "--seq", str(seq)]
    shared += ["--steps", str(a.steps), *a.coda_arguments.split()]

    torch.manual_seed(0)
    config = PRESETS[model]
    tokens = torch.randint(0, config.vocab, (batch, seq), device=a.device)
    backend = SDPBackend.CUDNN_ATTENTION if a.device == "cuda" else SDPBackend.FLASH_ATTENTION
    with sdpa_kernel([backend, SDPBackend.MATH] if a.device == "cpu" else backend):
        plain = TorchModel(config, a.device)
        contenders = [Torch("eager", plain, tokens, a.steps)]
        contenders.append(Torch("compile", plain.compiled(), tokens, a.steps))
        for contender in contenders:
            for _ in range(2):
                contender.round()
        memory = {}
        if a.device == "cuda":
            memory = {
                c.name: c.model.masters.peak_over_weights(c.forward_backward) for c in contenders
            }
        contenders.insert(0, Coda(a.coda, a.device, shared))
        times = {c.name: [] for c in contenders}
        order = random.Random(1)
        with PowerMeter() as meter:
            for _ in range(a.rounds):
                for contender in order.sample(contenders, len(contenders)):
                    times[contender.name].append(contender.round())
    facts = contenders[0].finish()

    tokens_per_step = batch * seq
    results = []
    print(f"{model}, {batch} x {seq} tokens, {a.rounds} rounds")
    for name, rounds in times.items():
        forward_backward = statistics.median(r["forward_backward_ms"] for r in rounds)
        step = statistics.median(r["forward_backward_ms"] + r["update_ms"] for r in rounds)
        results.append(
            {
                "contender": name,
                "model": model,
                "batch": batch,
                "sequence": seq,
                "rounds": a.rounds,
                "forward_backward_ms": forward_backward,
                "step_ms": step,
                "tokens_per_second": tokens_per_step / step * 1e3,
                **({"peak_over_weights_bytes": memory[name]} if name in memory else {}),
            }
        )
        print(
            f"{name:8s} forward + backward {forward_backward:9.1f} ms, step {step:9.1f} ms, "
            f"{tokens_per_step / step * 1e3:9.0f} tokens/s"
        )
    planned = facts["planned_bytes"]
    over = sum(planned.values()) - sum(planned[k] for k in ("weights", "fp32 weights", "moments"))
    results[0]["peak_over_weights_bytes"] = over
    results[0]["host_ms"] = statistics.median(r["issue_ms"] for r in times["coda"])
    others = [r for r in results if r["contender"] != "coda"]
    for key in ("forward_backward_ms", "step_ms"):
        ratio = min(r[key] for r in others) / results[0][key]
        print(f"{key[:-3].replace('_', ' + ')}: {ratio:.3f} x the better of eager and compile")
    for name, peak in {**memory, "coda": over}.items():
        print(f"{name}: {peak / 2**30:.2f} GiB over the weights")
    more = {"kind": "train", "facts": facts, **meter.reading()}
    write_results(a.json, contenders[0], results, **more)


if __name__ == "__main__":
    main()
