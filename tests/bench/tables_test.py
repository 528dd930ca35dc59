"""bench/tables.py: fills tables, leaves the rest alone, and tells stale ones from current ones."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "bench" / "tables.py"

RESULT = {
    "operation": "linear",
    "variant": "fp32",
    "backend": "cpu",
    "dtype": "fp32",
    "M": 64,
    "N": 32,
    "K": 16,
    "config": "avx2",
    "chosen": True,
    "regime": "random",
    "rounds": 20,
    "ms": 2.0,
    "baseline": "openblas",
    "baseline_ms": 3.0,
    "speedup": 1.5,
    "tflops": 0.1,
    "clock_mhz": None,
    "power_w": None,
}
ALONE = {**RESULT, "variant": "bf16", "baseline": None, "baseline_ms": None, "speedup": None}
DOCUMENT = {"commit": "abc", "machine": "a processor", "gpu": None, "results": [RESULT, ALONE]}

BEFORE = """above
<!-- table: cpu -->
old
<!-- /table -->
below
<!-- table: other -->
<!-- /table -->
"""
AFTER = """above
<!-- table: cpu -->
| operation | variant | against | 64×32×16 |
| --- | --- | --- | ---: |
| `linear` | fp32 | openblas | 2.0 ms, 1.50× |
| `linear` | bf16 |  | 2.0 ms |

a processor; commit abc; medians of 20 rounds.
<!-- /table -->
below
<!-- table: other -->
Not measured yet.
<!-- /table -->
"""


NUMERICS = {
    "kind": "numerics",
    "commit": "abc",
    "machine": "a processor",
    "gpu": None,
    "torch": "2",
    "results": [
        {
            "table": table,
            "operation": "linear",
            "variant": "bf16",
            "options": options,
            "output": "out",
            "K": 64,
            "errors": {"coda": 0.001, "eager": 0.002, "compile": 0.0015},
        }
        for table, options in (("forward", ""), ("backward", "bias"))
    ],
}
TIMES = {"inference": 1.0, "forward": 1.0, "backward": 2.0, "forward+backward": 3.0}
LAYER = {
    **NUMERICS,
    "kind": "layer",
    "results": [
        {
            "hidden": 64,
            "regime": "random",
            "rounds": 20,
            "ms": {
                "coda kept": TIMES,
                "coda folded": TIMES,
                "torch eager": {phase: 3 * ms for phase, ms in TIMES.items()},
                "torch.compile": {phase: 2 * ms for phase, ms in TIMES.items()},
                "GEMMs": {"forward": 0.5, "backward": 1.0, "forward+backward": 1.5},
            },
        }
    ],
}
OPERATIONS = {
    **NUMERICS,
    "kind": "operations",
    "results": [
        {
            "set": "layer",
            "operation": "linear",
            "variant": "bf16",
            "regime": regime,
            "rounds": 20,
            "ms": {"coda": 1.0, "torch.mm": over, "torch.compile": 2 * over, "quack": 3 * over},
        }
        for regime in ("random", "zeros")
        for over in (1.0, 4.0)
    ],
}
STEP = {"model": "tiny", "batch": 2, "sequence": 64, "rounds": 20, "tokens_per_second": 5.0}
TRAIN = {
    **NUMERICS,
    "kind": "train",
    "results": [
        {**STEP, "contender": name, "forward_backward_ms": 10.0 * ms, "step_ms": 12.0 * ms}
        for name, ms in (("coda", 2), ("eager", 4), ("compile", 3))
    ],
}
MODEL = {
    **TRAIN,
    "kind": "model",
    "ours": "coda",
    "results": [
        {**r, "regime": regime, "peak_over_weights_bytes": 2**30, "first_step_s": 1.25}
        for regime in ("random", "zeros")
        for r in TRAIN["results"]
    ],
}
HEAD = {
    **NUMERICS,
    "kind": "cross_entropy",
    "results": [
        {
            "hidden": 64,
            "vocabulary": 100,
            "regime": "random",
            "rounds": 20,
            "ms": {"coda": {"step": 2.0}, "torch.compile": {"forward": 1.0, "backward": 2.0}},
            "peak_bytes": {"coda": 2**30, "torch.compile": 2**31},
        }
    ],
}
PYTHON_PROGRAMS = {
    **NUMERICS,
    "kind": "programs",
    "results": [
        {
            "first_call_s": {"forward": 1.5, "backward": 0.5},
            "later_calls_us": {"call": 20.4, "recorded": 60.0, "libcoda": 4.0},
        },
        {"program": "gated", "python_ms": 2.0, "cpp_ms": 2.01, "linear_ms": 1.5},
    ],
}
OWN_PROGRAMS = {
    "commit": "abc",
    "machine": "a processor",
    "gpu": "a GPU",
    "results": [
        {**RESULT, "layout": "forward", "operation": name, "regime": regime, "ms": ms}
        for name, times in (("linear", (1.0, 0.9)), ("gated", (2.0, 0.9)))
        for regime, ms in zip(("random", "zeros"), times, strict=True)
    ],
}
CEILING = {
    "kind": "ceiling",
    "commit": "abc",
    "gpu": "a GPU",
    "results": [
        {
            "contender": "cuBLAS",
            "tile": "64x8",
            "regime": regime,
            "rounds": 3,
            "tflops": tflops,
            "clock_mhz": 1500.4,
            "power_w": 690.0,
        }
        for regime, tflops in (("random", 612.4), ("zeros", 700.0))
    ],
}
PARTS = {"operator": 5.0, "recorded": 9.0, "kernel": 3.0, "allocation": 1.0, "libcoda": 1.5}
OVERHEAD = {
    **NUMERICS,
    "kind": "overhead",
    "layer": {"operator": 40.0, "recorded": 80.4},
    "results": [
        {"operator": "linear", "microseconds": PARTS},
        {"operator": "slow", "microseconds": {**PARTS, "operator": 7.0, "recorded": 8.0}},
    ],
}


def decode(*least: float) -> dict:
    """By number of tokens: 1, 2, 4; another size is faster throughout."""
    results = [
        {
            "hidden": hidden,
            "dtype": "bf16",
            "cached": 0,
            "tokens": 2**i,
            "rounds": 20,
            "ms": {"stock": 1.0, "patched": 1 / (speed * more), "default": 1 / (1.5 * more)},
        }
        for hidden, more in ((64, 1), (128, 2))
        for i, speed in enumerate(least)
    ]
    return {**NUMERICS, "kind": "decode", "results": results}


KINDS = (
    (decode(0.9, 0.98, 1.2), "| 64 | bf16 | 0 | 0.90× | 0.98× | 1.20× |"),
    (decode(0.9, 0.98, 1.2), "| default, least |  |  | 1.50× | 1.50× | 1.50× |"),
    (
        decode(0.9, 0.99, 1.2),
        "reach 0.98 of the stock model's speed in every case from 2 tokens on. a processor",
    ),
    (decode(1.2, 0.97, 1.2), "in every case from 4 tokens on."),
    (
        decode(1.2, 1.2, 0.97),
        "Run as coda programs, 4 tokens do not reach 0.98 of the stock model's speed in every",
    ),
    (OVERHEAD, "| without gradients | 5.0 (`linear`) to 7.0 (`slow`) |"),
    (OVERHEAD, "| recorded for a backward pass | 8.0 (`slow`) to 9.0 (`linear`) |"),
    (OVERHEAD, "| of it PyTorch's dispatcher | 2.0 |"),
    (OVERHEAD, "five operators | 40, recorded 80 |"),
    ({**TRAIN, "commit": "abc-dirty"}, "PyTorch 2; commit abc **with changes**; medians"),
    ({**TRAIN, "date": "2026-01-31"}, "PyTorch 2; commit abc, measured 2026-01-31; medians"),
    (CEILING, "| cuBLAS | 64×8 | 612 | 1500 | 690 | 700 | 1500 | 690 |"),
    (
        {**MODEL, "bare_ms": {"random": 25.0, "zeros": 15.0}},
        "by torch.mm, and attention alone take 25.0 ms. With zeros, where power limits the clock "
        "less, forward and backward take: coda 20.0 ms, eager 40.0 ms, compile 30.0 ms, GEMMs and "
        "attention alone 15.0 ms.",
    ),
    (PYTHON_PROGRAMS, "| `gated` | 2.000 ms | 2.010 ms | 1.500 ms |"),
    (MODEL, "| compile | 30.0 ms | 36.0 ms | 5 | 1.50× | 1.00 GiB | 1.2 s |"),
    (HEAD, "| 64 | 100 | coda | 2.00 ms | 1.00 GiB | 1.50× |"),
    (TRAIN, "| coda over the faster | 1.50× | 1.50× |  |  |"),
    (NUMERICS, "| `linear` | bf16 | `out` | 1.0e-03 | 2.0e-03 | 1.5e-03 | 0.50 |\n\n**Backward**"),
    (NUMERICS, "| `linear` | bf16, bias | `out` | 1.0e-03 | 2.0e-03 | 1.5e-03 | 0.50 |\n\na proc"),
    (LAYER, "| 64 | random | backward | 4.00 ms | 1.00 ms | 2.00 ms | 2.00× | 0.50× | 2.00 ms |"),
    (OPERATIONS, "| layer | `linear` | bf16 | 2.000 (1.000) | 2.000 (1.000) | 4.000 (2.000) |"),
    (OPERATIONS, "| 6.000 (3.000) | 6.000 (3.000) |"),  # over quack
)


def tables(*arguments) -> int:
    command = [sys.executable, SCRIPT, *arguments]
    return subprocess.run(command, capture_output=True, check=False).returncode


def check_several(folder: Path, readme: Path) -> None:
    """Two files in one table; one alone where the other is not there."""
    beside = {**OVERHEAD, "gpu": "a GPU", "layer": None}
    readme.write_text("<!-- table: cpu gpu -->\n<!-- /table -->\n", encoding="utf-8")
    for name, head in (("cpu", "on a CPU |"), ("gpu", "on a CPU | beside a GPU |")):
        document = beside if name == "gpu" else OVERHEAD
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
        assert tables(readme, "--results", folder) == 0
        text = readme.read_text(encoding="utf-8")
        assert f"| µs of a call | {head}\n" in text, text
    assert "five operators | 40, recorded 80 |  |\n" in text, text
    assert "On a CPU: a processor, PyTorch 2; commit abc. Beside a GPU: a GPU; commit abc." in text


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        readme = Path(folder) / "README.md"
        readme.write_text(BEFORE, encoding="utf-8")
        (Path(folder) / "cpu.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
        where = (readme, "--results", folder)
        assert tables(*where, "--check") == 1, "a stale table was taken for a current one"
        assert readme.read_text(encoding="utf-8") == BEFORE, "--check wrote"
        assert tables(*where) == 0
        assert readme.read_text(encoding="utf-8") == AFTER, readme.read_text(encoding="utf-8")
        assert tables(*where, "--check") == 0, "a current table was taken for a stale one"
        for document, line in KINDS:
            (Path(folder) / "cpu.json").write_text(json.dumps(document), encoding="utf-8")
            assert tables(*where) == 0
            assert line in readme.read_text(encoding="utf-8"), readme.read_text(encoding="utf-8")
        check_several(Path(folder), readme)
        (Path(folder) / "programs_h200.json").write_text(json.dumps(OWN_PROGRAMS), encoding="utf-8")
        readme.write_text(BEFORE.replace("cpu", "programs_h200"), encoding="utf-8")
        assert tables(*where) == 0
        line = "| `gated` | 2.000 ms | 0.900 ms | 0.500 | 1.000 | 0.707 |"
        assert line in readme.read_text(encoding="utf-8"), readme.read_text(encoding="utf-8")
    assert tables("--check") == 0, "a table is stale; run `python bench/tables.py`"
    return 0


if __name__ == "__main__":
    sys.exit(main())
