"""Names of variants, and the shapes of partial sums."""

import torch
from torch import Tensor

NAMES = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float32: "fp32"}


def variant_into(element: torch.dtype, result: torch.dtype | None) -> str:
    """Of an operation on `element` whose result may have a type of its own: "bf16-fp32"."""
    if result is None or result == element:
        return NAMES[element]
    return f"{NAMES[element]}-{NAMES[result]}"


def variant_on_stream(gamma: Tensor | None, element: torch.dtype, stream: torch.dtype) -> str:
    """Of an operation on the residual stream, whose norm's weight is kept or folded."""
    return ("folded-" if gamma is None else "kept-") + on_stream(element, stream)


def on_stream(element: torch.dtype, stream: torch.dtype) -> str:
    """Of an operation on `element` beside a residual stream that may be wider."""
    return NAMES[element] + ("" if stream == element else f"-{NAMES[stream]}stream")


def parts(columns: int) -> int:
    """Partial sums cover 64 columns (or rows)."""
    return (columns + 63) // 64
