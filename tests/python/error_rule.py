"""The error rule (docs/numerics.md): a result's RMS and largest error against fp64 are at most
twice those of the unfused computation by stock PyTorch in the same types, plus 2⁻²⁴·√K. Of few
elements errors scatter, so the unfused computation's are taken over several draws of a case."""

import sys
from dataclasses import dataclass

from torch import Tensor


@dataclass
class Draw:
    """What stock PyTorch makes of one draw, and the exact values."""

    stock: Tensor
    exact: Tensor


class Missed(AssertionError):
    """A limit of errors; doubtful: by less than a factor of four, which other data may not."""

    def __init__(self, text: str, doubtful: bool) -> None:
        super().__init__(text)
        self.doubtful = doubtful


def rms(values: Tensor) -> float:
    return values.double().square().mean().sqrt().item()


def errors(result: Tensor, exact: Tensor) -> tuple[float, float]:
    """RMS and largest error, over the RMS of the exact values."""
    difference, size = result.double() - exact, max(rms(exact), sys.float_info.min)
    return rms(difference) / size, difference.abs().max().item() / size


def check(
    name: str, result: Tensor, draws: list[Draw], contraction: int, more: float = 0.0
) -> None:
    """result: for the first draw. more: error that is allowed beside the rule's, over the RMS."""
    exact, kind = draws[0].exact, draws[0].stock.dtype
    assert result.shape == exact.shape, f"{name}: {tuple(result.shape)}, not {tuple(exact.shape)}"
    assert result.dtype == kind, f"{name}: {result.dtype}, not {kind}"
    if exact.numel() == 0:
        return
    unfused = [draw.stock.double() - draw.exact for draw in draws]
    once = [draw.exact.to(kind).double() - draw.exact for draw in draws]
    floor = (2**-24 * contraction**0.5 + more) * max(rms(draw.exact) for draw in draws)
    scatter = 1 + 3 / exact.numel() ** 0.5  # as in coda/tools/error_rule.cpp
    rms_limit = 2 * scatter * max(map(rms, unfused + once)) + floor
    limit = 2 * max(error.abs().max().item() for error in unfused + once) + floor
    difference = result.double() - exact
    largest = difference.abs().max().item()
    for which, error, most in (("RMS", rms(difference), rms_limit), ("largest", largest, limit)):
        if not error <= most:
            text = f"{name}: {which} error {error}, limit {most}"
            raise Missed(text, doubtful=error < 4 * most)


def check_errors(
    results: dict[str, Tensor],
    stock: dict[str, Tensor],
    exact: dict[str, Tensor],
    contraction: int,
    floors: dict[str, float] | None = None,
) -> None:
    """Of one draw, tensors by name; floors: what check() takes as `more`."""
    for name, want in exact.items():
        more = (floors or {}).get(name, 0.0)
        check(name, results[name], [Draw(stock[name], want)], contraction, more)


def floor_of_a_loss(
    name: str, stock: dict[str, Tensor], exact: dict[str, Tensor], tokens: int
) -> dict[str, float]:
    """floors for check_errors(). A loss is a mean over tokens whose errors have nothing to do with
    each other: those of the stock one may happen to cancel."""
    usual = [errors(stock[other], exact[other])[0] for other in exact if other != name]
    return {name: 2 * sum(usual) / len(usual) / tokens**0.5}
