"""Some of examples/programs in the simulator of the GPU, with bf16 operands: every default kernel.
`coda check examples/programs --backend sim` runs all of them.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODA = Path(os.environ.get("CODA_TEST_PROGRAMS", ROOT / "build/tests")).parent / "coda"
FOLDER = ROOT / "examples/programs"
CASES = 2
SKIPPED = 77


def main() -> int:
    # Sums of a head; a state and targets; a tensor in beside the one that goes out.
    programs = [FOLDER / f"{name}.h" for name in ("head_rms", "contrastive_logits", "tanh_gate")]
    command = ["check", *programs, "--backend", "sim", "--variant", "bf16", "--cases", str(CASES)]
    result = subprocess.run(
        [CODA, *command, "--seeds", "3"], capture_output=True, text=True, timeout=280
    )
    print(result.stdout + result.stderr)
    if "has no backend 'sim'" in result.stderr:
        return SKIPPED
    passed = re.search(r"(\d+) passed, 0 failed", result.stdout)
    right = result.returncode == 0 and passed and int(passed[1]) == CASES * len(programs)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
