"""What an author's function does wrong, with the author's line."""

import math
import os
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

import torch

# torch's functions call a value's __torch_function__ through Python of their own.
NOT_THE_AUTHORS = tuple(f"{Path(file).parent}{os.sep}" for file in (__file__, torch.__file__))


def author_line() -> str:
    """ "file:line" of the innermost call that is neither this package's nor torch's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(NOT_THE_AUTHORS):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


class Mistake(TypeError):
    """Something that a program cannot do; the message has the line and the remedy."""


class Refused(threading.local):
    """While a function runs: what it was refused. It may catch that, and would mean something else
    then. Afterwards nothing is kept: an exception holds the variables of all frames it passed."""

    mistakes: list[Mistake] | None = None


REFUSED = Refused()


def mistake(text: str, line: str | None = None) -> Mistake:
    made = Mistake(f"{line or author_line()}: {text}")
    if REFUSED.mistakes is not None:
        REFUSED.mistakes.append(made)
    return made


class Unreadable:
    """What a function holds and cannot compute with: it says why."""

    def refuse(self, *_: Any) -> NoReturn:
        raise NotImplementedError


LARGEST = float(2**128 - 2**104)  # of fp32
ROUNDS_TO_INFINITY = float(2**128 - 2**103)


def beyond_fp32(number: float) -> str | None:
    """Why a finite number cannot be one of a program, which computes in fp32."""
    if ROUNDS_TO_INFINITY <= abs(number) < math.inf:
        return f"a number that fp32 does not hold: expected at most {LARGEST:.9g}, got {number:.9g}"
    return None


def unusable_number(number: float) -> str | None:
    """Why a number cannot be written in a program."""
    if math.isnan(number):
        return "NaN as a number makes every result NaN: leave it out"
    return beyond_fp32(number)
