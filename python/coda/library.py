"""libcoda.so: finds it, opens it and sees that it is of the package's version.

It is `$CODA_LIBRARY` where that is set, else the libcoda.so beside this package.
"""

import os
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from coda.version import __version__

VARIABLE = "CODA_LIBRARY"


@dataclass(frozen=True)
class Library:
    """A libcoda that is open in this process."""

    path: Path
    version: str
    commit: str


def find() -> Path:
    """The file that `load` opens. ImportError where there is none."""
    named = os.environ.get(VARIABLE)
    path = Path(named) if named else Path(__file__).parent / "libcoda.so"
    if path.is_file():
        return path
    if named:
        raise ImportError(f"{VARIABLE}: expected a libcoda.so, got {named}, which is no file")
    raise ImportError(
        f"libcoda.so is not beside the package ({path}): install the package again with "
        f"`pip install .`, or set {VARIABLE} to one that is built"
    )


def check_version(path: Path, found: str, expected: str = __version__) -> None:
    """The library must be of the package's major version (minor, before 1.0) and no older."""
    have, want = ([int(part) for part in text.split(".")[:3]] for text in (found, expected))
    same = 1 if want[0] > 0 else 2
    if have[:same] == want[:same] and have >= want:
        return
    age = "older than" if have < want else "newer than"
    raise ImportError(
        f"{path}: libcoda {found} is {age} what this package ({expected}) was made for: "
        f"build both from the same sources, or set {VARIABLE} to a libcoda {expected}"
    )


@cache
def load() -> Library:
    """Opens libcoda once. ImportError where it or the package's extension is missing, damaged or of
    another version."""
    if find_spec("coda._native") is None:
        raise ImportError(
            f"the extension coda._native is not in {Path(__file__).parent}: install the package "
            "with `pip install .`, or run `make build` and set PYTHONPATH=build/python"
        )
    from coda import _native

    path = find()
    try:
        version, commit = _native.load(str(path))
    except OSError as error:
        raise ImportError(f"{path}: expected a libcoda.so that can be opened: {error}") from error
    check_version(path, version)
    return Library(path, version, commit)
