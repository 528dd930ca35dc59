"""The rule of docs/numerics.md: against fp64, at most twice the error of the stock computation."""

import torch
from torch import Tensor


def errors(got: Tensor, want: Tensor) -> tuple[float, float]:
    """RMS and largest error, over the RMS of the exact values."""
    difference = got.double() - want
    size = want.square().mean().sqrt().clamp_min(torch.finfo(torch.float64).tiny)
    rms = difference.square().mean().sqrt() / size
    return rms.item(), (difference.abs().max() / size).item()


def check_errors(
    got: dict[str, Tensor],
    stock: dict[str, Tensor],
    exact: dict[str, Tensor],
    contraction: int,
    floors: dict[str, float] | None = None,
) -> None:
    """Tensors by name; contraction: terms of the longest sum behind them; floors: more error that a
    tensor may have."""
    for name, want in exact.items():
        if want.numel() == 0:
            continue
        rounded = want.to(got[name].dtype)  # always allowed
        ours, usual, once = (errors(t, want) for t in (got[name], stock[name], rounded))
        for kind, error, bounds in zip(("RMS", "largest"), ours, zip(usual, once)):
            floor = 2.0**-24 * contraction**0.5 + (floors or {}).get(name, 0.0)
            bound = 2 * max(bounds) + floor
            assert error <= bound, f"{name}: {kind} error {error:.3g}, expected up to {bound:.3g}"
