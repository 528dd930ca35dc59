"""A language model's head, loss and gradients: coda beside PyTorch, and beside Liger and quack
where they can be imported.

    python bench/cross_entropy.py --json bench/results/cross_entropy_h200.json

The loss is the mean over the rows. coda in its three ways (loss_steps.py), of which
`with gradients` is the one for training; `package`: coda.linear_cross_entropy, with autograd.
"""

import argparse
import gc
import sys

import arguments
import torch
import torch.nn.functional as F
from capi import Coda
from cases import Maker
from loss_steps import WAYS, prepare_way
from machine import PowerMeter, write_results
from peers import loss_peers
from race import Contender, race

from coda import linear_cross_entropy

ROWS, COLUMNS = 2048, 16384  # of a chunk
SHAPES = [(h, vocabulary) for vocabulary in (32768, 128256) for h in (2048, 4096, 8192)]


class Head:
    def __init__(self, M: int, h: int, vocabulary: int, device: str, zeros: bool):
        make = Maker(device, zeros=zeros)
        self.x, self.weight = make.activation(M, h), make.weight(vocabulary, h)
        self.target = torch.randint(vocabulary, (M,), device=device)

    def way(self, coda: Coda, name: str) -> Contender:
        given = (self.x, self.weight, self.target)
        phases, _ = prepare_way(coda, name, *given, ROWS, COLUMNS)
        return Contender(f"coda, {name}", phases)

    def autograd(self, name: str, loss) -> Contender:
        x, weight = (t.detach().requires_grad_() for t in (self.x, self.weight))
        state = {}

        def forward():
            with torch.enable_grad():
                state["loss"] = loss(x, weight, self.target)

        def backward():
            torch.autograd.grad(state.pop("loss"), (x, weight))

        return Contender(name, {"forward": forward, "backward": backward})


def plain_loss(x, weight, target):
    return F.cross_entropy((x @ weight.t()).float(), target)


def peak_bytes(contender: Contender) -> int:
    gc.collect()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    for run in contender.phases.values():
        run()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def measure(coda: Coda, M: int, h: int, vocabulary: int, zeros: bool, rounds: int) -> dict:
    torch._dynamo.reset()
    head = Head(M, h, vocabulary, coda.device, zeros)
    contenders, memory = [], {}
    for way in WAYS:
        before = torch.cuda.memory_allocated()
        contenders.append(head.way(coda, way))
        memory[contenders[-1].name] = torch.cuda.memory_allocated() - before
    compiled = torch.compile(plain_loss, fullgraph=True, dynamic=False)
    for name, loss in (
        {"coda package": linear_cross_entropy, "torch.compile": compiled} | loss_peers()
    ).items():
        contenders.append(head.autograd(name, loss))
        peak_bytes(contenders[-1])  # compiles
        memory[name] = peak_bytes(contenders[-1])
    with PowerMeter() as meter:
        race(contenders, rounds, coda.device)
    ms = {contender.name: contender.medians() for contender in contenders}
    return {
        "hidden": h,
        "vocabulary": vocabulary,
        "tokens": M,
        "regime": "zeros" if zeros else "random",
        "rounds": rounds,
        "ms": ms,
        "peak_bytes": memory,
        **meter.reading(),
    }


def print_table(results: list[dict]) -> None:
    print(f"{'h':>6}{'V':>8} {'regime':8}{'contender':24}{'ms':>10}{'over':>8}  phases")
    for r in results:
        base = sum(r["ms"]["torch.compile"].values())
        for name, phases in r["ms"].items():
            total = sum(phases.values())
            each = ", ".join(f"{phase} {ms:.2f}" for phase, ms in phases.items())
            where = f"{r['hidden']:6}{r['vocabulary']:8} {r['regime']:8}"
            print(f"{where}{name:24}{total:10.2f}{base / total:8.3f}  {each}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Cross-entropy beside PyTorch")
    parser.add_argument("--tokens", type=arguments.count, default=16384)
    parser.add_argument("--rounds", type=arguments.count, default=20)
    parser.add_argument("--json", type=arguments.result_file, metavar="FILE")
    a = parser.parse_args()
    arguments.need_gpu(parser)
    torch.manual_seed(1)
    coda = Coda("cuda")
    results = []
    for h, vocabulary in SHAPES:
        for zeros in (False, True):
            sizes = (a.tokens, h, vocabulary)
            results.append(measure(coda, *sizes, zeros, a.rounds))
            print_table(results[-1:])
            gc.collect()
            torch.cuda.empty_cache()
    document = write_results(a.json, coda, results, kind="cross_entropy")
    print(f"\n{document['gpu']}; commit {document['commit']}")
    print_table(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
