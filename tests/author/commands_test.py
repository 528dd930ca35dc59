"""`coda new`, `check`, `explain`, `derive` and `bench` on own programs, and what they refuse."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODA = Path(os.environ.get("CODA_TEST_PROGRAMS", ROOT / "build/tests")).parent / "coda"
SECONDS = 120
FAILED, BAD_USE = 1, 2


PROGRAM = """#pragma once
#include <coda/program/program.h>
struct Large {{
{members}  coda::Store<float> out;
  static constexpr const char* name = "large";
  static constexpr auto port_names = coda::names({names}"out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {{
    tile.store(out, tile.accumulator() + {value});
  }}
}};
"""


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
        "t": "its struct would be called T",
        "x" * 65: "at most 64",
    }.items():
        expect(run("new", name, folder=folder, status=BAD_USE).stderr, name, reason)
        assert not (folder / name).exists()


def check_program(folder: Path) -> None:
    result = run("check", "my_program/", "--cases", "30", folder=folder)
    expect(result.stdout, "30 passed, 0 failed")


def check_launches(folder: Path) -> None:
    """The host's side of launches compiles where coda has a GPU's side, with or without a GPU."""
    result = subprocess.run(
        [CODA, "check", "my_program/", "--backend", "cuda", "--variant", "bf16", "--cases", "1"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    said = f"{result.stdout}{result.stderr}"
    built = re.search(r"backends .*cuda", run("info", folder=folder).stdout)
    parts = ("1 passed, 0 failed", "cudaError") if built else ("no backend 'cuda'",)
    if not any(part in said for part in parts):
        raise Failure(f"expected one of {parts}\ngot: {said}")


def check_wrong_formula(folder: Path) -> None:
    """The line that a failure prints repeats it."""
    formula = folder / "my_program/my_program_formula.h"
    right = formula.read_text()
    formula.write_text(right.replace("v < 0 ? 0 : v", "v < 0 ? 0.01 * v : v"))
    result = run("check", "my_program", "--cases", "10", folder=folder, status=FAILED)
    line = result.stdout.split("\n")[0]
    expect(line, "coda check my_program/my_program.h --variant", "out[")
    expect(line, "in fp64 the program means", "the formula")
    command = shlex.split(re.split(r"   ", line)[0])
    run(*command[1:], folder=folder, status=FAILED)
    formula.write_text(right.replace("return {{", "const coda::reference::Arrays outputs{{"))
    said = run("check", "my_program", folder=folder, status=BAD_USE).stderr
    expect(said, "my_program_formula.h", "no return statement")
    formula.write_text(right.replace('in.at("bias")', 'in.at("bais")'))
    said = run("check", "my_program", "--cases", "1", folder=folder, status=FAILED).stdout
    expect(said, "my_program_formula.h: reference: there is no 'bais', only A, B, bias")
    formula.write_text(right)


def check_wrong_cases(folder: Path) -> None:
    cases = folder / "my_program/my_program_cases.h"
    right = cases.read_text()
    cases.write_text(right.replace('"bias"', '"bais"'))
    said = run("check", "my_program", folder=folder, status=BAD_USE).stderr
    expect(said, "my_program_cases.h: values: input 'bais': there is none, only bias")
    cases.write_text(right)


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
    program.write_text(right.replace("tile.store(out, y);", ""))
    line = right[: right.index("struct ")].count("\n") + 1
    said = run("derive", "my_program/", folder=folder, status=BAD_USE).stderr
    expect(said, f"my_program/my_program.h:{line}: my_program: output 'out' is never written")
    program.write_text(right)


def check_missing_files(folder: Path) -> None:
    said = run("check", "nowhere/", folder=folder, status=BAD_USE).stderr
    expect(said, "nowhere/: no such file or folder", "coda new")
    (folder / "empty").mkdir()
    expect(run("check", "empty", folder=folder, status=BAD_USE).stderr, "expected a program")
    (folder / "empty/left_formula.h").write_text("int left_formula();\n")
    expect(
        run("check", "empty", folder=folder, status=BAD_USE).stderr, "although there is a formula"
    )
    (folder / "nameless.h").write_text("struct Nameless {};\n")
    (folder / "nameless_formula.h").write_text("int another();\n")
    said = run("check", "nameless.h", folder=folder, status=BAD_USE).stderr
    expect(said, "nameless_formula.h: expected the function nameless_formula(in, round)")
    (folder / "nameless_formula.h").unlink()
    (folder / "nameless_cases.h").write_text("int another();\n")
    said = run("derive", "nameless.h", folder=folder, status=BAD_USE).stderr
    expect(said, "nameless_cases.h: expected the function nameless_cases()")
    (folder / "other.h").write_text("struct Another {};\n")
    said = run("check", "other.h", folder=folder, status=BAD_USE).stderr
    expect(said, "struct Other", "follows from the file's")
    said = run("check", "./my_program/README.md", folder=folder, status=BAD_USE).stderr
    expect(said, "expected a folder or a header")


def check_explain(folder: Path) -> None:
    said = run("explain", "my_program", "--M", "1024", "--variant", "fp16", folder=folder).stdout
    expect(said, "my_program fp16", "out = ", "M = 1024", "squares", "2 registers", "predicted")


def check_derive(folder: Path) -> None:
    """What is printed is a program: it compiles, and runs as its graph says."""
    text = run("derive", str(ROOT / "examples/programs/bias_gelu.h"), folder=folder).stdout
    expect(text, "struct BiasGeluBackward {", "coda::ColumnReduce<coda::Sum> dbias;")
    (folder / "bias_gelu_backward.h").write_text(text)
    said = run("check", "bias_gelu_backward.h", "--cases", "12", folder=folder).stdout
    expect(
        said, "12 passed, 0 failed", "no formula was there", "write bias_gelu_backward_formula.h"
    )


def check_room_on_chip(folder: Path) -> None:
    """Which port takes what, without a GPU."""
    ports = [f"t{i}" for i in range(5)]
    program = PROGRAM.format(
        members="".join(f"  coda::PerElement<const float> {port};\n" for port in ports),
        names="".join(f'"{port}", ' for port in ports),
        value=" + ".join(f"tile.load({port})" for port in ports),
    )
    (folder / "large.h").write_text(program)
    said = run("explain", "large.h", folder=folder, status=BAD_USE).stderr
    expect(said, "large: its ports take 49152 bytes of shared memory", "8192 bytes  t4", "bf16")


def check_exceptions(folder: Path) -> None:
    """Of types that only the program knows, and whose code is its."""
    run("new", "thrower", folder=folder)
    formula, program = folder / "thrower/thrower_formula.h", folder / "thrower/thrower.h"
    throws = "struct Mine { std::string text = std::string(99, 'x'); };\n  throw Mine();\n  "
    right = formula.read_text()
    formula.write_text(right.replace("using coda", throws + "using coda"))
    said = run("check", "thrower/", "--cases", "1", folder=folder, status=BAD_USE).stderr
    expect(said, "exception")
    formula.write_text(right)
    what = 'const char* what() const noexcept override { return "that is mine"; }'
    throws = f"struct Mine : std::exception {{ {what} }};\n    throw Mine();\n    "
    right = program.read_text()
    program.write_text(right.replace("const auto y", throws + "const auto y"))
    said = run("derive", "thrower/", folder=folder, status=BAD_USE).stderr
    expect(said, "that is mine")


ONE_WAY = """#pragma once
#include <coda/program/program.h>
enum class Way : int { kOnly };
struct OneWay {
  coda::Choice<Way, Way::kOnly> way;
  coda::Store<float> out;
  static constexpr const char* name = "one_way";
  static constexpr auto port_names = coda::names("way", "out");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    if (tile.choice(way) == Way::kOnly) tile.store(out, tile.accumulator());
  }
};
"""


def check_one_choice(folder: Path) -> None:
    (folder / "one_way.h").write_text(ONE_WAY)
    run("check", "one_way.h", "--cases", "20", folder=folder)
    measured = ("--shape", "64x64x64", "--rounds", "1", "--variant", "fp32")
    run("bench", "one_way.h", *measured, folder=folder)


def check_compilers(folder: Path) -> None:
    said = run("check", "my_program", folder=folder, status=BAD_USE, CXX="no-such-compiler").stderr
    expect(said, "CXX=no-such-compiler", "the catalogue's operations need none")
    (folder / "bin").mkdir()
    nothing = {"PATH": str(folder / "bin"), "CXX": ""}
    said = run("check", "my_program", folder=folder, status=BAD_USE, **nothing).stderr
    expect(said, "no C++ compiler", "c++, g++ or clang++", "coda list")
    said = run("explain", "my_program", folder=folder, status=BAD_USE, **nothing).stderr
    expect(said, "no C++ compiler")
    run("list", folder=folder, **nothing)
    run("derive", "linear", folder=folder, **nothing)
    said = run("check", "my_program", folder=folder, status=BAD_USE, CODA_INCLUDE="/nowhere").stderr
    expect(said, "CODA_INCLUDE=/nowhere", "coda/program/program.h")


def check_bench(folder: Path) -> None:
    result = run(
        *("bench", "my_program", "--shape", "64x64x64", "--rounds", "1", "--dtype", "fp32"),
        folder=folder,
    )
    expect(result.stdout, "my_program", "linear")


def run_checks(*checks: Callable[[Path], None]) -> int:
    """One after the other in one folder; the status to exit with."""
    with tempfile.TemporaryDirectory() as name:
        for check in checks:
            try:
                check(Path(name))
            except Failure as failure:
                print(f"{check.__name__}: {failure}")
                return 1
            print(f"{check.__name__}: passed", flush=True)
    return 0


if __name__ == "__main__":
    status = run_checks(
        check_scaffold,
        check_program,
        check_launches,
        check_wrong_formula,
        check_wrong_cases,
        check_mistakes,
        check_missing_files,
        check_explain,
        check_derive,
        check_room_on_chip,
        check_exceptions,
        check_one_choice,
        check_compilers,
        check_bench,
    )
    sys.exit(status)
