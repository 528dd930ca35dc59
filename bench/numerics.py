"""Errors of every operation's outputs against fp64, beside those of eager PyTorch and
torch.compile.

    python bench/numerics.py --json bench/results/numerics_cpu.json
    python bench/numerics.py --device cuda --json bench/results/numerics_h200.json

All compute the same function of the same inputs (cases.py); an error is that of the RMS, relative
to the RMS of the exact values. Exits with 1 where coda's is more than twice the eager one plus
2^-24·√K. bench/tables.py writes the table of docs/numerics.md from the file.
"""

import argparse
import sys
from pathlib import Path

import backward_cases
import cases
import row_cases
import torch  # before libcoda, so that both use one OpenMP runtime
from capi import Coda
from loss_cases import loss_case
from machine import check_one_openmp, write_results

M, N, K, FFN = 384, 768, 512, 1408


def all_cases(make: cases.Maker) -> list[cases.Case]:
    return [
        cases.linear(make, M, N, K),
        cases.linear_residual_norm(make, M, N, K, "kept"),
        cases.linear_residual_norm(make, M, N, K, "folded"),
        cases.linear_swiglu(make, M, FFN, K),
        cases.linear_rope(make, M, 3 * N, K),
        loss_case(make, M, 2000, K),
        backward_cases.linear_swiglu_backward(make, M, FFN, K),
        backward_cases.linear_norm_backward(make, M, N, 2 * FFN, 2, "kept"),
        backward_cases.linear_norm_backward(make, M, N, 2 * FFN, 2, "folded"),
        backward_cases.linear_weight_grad(make, M, N, K, 3, make.type),
        backward_cases.linear_weight_grad(make, M, N, K, 1, "fp32"),
        row_cases.embedding_norm(make, M, K, 1000),
        row_cases.embedding_backward(make, M, K, 100),
        row_cases.rope_backward(make, M, 6, 2, 128, K),
        row_cases.fold_norm_weight(make, N, K),
        row_cases.scale_gradient(make, N, K),
        row_cases.finish_columns(make, 40, N),
        row_cases.square_sums(make, N, K),
        row_cases.clip_factor(make, 100_000),
        row_cases.adamw(make, N, K),
    ]


def error(got: torch.Tensor, exact: torch.Tensor) -> float:
    return ((got.double() - exact).norm() / exact.norm()).item()


def exact_inputs(inputs: cases.Values) -> cases.Values:
    return {name: value.double() for name, value in inputs.items()}


def errors_of(case: cases.Case, coda: Coda, compiled: bool) -> list[dict]:
    exact = case.function(exact_inputs(case.inputs))
    contenders = {"coda": case.coda(coda.run), "eager": case.function(case.inputs)}
    if compiled:
        torch._dynamo.reset()
        contenders["compile"] = torch.compile(case.function, dynamic=False)(case.inputs)
    depth = case.gemm[0].shape[1] if case.gemm else 1
    return [
        {
            "operation": case.operation,
            "variant": case.variant,
            "output": output,
            "K": depth,
            "errors": {name: error(results[output], truth) for name, results in contenders.items()},
        }
        for output, truth in exact.items()
    ]


def too_far(row: dict) -> bool:
    ours, eager = row["errors"]["coda"], row["errors"]["eager"]
    return not ours <= 2 * eager + 2**-24 * row["K"] ** 0.5


def measure(coda: Coda, compiled: bool) -> list[dict]:
    torch.manual_seed(1)
    with torch.no_grad():
        made = all_cases(cases.Maker(coda.device))
        return [row for case in made for row in errors_of(case, coda, compiled)]


def check_all(coda: Coda) -> None:
    for row in measure(coda, compiled=False):
        if too_far(row):
            raise SystemExit(f"{row}: more than twice the error of eager PyTorch")


def main() -> int:
    parser = argparse.ArgumentParser(description="Errors against fp64")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    coda = Coda(arguments.device)
    if arguments.device == "cpu":
        check_one_openmp()
    rows = measure(coda, compiled=True)
    for row in rows:
        figures = "".join(f"{name} {value:.2e}  " for name, value in row["errors"].items())
        mark = "TOO FAR" if too_far(row) else ""
        print(f"{row['operation']:24}{row['variant']:14}{row['output']:9}{figures}{mark}")
    write_results(arguments.json, coda, rows, kind="numerics", torch=torch.__version__)
    return 1 if any(map(too_far, rows)) else 0


if __name__ == "__main__":
    sys.exit(main())
