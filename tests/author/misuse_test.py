"""What is asked for in the wrong way is answered with one line."""

import sys
from pathlib import Path

from commands_test import BAD_USE, Failure, expect, run, run_checks

MISUSE = {
    "explain": "operation is required",
    "explain liner": "did you mean 'linear'",
    "explain nowhere/": "nowhere/: no such file or folder",
    "explain adamw": "is no GEMM program",
    "explain linear --variant fp8": "fp8",
    "explain linear --gpu b200": "there are h200, h100",
    "explain linear --regime ones": "there are random and zeros",
    "explain linear --M 0": "at least 1; got 0",
    "explain linear --N -4": "at least 1",
    "explain linear --with nothing": "no optional port 'nothing'; it has the ports",
    "explain linear --shape 3": "no option '--shape'",
    "derive": "operation is required",
    "derive adamw": "is no GEMM program",
    "derive liner": "did you mean 'linear'",
    "derive my_program.h": "no such file or folder",
    "derive linear --variant fp8": "fp8",
    "derive linear --accumulator-is out": "the accumulator cannot be 'out'; it is 'forward'",
    "derive linear --outputs nothing": "has no port 'nothing'; it has",
    "derive linear --gradients out": "'out' has no gradient",
    "derive linear --gradients bias --without bias": "where it is left out (--with bias)",
    "derive linear --save nothing": "has no port 'nothing'",
    "derive linear --number alpha=1e300": "--number: alpha expects a finite number of fp32",
    "derive linear_swiglu --number activation": "no number by name, such as activation=1",
    "derive linear_swiglu --number activation=x": "no number by name",
    "derive linear_swiglu --number rstd=1": "has no scalar 'rstd'; it has the ports",
    "derive linear --without out": "no optional port 'out'",
    "check my_program --backend tpu": "no backend 'tpu'",
    "check my_program --seeds 3": "expected --backend sim",
    "check my_program --isa sse": "sse",
    "bench my_program --backend tpu": "no backend 'tpu'",
    "new": "name is required",
}


def check_misuse(folder: Path) -> None:
    run("new", "my_program", folder=folder)
    for command, message in MISUSE.items():
        said = run(*command.split(), folder=folder, status=BAD_USE).stderr
        expect(said, message)
        if said.count("\n") != 1:
            raise Failure(f"coda {command}: expected one line, got {said}")


if __name__ == "__main__":
    sys.exit(run_checks(check_misuse))
