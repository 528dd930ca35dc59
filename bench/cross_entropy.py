"""A language model's head, loss and gradients: coda beside PyTorch, and beside Liger and quack
where they can be imported.

    python bench/cross_entropy.py --json bench/results/cross_entropy_h200.json

The loss is the mean over the rows. coda in its three ways: gradients made during the forward, a
chunk of rows at a time (`with gradients`, the way for training: fp32 dW); from bf16 logits that
were kept (`from logits`); and from logits made again, a chunk of the vocabulary at a time
(`recompute`). `package`: coda.linear_cross_entropy, with autograd.
"""

import argparse
import ctypes
import gc
import sys
from ctypes import POINTER, c_double, c_int32, c_int64, c_uint64, c_void_p
from pathlib import Path

import torch
import torch.nn.functional as F
from capi import Coda, Options, Tensor, view
from cases import Case, Maker, factor, parts, rstd_of, squares_of, wide
from machine import PowerMeter, write_results
from peers import loss_peers
from race import Contender, race

from coda import linear_cross_entropy

LOSS, WITH_GRADIENTS, FROM_LOGITS, RECOMPUTE = range(4)
MEAN = 2
ROWS, COLUMNS = 2048, 16384  # of a chunk
SHAPES = [(h, vocabulary) for vocabulary in (32768, 128256) for h in (2048, 4096, 8192)]


class Call(ctypes.Structure):
    """coda_cross_entropy"""

    _fields_ = [
        ("size", c_uint64),
        ("step", c_int32),
        ("reduction", c_int32),
        ("x", POINTER(Tensor)),
        ("weight", POINTER(Tensor)),
        ("target", POINTER(Tensor)),
        ("ignore_index", c_int64),
        ("rstd", POINTER(Tensor)),
        ("rstd_width", c_double),
        ("rstd_epsilon", c_double),
        ("soft_cap", c_double),
        ("z_loss", c_double),
        ("smoothing", c_double),
        ("chunk", c_int64),
        ("loss", POINTER(Tensor)),
        ("lse", POINTER(Tensor)),
        ("error", c_void_p),
        ("logits", POINTER(Tensor)),
        ("dz", POINTER(Tensor)),
        ("dloss", POINTER(Tensor)),
        ("dweight", POINTER(Tensor)),
        ("dx", POINTER(Tensor)),
        ("add_to_dweight", c_int32),
        ("dots", POINTER(Tensor)),
    ]


def prepare(coda: Coda, step: int, chunk: int = 0, **tensors):
    """A step that can be repeated, with a workspace of its own."""
    call = Call(size=ctypes.sizeof(Call), step=step, reduction=MEAN, ignore_index=-100, chunk=chunk)
    for name, tensor in tensors.items():
        setattr(call, name, ctypes.pointer(view(tensor)))
    wanted = c_int64()
    place = ctypes.byref(call)
    coda.check(coda.library.coda_cross_entropy_workspace_bytes(place, ctypes.byref(wanted)))
    workspace = torch.empty(wanted.value + 256, dtype=torch.uint8, device=coda.device)
    on_gpu = coda.device == "cuda"
    options = Options(size=ctypes.sizeof(Options), device=int(on_gpu), threads=coda.threads)
    options.workspace = (workspace.data_ptr() + 255) // 256 * 256
    options.workspace_bytes = wanted.value
    keep = (tensors, call, workspace)

    def repeat() -> None:
        if on_gpu:
            options.stream = torch.cuda.current_stream().cuda_stream
        coda.check(coda.library.coda_run_cross_entropy(place, ctypes.byref(options)))
        assert keep is not None  # the call holds addresses only

    return repeat


def loss_case(make: Maker, M: int, vocabulary: int, h: int, normed: bool = False) -> Case:
    """linear_cross_entropy: what the loss is finished from; here finished in fp64. normed: with the
    row factor of a norm."""
    a, w = make.activation(M, h), make.weight(vocabulary, h)
    target = torch.randint(vocabulary, (M,), device=make.device)
    sums = make.partials(parts(vocabulary, 128), 4 * M)
    squares = squares_of(a) if normed else None

    def coda(run):
        ports = dict(target=target, sums=sums, **(factor(h, squares) if normed else {}))
        run("linear_cross_entropy", make.type, a, w, **ports)
        high, exps, _, at_target = sums.double().view(-1, M, 4).unbind(2)
        lse = torch.logsumexp(high + exps.log(), 0)
        return dict(lse=lse, loss=lse - at_target.sum(0))

    def function(v):
        z = wide(v["a"] @ v["w"].t())
        if normed:
            z = z * rstd_of(squares, h)
        lse = torch.logsumexp(z, 1)
        return dict(lse=lse, loss=lse - z.gather(1, target[:, None])[:, 0])

    def usual(v):
        return dict(loss=F.cross_entropy(v["a"] @ v["w"].t(), target))

    inputs, flops = dict(a=a, w=w), 2.0 * M * vocabulary * h
    return Case("linear_cross_entropy", make.type, inputs, function, coda, (a, w.t()), usual, flops)


class Head:
    def __init__(self, M: int, h: int, vocabulary: int, device: str, zeros: bool):
        make = Maker(device, zeros=zeros)
        self.x, self.weight = make.activation(M, h), make.weight(vocabulary, h)
        self.target = torch.randint(vocabulary, (M,), device=device)

    def results(self, keep_logits: bool, dx_type: torch.dtype) -> dict[str, torch.Tensor]:
        made = dict(x=self.x, weight=self.weight, target=self.target)
        fp32 = dict(dtype=torch.float32, device=self.x.device)
        made |= dict(loss=torch.empty(1, **fp32), lse=torch.empty(len(self.x), **fp32))
        made |= dict(dweight=torch.empty(self.weight.shape, **fp32))
        made |= dict(dx=torch.empty(self.x.shape, dtype=dx_type, device=self.x.device))
        if keep_logits:
            made["logits"] = self.x.new_empty(len(self.x), len(self.weight))
        return made

    def with_gradients(self, coda: Coda) -> Contender:
        made = self.results(False, self.x.dtype)
        step = prepare(coda, WITH_GRADIENTS, ROWS, **made)
        return Contender("coda, with gradients", {"step": step})

    def from_logits(self, coda: Coda) -> Contender:
        made = self.results(True, self.x.dtype)
        backward = prepare(coda, FROM_LOGITS, **made, dz=made["logits"])
        phases = {"forward": prepare(coda, LOSS, **made), "backward": backward}
        return Contender("coda, from logits", phases)

    def recompute(self, coda: Coda) -> Contender:
        made = self.results(False, torch.float32)
        backward = prepare(coda, RECOMPUTE, COLUMNS, **made)
        phases = {"forward": prepare(coda, LOSS, **made), "backward": backward}
        return Contender("coda, recompute", phases)

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
    for way in (head.with_gradients, head.from_logits, head.recompute):
        before = torch.cuda.memory_allocated()
        contenders.append(way(coda))
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
    parser.add_argument("--tokens", type=int, default=16384)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    coda = Coda("cuda")
    results = []
    for h, vocabulary in SHAPES:
        for zeros in (False, True):
            sizes = (arguments.tokens, h, vocabulary)
            results.append(measure(coda, *sizes, zeros, arguments.rounds))
            print_table(results[-1:])
            gc.collect()
            torch.cuda.empty_cache()
    document = write_results(arguments.json, coda, results, kind="cross_entropy")
    print(f"\n{document['gpu']}; commit {document['commit']}")
    print_table(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
