"""bench/ceiling.cu compiles, where there is nvcc, without spills."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FLAGS = ["-std=c++20", "-O3", "-gencode=arch=compute_90a,code=sm_90a", "--expt-relaxed-constexpr"]


def main() -> int:
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        return 77
    with tempfile.TemporaryDirectory() as folder:
        header = Path(folder) / "coda/ptx/wgmma_instruction.cuh"
        header.parent.mkdir(parents=True)
        subprocess.run([sys.executable, ROOT / "scripts/generate_wgmma.py", header], check=True)
        include = [f"-I{ROOT}", f"-I{folder}"]
        made = ["-c", "-Xptxas=-v", ROOT / "bench/ceiling.cu", "-o", f"{folder}/ceiling.o"]
        done = subprocess.run([nvcc, *FLAGS, *include, *made], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    reports = [line for line in done.stderr.splitlines() if "bytes spill stores" in line]
    assert len(reports) >= 3, done.stderr
    assert all(" 0 bytes spill stores" in line for line in reports), reports
    return 0


if __name__ == "__main__":
    sys.exit(main())
