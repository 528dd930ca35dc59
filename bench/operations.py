"""Each GEMM operation on a GPU beside cuBLAS's bare GEMM of its shape, beside torch.compile, and
beside Liger, quack and FlashInfer where they are installed.

    python bench/operations.py --json bench/results/operations_h200.json
    python bench/operations.py --sets layer --hidden 2048 4096 --only "F1 kept" F2 B3 \
        --json bench/results/peers_h200.json      # what quack has too

At the shapes of a layer (`layer`), at square ones, N = K = h (`square`), and behind a norm
(`chain`). The bare GEMM is torch.mm into given memory; torch.compile gets the function that a
framework would run there (cases.py: `usual`), allocating its results as compiled code does.
Contenders take turns (race.py), in both regimes: random data, and zero activations. Every result is
compared with fp64 first, at a small shape. `coda` is a call of the C interface into given memory,
`coda operator` the same through torch.ops.coda.
"""

import argparse
import gc
import json
import sys
from collections.abc import Callable
from pathlib import Path

import arguments
import backward_cases
import cases
import torch
from capi import Coda
from loss_cases import loss_case
from machine import PowerMeter, write_results
from numerics import check_all
from peers import peers_of
from race import Contender, race
from table_text import geometric_mean

import coda.operators  # noqa: F401  registers torch.ops.coda

TOKENS = 16384
FFN = {2048: 5632, 4096: 11008, 8192: 22016}
Make = Callable[[cases.Maker], cases.Case]


def layer_cases(M: int, h: int) -> dict[str, Make]:
    """By what stands in the layer's list."""
    ffn = FFN[h]
    return {
        "F1 kept": lambda m: cases.linear_residual_norm(m, M, h, h, "kept"),
        "F1 folded": lambda m: cases.linear_residual_norm(m, M, h, h, "folded"),
        "F2": lambda m: cases.linear_swiglu(m, M, ffn, h),
        "F3 kept": lambda m: cases.linear_residual_norm(m, M, h, ffn, "kept"),
        "F3 folded": lambda m: cases.linear_residual_norm(m, M, h, ffn, "folded"),
        "F4": lambda m: cases.linear_rope(m, M, 3 * h, h),
        "F5, 32768": lambda m: loss_case(m, M, 32768, h),
        "F5, 128256": lambda m: loss_case(m, M, 128256, h),
        "B1 kept": lambda m: backward_cases.linear_norm_backward(m, M, h, 3 * h, 3, "kept"),
        "B1 folded": lambda m: backward_cases.linear_norm_backward(m, M, h, 3 * h, 3, "folded"),
        "B2": lambda m: backward_cases.linear_weight_grad(m, M, 3 * h, h, 3, "bf16"),
        "B3": lambda m: backward_cases.linear_swiglu_backward(m, M, ffn, h),
        "B4": lambda m: backward_cases.linear_weight_grad(m, M, h, ffn, 1, "bf16"),
        "B5 kept": lambda m: backward_cases.linear_norm_backward(m, M, h, 2 * ffn, 2, "kept"),
        "B5 folded": lambda m: backward_cases.linear_norm_backward(m, M, h, 2 * ffn, 2, "folded"),
        "B6": lambda m: backward_cases.linear_weight_grad(m, M, 2 * ffn, h, 2, "bf16"),
        "B7": lambda m: cases.linear(m, M, h, h),
        "B7 dW": lambda m: backward_cases.linear_weight_grad(m, M, h, h, 1, "bf16"),
        "B7 dW, fp32": lambda m: backward_cases.linear_weight_grad(m, M, h, h, 1, "fp32"),
    }


def square_cases(M: int, h: int) -> dict[str, Make]:
    return {
        "linear": lambda m: cases.linear(m, M, h, h),
        "residual+norm kept": lambda m: cases.linear_residual_norm(m, M, h, h, "kept"),
        "residual+norm folded": lambda m: cases.linear_residual_norm(m, M, h, h, "folded"),
        "SwiGLU": lambda m: cases.linear_swiglu(m, M, h, h),
        "SwiGLU backward": lambda m: backward_cases.linear_swiglu_backward(m, M, h, h),
        "norm backward kept": lambda m: backward_cases.linear_norm_backward(m, M, h, h, 1, "kept"),
        "norm backward folded": lambda m: backward_cases.linear_norm_backward(
            m, M, h, h, 1, "folded"
        ),
        "weight gradient": lambda m: backward_cases.linear_weight_grad(m, M, h, h, 1, "bf16"),
    }


def chain_cases(M: int, h: int) -> dict[str, Make]:
    """From the stream through a norm."""
    ffn, after = FFN[h], cases.after_norm
    return {
        "norm, linear": lambda m: after(cases.linear(m, M, h, h, normed=True)),
        "norm, SwiGLU": lambda m: after(cases.linear_swiglu(m, M, ffn, h)),
        "norm, RoPE": lambda m: after(cases.linear_rope(m, M, 3 * h, h)),
        "norm, cross-entropy": lambda m: after(loss_case(m, M, 32768, h, normed=True)),
    }


SETS = {"layer": layer_cases, "square": square_cases, "chain": chain_cases}


def prepared(coda: Coda, case: cases.Case) -> Callable[[], None]:
    calls = []
    case.coda(lambda *call, **arguments: calls.append(coda.prepare(*call, **arguments)))
    assert len(calls) == 1
    return calls[0]


def checked_operator(coda: Coda, case: cases.Case) -> Contender:
    """The PyTorch package's call; it gives the bits that the C interface gives."""
    result = case.operator()
    first = result if isinstance(result, torch.Tensor) else result[0]
    expected = next(iter(case.coda(coda.run).values()))
    if not torch.equal(first, expected):
        raise SystemExit(f"{case.operation} {case.variant}: the operator gives other numbers")
    return Contender("coda operator", {"all": case.operator})


def measure(coda: Coda, make: Make, normed: bool, zeros: bool, rounds: int) -> dict:
    torch._dynamo.reset()
    case = make(cases.Maker("cuda", zeros=zeros))
    a, b = case.gemm
    out = torch.empty(a.shape[0], b.shape[1], device="cuda", dtype=a.dtype)
    compiled = torch.compile(case.usual or case.function, fullgraph=True, dynamic=False)
    contenders = [
        Contender("coda", {"all": prepared(coda, case)}),
        Contender("torch.mm", {"all": lambda: torch.mm(a, b, out=out)}),
        Contender("torch.compile", {"all": lambda: compiled(case.inputs)}),
    ]
    with PowerMeter() as meter, torch.no_grad():
        if case.operator:
            contenders.append(checked_operator(coda, case))
        for name, way in peers_of(case, normed).items():
            contenders.append(Contender(name, {"all": way}))
        race(contenders, rounds, "cuda")
    ms = {contender.name: contender.medians()["all"] for contender in contenders}
    return {
        "operation": case.operation,
        "variant": case.variant,
        "M": a.shape[0],
        "N": b.shape[1],
        "K": a.shape[1],
        "regime": "zeros" if zeros else "random",
        "rounds": rounds,
        "ms": ms,
        "over_gemm": ms["torch.mm"] / ms["coda"],
        "over_compile": ms["torch.compile"] / ms["coda"],
        "tflops": case.flops / ms["coda"] * 1e-9,
        **meter.reading(),
    }


def print_rows(results: list[dict]) -> None:
    for r in results:
        shape = f"{r['M']}x{r['N']}x{r['K']}"
        figures = f"{r['ms']['coda']:9.3f}{r['over_gemm']:10.3f}{r['over_compile']:12.3f}"
        print(f"{r['set']:7}{r['name']:22}{r['variant']:13}{shape:20}{r['regime']:8}{figures}")


def print_means(results: list[dict]) -> None:
    """Over all shapes, by set and regime, and of each operation."""
    groups: dict[tuple, list[dict]] = {}
    for r in results:
        groups.setdefault((r["set"], r["regime"], "all"), []).append(r)
        groups.setdefault((r["set"], r["regime"], r["operation"]), []).append(r)
    head = f"{'set':7}{'regime':8}{'operation':24}"
    print(f"{head}{'over GEMM (worst)':>20}{'over compile (worst)':>23}")
    for (name, regime, operation), group in sorted(groups.items()):
        cells = ""
        for key, width in (("over_gemm", 20), ("over_compile", 23)):
            values = [r[key] for r in group]
            cells += f"{f'{geometric_mean(values):.3f} ({min(values):.3f})':>{width}}"
        print(f"{name:7}{regime:8}{operation:24}{cells}")


def results_to_add_to(
    parser: argparse.ArgumentParser, file: Path | None, commit: str
) -> list[dict]:
    if file is None or not file.is_file():
        parser.error("--add adds to a file that is there: --json FILE")
    document = json.loads(file.read_text())
    if document["commit"] != commit:
        parser.error(f"{file} is of commit {document['commit']}, this is {commit}: nothing to add")
    return document["results"]


def others(before: list[dict], results: list[dict]) -> list[dict]:
    """Of results before those of cases that were not measured now."""

    def key(r: dict) -> tuple:
        return tuple(r[name] for name in ("set", "name", "hidden", "regime"))

    again = {key(r) for r in results}
    return [r for r in before if key(r) not in again]


def main() -> int:
    parser = argparse.ArgumentParser(description="Operations beside cuBLAS and torch.compile")
    parser.add_argument("--hidden", type=int, nargs="+", default=list(FFN), choices=FFN)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--only", nargs="+", help="cases whose name holds one of these")
    parser.add_argument("--rounds", type=arguments.count, default=20)
    parser.add_argument("--json", type=arguments.result_file, metavar="FILE")
    parser.add_argument("--add", action="store_true", help="to what FILE has of other cases")
    a = parser.parse_args()
    arguments.need_gpu(parser)
    torch.manual_seed(1)
    coda = Coda("cuda")
    before = results_to_add_to(parser, a.json, coda.commit()) if a.add else []
    check_all(coda)
    print(
        f"{'set':7}{'case':22}{'variant':13}{'M x N x K':20}{'regime':8}{'ms':>9}{'over GEMM':>10}"
    )
    results = []
    for h in a.hidden:
        for name_of_set in a.sets:
            for name, make in SETS[name_of_set](TOKENS, h).items():
                if a.only and not any(part in name for part in a.only):
                    continue
                for zeros in (False, True):
                    row = {"set": name_of_set, "name": name, "hidden": h}
                    normed = name_of_set == "chain"
                    results.append(row | measure(coda, make, normed, zeros, a.rounds))
                    print_rows(results[-1:])
                    gc.collect()
                    torch.cuda.empty_cache()
    results = others(before, results) + results
    document = write_results(a.json, coda, results, kind="operations")
    print(f"\n{document['gpu']}; commit {document['commit']}")
    print_means(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
