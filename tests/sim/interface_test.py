"""The simulator has every function of coda/ptx/, with the same parameters and then a place."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DECLARATION = re.compile(
    r"(?:template <(?P<template>[^{}]*?)>\s+)?"
    r"(?P<head>(?:CODA_DEVICE |\[\[noreturn\]\] )?(?:uint32_t|uint64_t|void|bool|float|T))\s+"
    r"(?P<name>[a-z_0-9]+)\((?P<parameters>[^;{}]*?)\)\s*[;{]"
)
PLACE = "Location where = Location::current()"
GPU_ONLY = {"map_address"}


def functions(folder: str, pattern: str) -> dict[str, tuple[str, ...]]:
    """Name -> template parameters, result, parameters without names."""
    found = {}
    for path in sorted((ROOT / "coda" / folder).glob(pattern)):
        text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
        for match in DECLARATION.finditer(text):
            parameters = [" ".join(p.split()) for p in match["parameters"].split(",") if p.strip()]
            if parameters and parameters[-1] == PLACE:
                parameters.pop()
            types = [re.sub(r"(?<=[&*> ])[a-z_0-9]+$", "", p).strip() for p in parameters]
            types = [re.sub(r"\(&[a-z]*\)", "(&)", t) for t in types]
            result = match["head"].replace("CODA_DEVICE ", "").replace("[[noreturn]] ", "")
            template = " ".join((match["template"] or "").split())
            found[match["name"]] = (template, result, *types)
    return found


def main() -> int:
    gpu = functions("ptx", "*.cuh")
    sim = functions("sim", "*.h")
    errors = [
        f"{name}: coda/ptx has {gpu[name]}, coda/sim has {sim.get(name, 'nothing')}"
        for name in sorted(set(gpu) - GPU_ONLY)
        if sim.get(name) != gpu[name]
    ]
    for error in errors:
        print(error)
    print(f"{len(gpu)} functions, {len(errors)} differ")
    return 1 if errors or len(gpu) < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
