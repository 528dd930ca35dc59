"""What the page is made of: comparisons of coda with a peer, and sections that show them."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from table_text import CHANGED, commit_text, geometric_mean

FIRST = ("torch.compile", "eager PyTorch", "Liger", "quack", "FlashInfer")
# These do less than what coda runs beside them: the GEMM without the rest, or no arithmetic. Beside
# coda's plain GEMMs they do the same.
LESS_WORK = (
    "cuBLAS, bare GEMM",
    "its GEMMs alone",
    "its GEMMs and attention alone",
    "cuBLASLt, best of nine",
    "cublasGemmEx",
    "a copy of as many bytes",
    "coda's plain GEMM",
)
AFTER_NORM = "after a norm"
PLAIN = ("linear", "linear, dX", "linear_weight_grad", "linear_weight_grad fp32")


def figure(ratio: float) -> str:
    return f"{ratio:.2f}×"


@dataclass
class Comparison:
    """Speed of coda over a peer, by case: the peer's time over coda's; of memory, the peer's bytes
    over coda's. Above 1, coda is better."""

    what: str
    peer: str
    group: str = ""  # of cases, where a section has several
    ratios: dict[str, float] = field(default_factory=dict)
    zeros: dict[str, float] = field(default_factory=dict)  # where A is all zero: a higher clock
    memory: bool = False

    @property
    def name(self) -> str:
        return f"{self.what}, {self.group}" if self.group else self.what

    def of(self, regime: str) -> dict[str, float]:
        return self.zeros if regime == "zeros" else self.ratios

    @property
    def same_work(self) -> bool:
        plain = self.what in PLAIN and self.group != AFTER_NORM
        return plain or self.peer not in LESS_WORK

    @property
    def mean(self) -> float:
        return geometric_mean(list(self.ratios.values()))

    @property
    def zeros_mean(self) -> float | None:
        return geometric_mean(list(self.zeros.values())) if self.zeros else None

    @property
    def worst(self) -> tuple[str, float]:
        return min(self.ratios.items(), key=lambda item: item[1])

    @property
    def best(self) -> tuple[str, float]:
        return max(self.ratios.items(), key=lambda item: item[1])

    @property
    def lowest(self) -> tuple[str, float]:
        """Of all cases and both kinds of data."""
        zeros = {f"{case}, zeros": ratio for case, ratio in self.zeros.items()}
        return min((self.ratios | zeros).items(), key=lambda item: item[1])


def slower(comparison: Comparison) -> bool:
    """Whether some figure of it, as the page prints it, is below 1."""
    return round(comparison.lowest[1], 2) < 1


class Comparisons:
    """Collects figures; a comparison is made where the first one of it arrives."""

    def __init__(self, memory: bool = False):
        self.listed: dict[tuple[str, ...], Comparison] = {}
        self.memory = memory

    def add(self, key: tuple[str, ...], case: str, regime: str, theirs: float, ours: float):
        """key: what, peer and, where there are several, the group of cases."""
        one = self.listed.setdefault(key, Comparison(*key, memory=self.memory))
        one.of(regime)[case] = theirs / ours

    def over(self, peer: str) -> list[Comparison]:
        return [one for one in self.listed.values() if one.peer == peer]

    def peers(self) -> list[str]:
        """Those that PyTorch users meet first come first."""
        found = dict.fromkeys(one.peer for one in self.listed.values())
        return sorted(found, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))

    def all(self) -> list[Comparison]:
        return list(self.listed.values())


def together(what: str, peer: str, parts: list[Comparison]) -> Comparison:
    """One comparison of the cases of many."""
    result = Comparison(what, peer, memory=all(part.memory for part in parts))
    for part in parts:
        for regime in ("random", "zeros"):
            named = {f"{part.name}, {case}": ratio for case, ratio in part.of(regime).items()}
            result.of(regime).update(named)
    return result


@dataclass
class Picture:
    name: str  # of the file, without .svg
    svg: str
    text: str  # for those who cannot see it


@dataclass
class Table:
    caption: str
    head: list[str]
    rows: list[list[str]]
    words: int = 1  # columns that hold words; the others hold figures


@dataclass
class Section:
    name: str
    title: str
    text: str
    pictures: list[Picture]
    tables: list[Table]
    source: str
    comparisons: list[Comparison]
    headlines: list[Comparison]
    place: str = ""  # H200 or CPU

    @property
    def changed(self) -> bool:
        """Whether what was measured is in no commit."""
        return CHANGED in self.source


Maker = Callable[[dict, str], Section]


def comparison_table(comparisons: list[Comparison]) -> Table:
    head = ["", "against", "mean", "worst", "at", "best", "at"]
    zeros = any(one.zeros for one in comparisons)
    rows = []
    for one in comparisons:
        (worst_case, worst), (best_case, best) = one.worst, one.best
        row = [one.name, one.peer, figure(one.mean), figure(worst), worst_case]
        row += [figure(best), best_case]
        if zeros:
            row.append("" if one.zeros_mean is None else figure(one.zeros_mean))
            row.append("" if not one.zeros else figure(min(one.zeros.values())))
        rows.append(row)
    if zeros:
        head += ["zeros: mean", "worst"]
    return Table("Speed of coda over each peer", head, rows, 2)


def mean_of(results: list[dict], key: str) -> float | None:
    values = [one[key] for one in results if one.get(key) is not None]
    return math.fsum(values) / len(values) if values else None


def source_of(document: dict, file: str) -> str:
    """Where, when and with what the figures of a section were measured, as far as it says."""
    results = document["results"]
    where = document["gpu"] or document["machine"]
    parts = [where]
    if not document["gpu"] and "torch" in document:
        parts.append(f"PyTorch {document['torch']}")
    versions = document.get("versions", {})
    parts += [f"{name} {version}" for name, version in versions.items()]
    by_regime: dict[str, list[dict]] = {}
    for one in results:
        by_regime.setdefault(one.get("regime", "random"), []).append(one)
    for regime, group in by_regime.items():
        group = group if mean_of(group, "clock_mhz") else [document]
        clock, power = mean_of(group, "clock_mhz"), mean_of(group, "power_w")
        if clock and power:
            parts.append(f"{regime} data: {clock:.0f} MHz, {power:.0f} W on average")
    if all("rounds" in one for one in results):
        parts.append(f"medians of {min(one['rounds'] for one in results)} rounds")
    parts += [commit_text(document), *filter(None, [document.get("date")])]
    return f"{'; '.join(parts)}; bench/results/{file}"
