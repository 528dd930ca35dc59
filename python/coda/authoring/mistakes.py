"""What an author's function does wrong, with the author's line."""

import os
import sys
from pathlib import Path

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


def mistake(text: str, line: str | None = None) -> Mistake:
    return Mistake(f"{line or author_line()}: {text}")
