"""Runs every command of docs/authoring.md, in order, in a folder of its own.

A line of a console block that begins with "$ " is a command; all of them must succeed.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CODA_TEST_PROGRAMS", ROOT / "build/tests")).parent
DOCUMENT = ROOT / "docs/authoring.md"
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
SECONDS = 200


def commands() -> list[str]:
    blocks = BLOCK.findall(DOCUMENT.read_text(encoding="utf-8"))
    return [line[2:] for block in blocks for line in block.split("\n") if line.startswith("$ ")]


def main() -> int:
    found = commands()
    environment = os.environ | {"PATH": f"{BUILD}{os.pathsep}{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        for command in found:
            result = subprocess.run(
                command,
                shell=True,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
            print(f"$ {command}\n{result.stdout}{result.stderr}")
            no_simulator = "has no backend 'sim'" in result.stderr
            if result.returncode != 0 and not no_simulator:
                print(f"ended with {result.returncode}")
                return 1
    return 0 if len(found) >= 4 else 1


if __name__ == "__main__":
    sys.exit(main())
