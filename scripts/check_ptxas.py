"""Runs nvcc and fails where ptxas had to spill, use local memory or serialise wgmma.

usage: check_ptxas.py nvcc ARGUMENTS...    with -Xptxas=-v among the arguments
"""

import re
import subprocess
import sys

FUNCTION = re.compile(r"(?:Compiling entry function|Function properties for) '?([\w$]+)")
USE = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
SERIALISED = re.compile(r"wgmma.*serializ|serializ.*wgmma|C75\d\d", re.IGNORECASE)
NOISE = re.compile(r"^ptxas info|bytes stack frame|^\s*$")


def findings(output: str) -> list[str]:
    """One line for every kernel that is not as fast as it is written."""
    found = []
    function = "a kernel"
    for line in output.split("\n"):
        if match := FUNCTION.search(line):
            function = match[1]
        if (match := USE.search(line)) and any(int(count) > 0 for count in match.groups()):
            found.append(f"{function}: {match[0]}")
        if SERIALISED.search(line):
            found.append(f"{function}: {line.strip()}")
    return found


def main() -> int:
    result = subprocess.run(sys.argv[1:], stderr=subprocess.PIPE, text=True)
    rest = [line for line in result.stderr.split("\n") if not NOISE.search(line)]
    if rest:
        print("\n".join(rest), file=sys.stderr)
    if result.returncode != 0:
        return result.returncode
    found = findings(result.stderr)
    for finding in found:
        print(f"check_ptxas: {finding}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
