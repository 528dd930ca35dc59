"""`coda new`, `coda check` and `coda bench` on a program of one's own, and what they refuse."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODA = Path(os.environ.get("CODA_TEST_PROGRAMS", ROOT / "build/tests")).parent / "coda"
SECONDS = 120
FAILED, BAD_USE = 1, 2


class Failure(Exception):
    pass


def run(
    *arguments: str, folder: Path, status: int = 0, **environment: str
) -> subprocess.CompletedProcess[str]:
    result = subprocess.run(
        [CODA, *arguments],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    if result.returncode != status:
        said = f"{result.stdout}{result.stderr}"
        raise Failure(f"coda {' '.join(arguments)}: ended with {result.returncode}:\n{said}")
    return result


def expect(text: str, *parts: str) -> None:
    for part in parts:
        if part not in text:
            raise Failure(f"expected: {part}\ngot: {text}")


def check_scaffold(folder: Path) -> None:
    made = run("new", "my_program", folder=folder).stdout
    expect(made, "my_program/my_program.h", "coda check my_program/")
    before = (folder / "my_program/my_program.h").read_bytes()
    again = run("new", "my_program", folder=folder, status=BAD_USE)
    expect(again.stderr, "my_program", "is there already")
    assert (folder / "my_program/my_program.h").read_bytes() == before
    for name, reason in {
        "Mine": "lower-case words",
        "my-program": "lower-case words",
        "../up": "lower-case words",
        "_x": "lower-case words",
        "x__y": "lower-case words",
        "2x": "lower-case words",
        "double": "a word of C++",
        "linear": "the catalogue has",
        "my_formula": "files beside a program",
        "x" * 65: "at most 64",
    }.items():
        expect(run("new", name, folder=folder, status=BAD_USE).stderr, name, reason)
        assert not (folder / name).exists()


def check_program(folder: Path) -> None:
    result = run("check", "my_program/", "--cases", "30", folder=folder)
    expect(result.stdout, "30 passed, 0 failed")


def check_wrong_formula(folder: Path) -> None:
    """The line that a failure prints repeats it."""
    formula = folder / "my_program/my_program_formula.h"
    right = formula.read_text()
    formula.write_text(right.replace("v < 0 ? 0 : v", "v < 0 ? 0.01 * v : v"))
    result = run("check", "my_program", "--cases", "10", folder=folder, status=FAILED)
    line = result.stdout.split("\n")[0]
    expect(line, "coda check my_program/my_program.h --variant", "out")
    command = shlex.split(re.split(r"   ", line)[0])
    run(*command[1:], folder=folder, status=FAILED)
    formula.write_text(right)


def check_mistakes(folder: Path) -> None:
    program = folder / "my_program/my_program.h"
    right = program.read_text()
    program.write_text(right.replace("tile.load(bias)", "tile.load(out)"))
    said = run("check", "my_program/my_program.h", folder=folder, status=BAD_USE).stderr
    first = said.split("\n")[1]
    expect(first, "my_program/my_program.h:16:", "coda: load reads an input port")
    assert "required from" not in said and "instantiate.h" not in said, said
    program.write_text(
        right.replace("tile.store(out, y);", "tile.store(out, y);\n    tile.store(out, -y);")
    )
    said = run("check", "my_program", folder=folder, status=BAD_USE).stderr
    expect(said, "output 'out' is written twice", "my_program.h:17", "my_program.h:18")
    program.write_text(right)


def check_missing_files(folder: Path) -> None:
    said = run("check", "nowhere/", folder=folder, status=BAD_USE).stderr
    expect(said, "nowhere/: no such file or folder", "coda new")
    (folder / "empty").mkdir()
    expect(run("check", "empty", folder=folder, status=BAD_USE).stderr, "expected a program")
    (folder / "alone.h").write_text("struct Alone {};\n")
    said = run("check", "alone.h", folder=folder, status=BAD_USE).stderr
    expect(said, "alone.h: has no formula", "alone_formula.h")
    (folder / "other.h").write_text("struct Another {};\n")
    said = run("check", "other.h", folder=folder, status=BAD_USE).stderr
    expect(said, "struct Other", "follows from the file's")
    said = run("check", "./my_program/README.md", folder=folder, status=BAD_USE).stderr
    expect(said, "expected a folder or a header")


def check_compilers(folder: Path) -> None:
    said = run("check", "my_program", folder=folder, status=BAD_USE, CXX="no-such-compiler").stderr
    expect(said, "CXX=no-such-compiler", "the catalogue's operations need none")
    (folder / "bin").mkdir()
    nothing = {"PATH": str(folder / "bin"), "CXX": ""}
    said = run("check", "my_program", folder=folder, status=BAD_USE, **nothing).stderr
    expect(said, "no C++ compiler", "c++, g++ or clang++", "coda list")
    run("list", folder=folder, **nothing)
    said = run("check", "my_program", folder=folder, status=BAD_USE, CODA_INCLUDE="/nowhere").stderr
    expect(said, "CODA_INCLUDE=/nowhere", "coda/program/program.h")


def check_bench(folder: Path) -> None:
    result = run(
        *("bench", "my_program", "--shape", "64x64x64", "--rounds", "1", "--dtype", "fp32"),
        folder=folder,
    )
    expect(result.stdout, "my_program", "linear")


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for check in (
            check_scaffold,
            check_program,
            check_wrong_formula,
            check_mistakes,
            check_missing_files,
            check_compilers,
            check_bench,
        ):
            try:
                check(folder)
            except Failure as failure:
                print(f"{check.__name__}: {failure}")
                return 1
            print(f"{check.__name__}: passed", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
