"""bench/results/numerics_cpu.json, which docs/numerics.md shows, has errors of every operation of
the catalogue, in each of its forms, and none of them breaks the error rule."""

import ctypes
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("CODA_TEST_PROGRAMS", ROOT / "build/tests")).parent
RESULTS = ROOT / "bench" / "results" / "numerics_cpu.json"
TYPES = {"bf16", "fp16", "fp32", "fp32stream", "int32"}


def names(get, *before) -> list[str]:
    get.restype = ctypes.c_char_p
    found: list[str] = []
    while (name := get(*before, len(found))) is not None:
        found.append(name.decode())
    return found


def form(operation: str, variant: str) -> str:
    """A variant but for its types: kept, folded, norm."""
    return " ".join([operation, *(part for part in variant.split("-") if part not in TYPES)])


def catalogue() -> list[str]:
    library = ctypes.CDLL(str(BUILD / "lib" / "libcoda.so"))
    return [
        form(operation, variant)
        for operation in names(library.coda_operation_name)
        for variant in names(library.coda_variant_name, operation.encode())
    ]


def missing(wanted: list[str], rows: list[dict]) -> set[str]:
    return set(wanted) - {form(row["operation"], row["variant"]) for row in rows}


def too_far(row: dict) -> bool:
    ours, eager = row["errors"]["coda"], row["errors"]["eager"]
    return not ours <= 2 * eager + 2**-24 * row["K"] ** 0.5


def main() -> int:
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))["results"]
    wanted = catalogue()
    assert "linear" in wanted and "linear_weight_grad folded" in wanted, wanted
    absent = missing(wanted, rows)
    assert not absent, f"{sorted(absent)}: a case is missing in bench/numerics.py, or its results"
    kept = [row for row in rows if row["operation"] != "linear"]
    assert missing(wanted, kept) == {"linear"}, "an operation without a row was not seen"
    broken = [row for row in rows if too_far(row)]
    assert not broken, f"{broken}: more than twice the error of eager PyTorch"
    return 0


if __name__ == "__main__":
    sys.exit(main())
