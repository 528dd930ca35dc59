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


def tables(*arguments) -> int:
    command = [sys.executable, SCRIPT, *arguments]
    return subprocess.run(command, capture_output=True, check=False).returncode


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
    assert tables("--check") == 0, "README.md: a table is stale; run `python bench/tables.py`"
    return 0


if __name__ == "__main__":
    sys.exit(main())
