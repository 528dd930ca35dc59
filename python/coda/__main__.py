"""`python -m coda info`: what is installed, what was found and what is missing."""

import argparse
import importlib
import importlib.metadata
import os
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from coda import library
from coda.version import __version__

INSTRUCTION_SETS = {  # and the processor's features that each needs
    "avx512": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
    "avx2": ("avx2", "fma", "f16c"),
    "portable": (),
}
Lines = Iterator[tuple[str, str]]


def package_lines() -> Lines:
    yield "coda", f"{__version__}, {Path(__file__).parent}"
    yield "Python", f"{platform.python_version()}, {platform.platform()}"
    found = library.load()
    yield "libcoda", f"{found.version}, commit {found.commit}, {found.path}"


def processor_lines() -> Lines:
    text = Path("/proc/cpuinfo").read_text()
    facts = dict(line.split(":", 1) for line in text.split("\n\n")[0].split("\n") if ":" in line)
    facts = {name.strip(): value.strip() for name, value in facts.items()}
    flags = set(facts.get("flags", "").split())
    best = next(name for name, needs in INSTRUCTION_SETS.items() if flags.issuperset(needs))
    chosen = os.environ.get("CODA_ISA")
    yield "processor", f"{facts.get('model name', platform.machine())}, {os.cpu_count()} cores"
    yield "instructions", f"{chosen} (CODA_ISA)" if chosen else best


def torch_lines() -> Lines:
    import torch

    cuda = f"CUDA {torch.version.cuda}" if torch.version.cuda else "without CUDA"
    yield "PyTorch", f"{torch.__version__}, {cuda}, {torch.get_num_threads()} threads"


def operator_lines() -> Lines:
    import torch

    importlib.import_module("coda.operators")
    names = {name for name in torch._C._dispatch_get_all_op_names() if name.startswith("coda::")}
    yield "operators", ", ".join(sorted(name.removeprefix("coda::") for name in names))
    if not torch.cuda.is_available():
        yield "GPU", "none"
    for i in range(torch.cuda.device_count()):
        facts = torch.cuda.get_device_properties(i)
        size = f"sm_{facts.major}{facts.minor}, {facts.total_memory / 2**30:.0f} GiB"
        yield f"GPU {i}", f"{facts.name}, {size}; {runs_on(i)}"


def runs_on(gpu: int) -> str:
    """Whether an operator runs on a GPU, or why not."""
    import torch

    x = torch.eye(8, dtype=torch.bfloat16, device=f"cuda:{gpu}")
    try:
        torch.ops.coda.linear(x, x)
    except RuntimeError as error:
        return f"operators do not run: {error}"
    return "operators run"


def transformers_lines() -> Lines:
    yield "transformers", importlib.metadata.version("transformers")


def told(part: str, lines: Callable[[], Lines]) -> Lines:
    try:
        yield from lines()
    except Exception as error:  # whatever is wrong is what this command is asked for
        yield part, f"missing: {type(error).__name__}: {error}"


def info() -> None:
    """Prints all that can be found out; what cannot says why."""
    parts: dict[str, Callable[[], Lines]] = {
        "libcoda": package_lines,
        "processor": processor_lines,
        "PyTorch": torch_lines,
        "operators": operator_lines,
        "transformers": transformers_lines,
    }
    for part, lines in parts.items():
        for name, text in told(part, lines):
            print(f"{name:14}{text}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m coda", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="versions, libraries, processor and GPUs")
    parser.parse_args()
    try:
        info()
        sys.stdout.flush()
    except BrokenPipeError:  # who reads has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
