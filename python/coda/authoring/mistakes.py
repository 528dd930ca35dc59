"""What an author's function does wrong, with the author's line."""

import sys
from pathlib import Path

OWN_FOLDER = str(Path(__file__).parent)


def author_line() -> str:
    """ "file:line" of the innermost call that is not this package's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OWN_FOLDER):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


class Mistake(TypeError):
    """Something that a program cannot do; the message has the line and the remedy."""


def mistake(text: str, line: str | None = None) -> Mistake:
    return Mistake(f"{line or author_line()}: {text}")
