"""`python -m coda info` says what there is, and what is missing, and never fails."""

import os
import subprocess
import sys
from pathlib import Path

import torch

import coda
from coda import library


def info(**environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "coda", "info"],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def test_package_and_library_have_one_version() -> None:
    assert library.load().version == coda.__version__


def test_what_was_found() -> None:
    text = info(CODA_ISA="portable")
    assert f"PyTorch       {torch.__version__}" in text
    assert "linear_swiglu_backward" in text
    assert "instructions  portable (CODA_ISA)" in text
    assert "libcoda       0." in text


def test_a_reader_that_has_had_enough() -> None:
    ends, writes = os.pipe()
    os.close(ends)
    command = [sys.executable, "-m", "coda", "info"]
    done = subprocess.run(command, stdout=writes, stderr=subprocess.PIPE, text=True)
    os.close(writes)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_missing(tmp_path: Path) -> None:
    text = info(CODA_LIBRARY=str(tmp_path / "libcoda.so"))
    assert "libcoda       missing: ImportError: CODA_LIBRARY: expected a libcoda.so" in text
    assert "operators     missing: ImportError: CODA_LIBRARY" in text
    assert f"PyTorch       {torch.__version__}" in text


def test_packages_that_are_run_and_import_it(tmp_path: Path) -> None:
    """Python imports them, and with them this one, before it runs them."""
    package = tmp_path / "trainer"
    package.mkdir()
    (package / "__init__.py").write_text("import coda\n")
    (package / "step.py").write_text("import coda\nprint(coda.patch.__name__)\n")
    (package / "__main__.py").write_text("import coda\nprint(coda.patch.__name__)\n")
    here = {"PYTHONPATH": str(Path(coda.__file__).absolute().parents[1])}
    for module in (["-m", "trainer"], ["-m", "trainer.step"], ["-mtrainer", "coda"]):
        done = subprocess.run(
            [sys.executable, *module],
            cwd=tmp_path,
            env=os.environ | here,
            capture_output=True,
            text=True,
        )
        assert (done.stdout, done.stderr) == ("patch\n", "")
    done = subprocess.run([sys.executable, "-mcoda", "info"], capture_output=True, text=True)
    assert done.returncode == 0 and "libcoda" in done.stdout
