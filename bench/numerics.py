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

import arguments
import backward_cases
import cases
import layer_norm_cases
import loss_cases
import rope_cases
import row_cases
import torch  # before libcoda, so that both use one OpenMP runtime
from capi import Coda
from loss_steps import WAYS
from machine import check_one_openmp, write_results

M, N, K, FFN, VOCABULARY = 384, 768, 512, 1408, 2000
HEADS = dict(q=6, k=2, v=2)
Cases = list[cases.Case]


def forward_cases(bf16: cases.Maker, fp16: cases.Maker) -> Cases:
    """In fp16 without z and before, which no GPU kernel keeps."""
    both = (bf16, fp16)
    forms = (rope_cases.BIASES, rope_cases.HEAD_NORMS)
    return [
        *(cases.linear(make, M, N, K) for make in both),
        cases.linear_sum(bf16, M, N, K, biased=bf16.device == "cpu"),  # no GPU kernel adds both
        *(
            cases.linear_residual_norm(make, M, N, K, form)
            for form in ("kept", "folded")
            for make in both
        ),
        *(cases.linear_swiglu(make, M, FFN, K) for make in both),
        *(cases.linear_swiglu(bf16, M, FFN, K, name) for name in ("gelu", "gelu_tanh", "relu")),
        *(cases.linear_rope(make, M, 3 * N, K) for make in both),
        *(
            rope_cases.linear_rope(make, M, 3 * N, K, form, make is bf16)
            for form in forms
            for make in both
        ),
        *(loss_cases.loss_case(make, M, VOCABULARY, K) for make in both),
        *(layer_norm_cases.linear_residual_layer_norm(make, M, N, K) for make in both),
        *(
            layer_norm_cases.linear_activation(make, M, N, K, "gelu_tanh", make is bf16)
            for make in both
        ),
        layer_norm_cases.linear_activation(bf16, M, N, K, "gelu"),
    ]


def backward_gemm_cases(coda: Coda, bf16: cases.Maker, fp16: cases.Maker) -> Cases:
    head = (M, VOCABULARY, K)
    every_term = (loss_cases.Terms(), loss_cases.ALL_TERMS)
    return [
        *(
            backward_cases.linear_swiglu_backward(bf16, M, FFN, K, name)
            for name in cases.ACTIVATIONS
        ),
        backward_cases.linear_norm_backward(bf16, M, N, 2 * FFN, 2, "kept"),
        backward_cases.linear_norm_backward(bf16, M, N, 2 * FFN, 2, "folded"),
        *(
            backward_cases.linear_weight_grad(make, M, N, K, segments, out_type)
            for make in (bf16, fp16)
            for segments, out_type in ((3, make.type), (1, "fp32"))
        ),
        *(
            backward_cases.linear_weight_grad(bf16, M, N, K, 1, out_type, squared=True)
            for out_type in ("bf16", "fp32")
        ),
        backward_cases.folded_weight_grad(bf16, M, N, K),
        *(
            loss_cases.loss_gradients(bf16, coda, *head, way, terms)
            for terms in every_term
            for way in WAYS
        ),
        *(loss_cases.logit_gradient(bf16, *head, terms) for terms in every_term),
        layer_norm_cases.linear_activation_backward(bf16, M, FFN, K, "gelu_tanh"),
        layer_norm_cases.linear_activation_backward(bf16, M, FFN, K, "gelu"),
        layer_norm_cases.linear_layer_norm_backward(bf16, M, N, FFN),
    ]


def cases_of_rows(bf16: cases.Maker, fp16: cases.Maker) -> Cases:
    both = (bf16, fp16)
    forms = ("", rope_cases.BIASES, rope_cases.HEAD_NORMS)
    return [
        *(row_cases.embedding_norm(make, M, K, 1000) for make in both),
        *(row_cases.norm_inputs(make, M, K) for make in both),
        *(row_cases.embedding_positions(make, M, K, 1000) for make in both),
        row_cases.embedding_backward(bf16, M, K, 100),
        *(rope_cases.rope_backward(bf16, M, HEADS, 128, K, form) for form in forms),
        *(layer_norm_cases.layer_norm(make, M, K) for make in both),
        *(layer_norm_cases.layer_norm_inputs(make, M, K) for make in both),
        layer_norm_cases.layer_norm_backward(bf16, M, K),
        layer_norm_cases.layer_norm_sums(bf16, M, K),
        *(row_cases.fold_norm_weight(make, N, K) for make in both),
        row_cases.scale_gradient(bf16, N, K),
        row_cases.finish_columns(bf16, 40, N),
        row_cases.square_sums(bf16, N, K),
        row_cases.clip_factor(bf16, 100_000),
        row_cases.adamw(bf16, N, K),
    ]


def all_cases(coda: Coda) -> dict[str, Cases]:
    """By the table that they stand in."""
    bf16, fp16 = (cases.Maker(coda.device, dtype) for dtype in (torch.bfloat16, torch.float16))
    return {
        "forward": forward_cases(bf16, fp16),
        "backward": backward_gemm_cases(coda, bf16, fp16),
        "rows": cases_of_rows(bf16, fp16),
    }


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
            "options": case.options,
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
        return [
            {"table": table, **row}
            for table, made in all_cases(coda).items()
            for case in made
            for row in errors_of(case, coda, compiled)
        ]


def check_all(coda: Coda) -> None:
    for row in measure(coda, compiled=False):
        if too_far(row):
            raise SystemExit(f"{row}: more than twice the error of eager PyTorch")


def main() -> int:
    parser = argparse.ArgumentParser(description="Errors against fp64")
    parser.add_argument("--device", type=arguments.device, choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--json", type=arguments.result_file, metavar="FILE")
    a = parser.parse_args()
    coda = Coda(a.device)
    if a.device == "cpu":
        check_one_openmp()
    rows = measure(coda, compiled=True)
    for row in rows:
        figures = "".join(f"{name} {value:.2e}  " for name, value in row["errors"].items())
        mark = "TOO FAR" if too_far(row) else ""
        named = f"{row['operation']:30}{row['variant']:18}{row['options']:44}{row['output']:10}"
        print(f"{named}{figures}{mark}")
    write_results(a.json, coda, rows, kind="numerics")
    return 1 if any(map(too_far, rows)) else 0


if __name__ == "__main__":
    sys.exit(main())
