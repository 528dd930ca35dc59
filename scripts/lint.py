"""Runs clang-tidy: on the files a change touches, or with --all on every file.

A file that is compiled once per instruction set is read once, as compiled for any CPU.
"""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
MAX_CHANGED = 24  # more would make `make test` too slow; `make lint` does all


def git(*arguments: str) -> str:
    result = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else ""


def changed_files() -> set[str]:
    """Changed since the branch left origin/main, or on main itself since the commit before."""
    head = git("rev-parse", "HEAD")
    base = git("merge-base", "HEAD", "origin/main")
    if not base or base == head:
        base = git("rev-parse", "--verify", "HEAD~1")
    changed = git("diff", "--name-only", "--diff-filter=d", base).split("\n") if base else []
    return {name for name in [*changed, *git("ls-files", "-mo", "--exclude-standard").split("\n")]}


def compile_commands() -> dict[str, dict]:
    """Source path from the root -> its first compile command; without generated sources, and what
    nvcc compiles, whose command clang does not understand."""
    commands = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        source = Path(entry["file"])
        ours = source.is_relative_to(ROOT) and not source.is_relative_to(BUILD)
        if ours and source.suffix != ".cu":
            commands.setdefault(str(source.relative_to(ROOT)), entry)
    return commands


def sources_for(changed: set[str], sources: list[str]) -> list[str]:
    """The changed sources, and for a changed header one source that includes it."""
    chosen = {name for name in sources if name in changed}
    for header in sorted(name for name in changed if name.endswith(".h")):
        including = [s for s in sources if f'"{header}"' in (ROOT / s).read_text(encoding="utf-8")]
        if including and not chosen.intersection(including):
            chosen.add(including[0])
    return sorted(chosen)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every file, not only changed ones")
    everything = parser.parse_args().all

    commands = compile_commands()
    sources = sorted(commands)
    chosen = sources if everything else sources_for(changed_files(), sources)
    left_out = 0 if everything else max(0, len(chosen) - MAX_CHANGED)
    chosen = chosen[: len(chosen) - left_out]

    database = BUILD / "lint"
    database.mkdir(exist_ok=True)
    (database / "compile_commands.json").write_text(json.dumps(list(commands.values())))

    def tidy(source: str) -> str:
        command = [
            "clang-tidy-19",
            "--quiet",
            f"-p={database}",
            "--extra-arg=-Wno-unknown-warning-option",
        ]
        result = subprocess.run([*command, source], cwd=ROOT, capture_output=True, text=True)
        return "" if result.returncode == 0 else result.stdout + result.stderr

    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for output in pool.map(tidy, chosen):
            if output:
                failed += 1
                print(output)
    print(f"clang-tidy: {len(chosen)} files read, {failed} with findings", end="")
    print(f"; {left_out} more changed, see `make lint`" if left_out else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
