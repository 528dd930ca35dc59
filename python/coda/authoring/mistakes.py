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


class Latest(threading.local):
    """What was refused last: a function may catch it, and would mean something else then."""

    mistake: Mistake | None = None


LATEST = Latest()


def mistake(text: str, line: str | None = None) -> Mistake:
    LATEST.mistake = Mistake(f"{line or author_line()}: {text}")
    return LATEST.mistake


class Unreadable:
    """What a function holds and cannot compute with: it says why."""

    def refuse(self, *_: Any) -> NoReturn:
        raise NotImplementedError


LARGEST = 3.4028234663852886e38  # of fp32


def unusable_number(number: float) -> str | None:
    """Why a number cannot be one of a program, which computes in fp32."""
    if LARGEST < abs(number) < math.inf:
        return f"a number that fp32 does not hold: expected at most {LARGEST:.3g}, got {number:.3g}"
    if math.isnan(number):
        return "NaN as a number makes every result NaN: leave it out"
    return None
