"""What turns q and k: tables of cosines and sines, or frequencies; biases and norms of heads."""

from collections.abc import Sequence

from torch import Tensor


def all_or_none(names: str, tensors: Sequence[Tensor | None]) -> bool:
    """Whether all are given; some of them alone is an error."""
    given = [tensor is not None for tensor in tensors]
    if any(given) != all(given):
        raise ValueError(f"{names}: expected all of them or none, got {sum(given)}")
    return all(given)


def check_rotation(cos: Tensor | None, sin: Tensor | None, inv_freq: Tensor | None) -> None:
    """One way to say how far a position turns."""
    tables = all_or_none("cos, sin", (cos, sin))
    if tables == (inv_freq is not None):
        raise ValueError(
            f"cos, sin, inv_freq: expected tables or frequencies, got {'both' if tables else 'neither'}"
        )
