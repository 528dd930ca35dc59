"""Checks that no code compiled for AVX2 or AVX-512 can end up in what every CPU runs.

The linker keeps one copy of an inline function or template instance, from whichever object comes
first. If that object was compiled for AVX-512, older CPUs stop at an illegal instruction. So every
weak function in such an object must name its instruction set, as the template argument Isa or as
a namespace, and nothing there may run before main(). AVX512-BF16 goes with the marks of AVX-512 and
must share no weak function with it.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

MARKS = {
    "avx2": ("(coda::cpu::Isa)1", "N_AVX2::"),
    "avx512": ("(coda::cpu::Isa)2", "N_AVX3::"),
    "avx512bf16": ("(coda::cpu::Isa)2", "N_AVX3::"),
}


def symbols(objects: list[Path]) -> list[tuple[str, str, str]]:
    """(object, type letter, demangled name) of every defined symbol."""
    command = ["nm", "--demangle", "--defined-only", "--print-file-name", "--no-sort"]
    listed = subprocess.run([*command, *objects], capture_output=True, text=True, check=True)
    found = []
    for line in listed.stdout.splitlines():
        where, _, rest = line.partition(":")
        _, letter, name = rest.split(maxsplit=2)
        found.append((where, letter, name))
    return found


def main() -> int:
    build = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build"
    errors = []
    checked = 0
    weak: dict[str, set[str]] = {}
    for isa, marks in MARKS.items():
        objects = sorted(build.glob(f"**/CMakeFiles/*_{isa}.dir/**/*.o"))
        checked += len(objects)
        found = symbols(objects) if objects else []
        weak[isa] = {name for _, letter, name in found if letter == "W"}
        for where, letter, name in found:
            place = f"{Path(where).name} ({isa})"
            if letter == "W" and not any(mark in name for mark in marks):
                errors.append(f"{place}: inline function without {marks[0]}: {name}")
            if name.startswith("_GLOBAL__sub_I"):
                errors.append(f"{place}: code that runs before main(): {name}")
    for name in sorted(weak["avx512"] & weak["avx512bf16"]):
        errors.append(f"compiled for AVX-512 both with and without BF16: {name}")
    for error in errors:
        print(error)
    print(f"{checked} objects for AVX2 and AVX-512: {len(errors)} errors")
    return 1 if errors or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
