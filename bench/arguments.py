"""What the scripts' arguments may be. Anything else is answered before something is measured."""

import argparse
from pathlib import Path


def count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, got {text}")
    return number


def count_or_none(text: str) -> int:
    """0 for none."""
    return 0 if int(text) == 0 else count(text)


def width(text: str) -> int:
    """Whole heads of 128 columns."""
    number = count(text)
    if number % 128 != 0:
        raise argparse.ArgumentTypeError(f"expected a multiple of 128, got {text}")
    return number


def seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < 3600:
        raise argparse.ArgumentTypeError(f"expected a time above 0 and below 3600, got {text}")
    return number


def shape(text: str) -> tuple[int, int, int]:
    extents = text.split("x")
    if len(extents) != 3 or not all(one.isdecimal() and int(one) > 0 for one in extents):
        raise argparse.ArgumentTypeError(f"expected MxNxK, such as 1024x512x256, got {text}")
    m, n, k = map(int, extents)
    return m, n, k


def result_file(text: str) -> Path:
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{path} is a folder, expected a file")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {path.parent}")
    return path


def has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def device(text: str) -> str:
    if text == "cuda" and not has_gpu():
        raise argparse.ArgumentTypeError("PyTorch finds no GPU here; --device cpu goes without")
    return text


def need_gpu(parser: argparse.ArgumentParser) -> None:
    """For scripts that have no other device."""
    if not has_gpu():
        parser.error("PyTorch finds no GPU here, and this script needs one")
