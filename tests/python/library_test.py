"""Finding libcoda.so and seeing that it is of the package's version."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coda import library


def test_library_that_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(library.VARIABLE, str(tmp_path / "libcoda.so"))
    with pytest.raises(ImportError, match="CODA_LIBRARY: expected a libcoda.so, got .*no file"):
        library.find()
    monkeypatch.delenv(library.VARIABLE)
    monkeypatch.setattr(library, "__file__", str(tmp_path / "library.py"))
    with pytest.raises(ImportError, match=r"not beside the package.*pip install \..*CODA_LIBRARY"):
        library.find()


def test_extension_that_is_missing(tmp_path: Path) -> None:
    package = Path(library.__file__).parent
    shutil.copytree(package, tmp_path / "coda", ignore=shutil.ignore_patterns("*.so"))
    result = subprocess.run(
        [sys.executable, "-c", "import coda"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode != 0
    assert "the extension coda._native is not in" in result.stderr.splitlines()[-1]


def test_library_that_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "libcoda.so"
    path.write_text("no library")
    monkeypatch.setenv(library.VARIABLE, str(path))
    with pytest.raises(ImportError, match="expected a libcoda.so that can be opened"):
        library.load.__wrapped__()


@pytest.mark.parametrize(
    ("found", "expected", "age"),
    [("0.1.0", "0.1.1", "older"), ("0.2.0", "0.1.0", "newer"), ("1.4.0", "1.5.0", "older"),
     ("2.0.0", "1.5.0", "newer"), ("0.0.9", "0.1.0", "older")],
)  # fmt: skip
def test_library_of_another_version(found: str, expected: str, age: str) -> None:
    with pytest.raises(ImportError, match=rf"libcoda {found} is {age} than.*same sources"):
        library.check_version(Path("libcoda.so"), found, expected)


@pytest.mark.parametrize("found", ["1.5.0", "1.5.3", "1.6.0"])
def test_library_that_fits(found: str) -> None:
    library.check_version(Path("libcoda.so"), found, "1.5.0")
