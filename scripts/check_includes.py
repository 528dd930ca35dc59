"""Checks how files lie and what they include.

- One-way includes: a file includes only its own layer of coda/ and the layers below.
- Headers that kernels use take the standard library from coda/core/std.h only, for NVRTC.
- Every header compiles alone.
- File names say something, and files stay short.
"""

import hashlib
import json
import platform
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Lowest first. Layers in one row do not include each other.
LAYERS = [
    {"core"},
    {"program"},
    {"ptx", "sim", "cpu", "reference"},
    {"trace"},
    {"epilogue"},
    {"kernel"},
    {"plan"},
    {"rows"},
    {"catalogue"},
    {"attention", "author", "checkpoint", "terminal"},
    {"block"},
    {"train"},
    {"tools"},
]
RANK = {layer: rank for rank, row in enumerate(LAYERS) for layer in row}
# Headers directly under coda/ belong to the layer that implements them.
LAYER_OF_HEADER = {"coda/coda.h": "catalogue", "coda/version.h": "core"}

KERNEL_SIDE = {"core", "program"}
HOST_ONLY = {
    "coda/core/edit_distance.h",
    "coda/core/error.h",
    "coda/core/sha256.h",
    "coda/program/bind.h",
    "coda/program/check_view.h",
    "coda/program/describe.h",
    "coda/program/overlap.h",
    "coda/program/problem.h",
    "coda/program/workspace.h",
}
STANDARD = "coda/core/std.h"

MAX_LINES = 300
MAX_COLUMNS = 100
SOURCE_SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".py", ".sh", ".cmake"}
BANNED_WORDS = {"util", "utils", "common", "misc", "helper", "helpers", "new", "v2"}

UNBREAKABLE = re.compile(r'^\s*"[^"]*"\S*$|https?://|^\s*#')  # a string, an address, a directive

# Headers over the CUDA toolkit are compiled where it is installed.
NO_CUDA = re.compile(r"fatal error: (cuda|cublas)\w*\.h: No such file")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def files() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return sorted(name for name in listed.stdout.split("\n") if name and (ROOT / name).is_file())


def layer_of(name: str) -> str | None:
    if name in LAYER_OF_HEADER:
        return LAYER_OF_HEADER[name]
    parts = name.split("/")
    return parts[1] if parts[0] == "coda" and len(parts) > 2 else None


def check_file(name: str) -> list[str]:
    errors = []
    words = set(re.split(r"[/_.\-]", name.lower()))
    for word in sorted(words & BANNED_WORDS):
        errors.append(f"{name}: '{word}' in a file name says nothing; name the subject")
    if Path(name).suffix not in SOURCE_SUFFIXES:
        return errors
    text = (ROOT / name).read_text(encoding="utf-8")
    lines = text.count("\n")
    if lines > MAX_LINES:
        errors.append(f"{name}: {lines} lines, at most {MAX_LINES}; split it by subject")
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_COLUMNS and not UNBREAKABLE.search(line):
            errors.append(f"{name}:{number}: {len(line)} columns, at most {MAX_COLUMNS}")
    layer = layer_of(name)
    if layer is None or Path(name).suffix not in {".h", ".cpp", ".cu", ".cuh"}:
        return errors
    if layer not in RANK:
        return [*errors, f"{name}: layer '{layer}' is not in the list in scripts/check_includes.py"]

    kernel_side = layer in KERNEL_SIDE and name.endswith(".h") and name not in HOST_ONLY
    for match in INCLUDE.finditer(text):
        bracket, included = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        where = f"{name}:{line}"
        if bracket == '"' and not included.startswith("coda/"):
            errors.append(f'{where}: "{included}": own headers are named from the root: "coda/..."')
        if included.startswith("coda/"):
            other = layer_of(included)
            if other is None or other not in RANK:
                errors.append(f"{where}: {included} is in no known layer")
            elif other != layer and RANK[other] >= RANK[layer]:
                errors.append(f"{where}: layer {layer} must not include {included}")
            if kernel_side and included in HOST_ONLY:
                errors.append(f"{where}: kernels use this header, {included} is for the host only")
        elif kernel_side and name != STANDARD:
            errors.append(f"{where}: kernels use this header: take <{included}> from {STANDARD}")
    return errors


def compile_command(name: str) -> list[str]:
    flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I.", "-Ibuild/generated"]
    if name in LAYER_OF_HEADER:  # the C API is plain C
        return ["cc", "-x", "c", "-std=c99", "-pedantic", *flags, "-include", name, "/dev/null"]
    flags += ["-std=c++20", "-fopenmp", "-DCODA_CPU_ISAS=1", "-Wno-psabi"]
    if platform.machine() == "x86_64":  # what the portable instruction set is there
        flags.append("-mssse3")
    return ["c++", "-x", "c++", *flags, "-include", name, "/dev/null"]


def read_first_in_build() -> set[str]:
    """Headers that a source of the build includes before anything else: compiling it showed that
    they compile alone."""
    database = ROOT / "build" / "compile_commands.json"
    if not database.is_file():
        return set()
    sources = {Path(entry["file"]) for entry in json.loads(database.read_text())}
    first = (
        INCLUDE.search(source.read_text(encoding="utf-8")) for source in sources if source.is_file()
    )
    return {match[2] for match in first if match}


def compile_alone(name: str) -> list[str]:
    result = subprocess.run(compile_command(name), cwd=ROOT, capture_output=True, text=True)
    if result.returncode == 0 or NO_CUDA.search(result.stderr):
        return []
    return [f"{name} does not compile alone:\n{result.stderr}"]


def check_headers_alone(headers: list[str]) -> list[str]:
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for name in headers:
        digest.update(name.encode() + (ROOT / name).read_bytes())
    stamp = ROOT / "build" / "headers.stamp"
    if stamp.is_file() and stamp.read_text() == digest.hexdigest():
        return []
    shown = read_first_in_build()
    others = [name for name in headers if name not in shown]
    with ThreadPoolExecutor() as pool:
        errors = [error for found in pool.map(compile_alone, others) for error in found]
    if not errors and stamp.parent.is_dir():
        stamp.write_text(digest.hexdigest())
    return errors


def main() -> int:
    names = files()
    errors = [error for name in names for error in check_file(name)]
    headers = [name for name in names if name.startswith("coda/") and name.endswith(".h")]
    errors += check_headers_alone(headers)
    for error in errors:
        print(error)
    print(f"{len(names)} files, {len(headers)} headers: {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
