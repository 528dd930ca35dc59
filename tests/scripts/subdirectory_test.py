"""A project that has coda as a subdirectory compiles its own programs for every instruction set.

Optimised in a debug build too: else the linker takes one instruction set's functions for all.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "examples/user_program/scaled_relu_cpu.cpp"
PROJECT = f"""
cmake_minimum_required(VERSION 3.25)
project(outer LANGUAGES CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
add_subdirectory("{ROOT}" coda)
add_executable(outer main.cpp)
target_link_libraries(outer PRIVATE coda::coda)
coda_add_program(outer "{PROGRAM}")
"""


def main() -> int:
    if shutil.which("ninja") is None:
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "CMakeLists.txt").write_text(PROJECT)
        (folder / "main.cpp").write_text("int main() {}\n")
        command = ["cmake", "-G", "Ninja", "-S", name, "-B", name + "/build"]
        options = {
            "CMAKE_BUILD_TYPE": "Debug",
            "CODA_CPU_ISAS": "portable;avx2",
            "CODA_SIMULATOR": "OFF",
        }
        command += [f"-D{key}={value}" for key, value in options.items()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        entries = json.loads((folder / "build/compile_commands.json").read_text())
    commands = [e["command"] for e in entries if Path(e["file"]) == PROGRAM]
    assert len(commands) == 2, commands
    for flags in ("-ffp-contract=off", "-O3"):
        assert all(flags in command.split() for command in commands), commands
    assert sum("-mavx2" in command.split() for command in commands) == 1, commands
    return 0


if __name__ == "__main__":
    sys.exit(main())
