"""scripts/check_ptxas.py finds spills, local memory and serialised wgmma in what ptxas says."""

import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from check_ptxas import findings  # noqa: E402

CLEAN = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z4gemmv' for 'sm_90a'
ptxas info    : Function properties for _Z4gemmv
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 16 barriers
"""
SERIALISED = (
    "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
    "serialized due to non wgmma instructions defining accumulator registers of a wgmma between "
    "start and end of the pipeline stage in the function '_Z4gemmv'\n"
)


class CheckPtxas(unittest.TestCase):
    def test_clean_kernels_pass(self) -> None:
        self.assertEqual(findings(CLEAN), [])

    def test_spills_are_found_with_their_kernel(self) -> None:
        found = findings(CLEAN.replace("0 bytes spill stores", "8 bytes spill stores"))
        self.assertEqual(len(found), 1)
        self.assertIn("_Z4gemmv: 0 bytes stack frame, 8 bytes spill stores", found[0])

    def test_local_memory_is_found(self) -> None:
        found = findings(CLEAN.replace("0 bytes stack frame", "64 bytes stack frame"))
        self.assertIn("64 bytes stack frame", found[0])

    def test_serialised_wgmma_is_found(self) -> None:
        self.assertEqual(len(findings(CLEAN + SERIALISED)), 1)

    def test_the_build_step_fails_and_says_why(self) -> None:
        for text, status in ((CLEAN, 0), (CLEAN + SERIALISED, 1)):
            compiler = [sys.executable, "-c", f"import sys; sys.stderr.write({text!r})"]
            result = subprocess.run(
                [sys.executable, ROOT / "scripts" / "check_ptxas.py", *compiler],
                capture_output=True,
                text=True,
            )
            self.assertEqual(result.returncode, status, result.stderr)
            self.assertEqual("serialized" in result.stderr, status == 1)
            self.assertNotIn("Used 168 registers", result.stderr)

    def test_a_failing_compiler_stays_a_failure(self) -> None:
        compiler = [sys.executable, "-c", "import sys; sys.exit(3)"]
        result = subprocess.run([sys.executable, ROOT / "scripts" / "check_ptxas.py", *compiler])
        self.assertEqual(result.returncode, 3)


if __name__ == "__main__":
    unittest.main()
