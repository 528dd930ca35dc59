"""examples/programs on the CPU: all of them compiled at once, each compared with its formula, once
also where it is named twice."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODA = Path(os.environ.get("CODA_TEST_PROGRAMS", ROOT / "build/tests")).parent / "coda"
FOLDER = ROOT / "examples/programs"
CASES = 40
LEAST = 8  # programs that are not in the catalogue


def main() -> int:
    programs = [path for path in FOLDER.glob("*_formula.h")]
    result = subprocess.run(
        [CODA, "check", FOLDER, FOLDER / "bias_gelu.h", "--cases", str(CASES)],
        capture_output=True,
        text=True,
        timeout=280,
    )
    print(result.stdout + result.stderr)
    passed = re.search(r"(\d+) passed, 0 failed", result.stdout)
    right = result.returncode == 0 and passed and int(passed[1]) == CASES * len(programs)
    return 0 if right and len(programs) >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
