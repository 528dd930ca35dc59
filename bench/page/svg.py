"""Bar charts as SVG: plain text, no scripts, readable on light and dark pages and on a phone.

A chart is a card with a background of its own. It is narrow, so that its letters stay legible when
a phone scales it to the width of its screen.
"""

import math
from dataclasses import dataclass
from html import escape

WIDTH = 560
RIGHT = 486  # end of the bars
LETTER, LINE, TOP = 7.8, 23, 62
STYLE = """<style>
.card { fill: #ffffff; stroke: #d0d7de } .ink { fill: #1f2328 } .faint { fill: #59636e }
.grid { stroke: #e4e8ed } .one { stroke: #59636e } .span { stroke: #1f2328 }
.ahead { fill: #2f6fc4 } .behind { fill: #d9480f } .other { fill: #939fab }
.ring { fill: #ffffff; stroke: #1f2328 }
.head { fill: #1f2328; stroke: #ffffff; stroke-width: 4px; paint-order: stroke }
@media (prefers-color-scheme: dark) {
.card { fill: #161b22; stroke: #3d444d } .ink { fill: #e6edf3 } .faint { fill: #9ba5b0 }
.grid { stroke: #2a313a } .one { stroke: #9ba5b0 } .span { stroke: #e6edf3 }
.ahead { fill: #4c8fe6 } .behind { fill: #f2793f } .other { fill: #6e7a87 }
.ring { fill: #161b22; stroke: #e6edf3 } .head { fill: #e6edf3; stroke: #161b22 } }
</style>
"""


@dataclass
class Heading:
    text: str


@dataclass
class Ratio:
    """A bar from 1; low and high: of single cases; ring: of another kind of data; bound: beside
    something that does less work."""

    label: str
    value: float
    low: float
    high: float
    ring: float | None = None
    bound: bool = False

    @property
    def ahead(self) -> bool:
        return round(self.value, 2) >= 1


@dataclass
class Amount:
    label: str
    value: float
    text: str
    ours: bool


def text_at(x: float, y: float, text: str, style: str = "ink", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}"{more}>{escape(text)}</text>\n'


def line(path: str, style: str, width: float = 1) -> str:
    return f'<path d="{path}" class="{style}" stroke-width="{width}"/>\n'


def bar(x: float, y: float, width: float, style: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="13"'
    return f'<rect {place} rx="2" class="{style}"/>\n'


def card(title: str, subtitle: str, height: float, body: str) -> str:
    small = ' font-size="12.5"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'width="{WIDTH}" height="{height:.0f}" role="img" font-size="13" '
        "font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\">\n"
        f"<title>{escape(title)}</title>\n{STYLE}"
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1:.0f}" rx="8" '
        'class="card"/>\n'
        + text_at(18, 28, title, "ink", ' font-size="16" font-weight="600"')
        + text_at(18, 48, subtitle, "faint", small)
        + body
        + "</svg>\n"
    )


def heading(y: float, text: str) -> str:
    """The card's colour around it keeps lines of the grid out of its letters."""
    return text_at(18, y + 16, text, "head", ' font-weight="600"')


def start_of_bars(rows: list) -> float:
    """Behind the longest label."""
    longest = max(len(row.label) for row in rows if not isinstance(row, Heading))
    return max(150.0, 28 + LETTER * longest)


STEPS = (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 8, 10, 16)


class RatioScale:
    """Logarithmic, so that twice as fast is as far from 1 as half as fast."""

    def __init__(self, values: list[float], left: float):
        self.left = left
        self.low = max([s for s in STEPS if s <= min(values)] or [min(values)])
        self.low = min(self.low, 0.9)
        self.high = min([s for s in STEPS if s >= max(values)] or [max(values)])
        self.high = max(self.high, 1.1)

    def x(self, ratio: float) -> float:
        share = math.log(ratio / self.low) / math.log(self.high / self.low)
        return self.left + (RIGHT - self.left) * share

    def ticks(self) -> list[float]:
        """As many as there is room for; 1 among them."""
        kept = [1.0]
        for step in sorted(STEPS, key=lambda s: abs(math.log(s))):
            inside = self.low <= step <= self.high
            if inside and all(abs(self.x(step) - self.x(other)) > 33 for other in kept):
                kept.append(step)
        return sorted(kept)


def ratio_row(scale: RatioScale, y: float, row: Ratio) -> str:
    one, end = scale.x(1), scale.x(row.value)
    behind = "other" if row.bound else "behind"
    parts = text_at(scale.left - 10, y + 16, row.label, "ink", ' text-anchor="end"')
    parts += bar(min(one, end), y + 5, abs(end - one), "ahead" if row.ahead else behind)
    if row.low < row.high:
        parts += line(f"M{scale.x(row.low):.1f} {y + 11.5}H{scale.x(row.high):.1f}", "span", 1.5)
    if row.ring is not None:
        parts += f'<circle cx="{scale.x(row.ring):.1f}" cy="{y + 11.5}" r="3.5" class="ring"/>\n'
    return parts + text_at(
        WIDTH - 16, y + 16, f"{row.value:.2f}×", "ink", ' text-anchor="end" font-weight="600"'
    )


def ratio_chart(title: str, subtitle: str, rows: list[Heading | Ratio]) -> str:
    """How many times faster coda is; bars to the left of 1 are where it is slower."""
    ratios = [row for row in rows if isinstance(row, Ratio)]
    values = [v for row in ratios for v in (row.value, row.low, row.high, row.ring) if v]
    scale = RatioScale(values, start_of_bars(rows))
    bottom = TOP + LINE * len(rows) + 6
    body = ""
    for tick in scale.ticks():
        x = scale.x(tick)
        body += line(f"M{x:.1f} {TOP}V{bottom}", "one" if tick == 1 else "grid")
        middle = ' text-anchor="middle" font-size="12"'
        body += text_at(x, bottom + 16, f"{tick:g}×", "faint", middle)
    for i, row in enumerate(rows):
        y = TOP + LINE * i
        is_heading = isinstance(row, Heading)
        body += heading(y, row.text) if is_heading else ratio_row(scale, y, row)
    legend = []
    if any(row.low < row.high for row in ratios):
        legend.append("bar: geometric mean; line: worst to best case")
    if any(row.ring is not None for row in ratios):
        legend.append("ring: mean where A is all zero")
    if any(row.bound and not row.ahead for row in ratios):
        legend.append("grey: behind something that does less work")
    height = bottom + 28
    for text in legend:
        body += text_at(18, height + 10, text, "faint", ' font-size="12"')
        height += 18
    return card(title, subtitle, height + 6, body)


def amount_chart(title: str, subtitle: str, rows: list[Heading | Amount]) -> str:
    """Bars from 0."""
    most = max(row.value for row in rows if isinstance(row, Amount))
    left, end = start_of_bars(rows), WIDTH - 100  # figures stand behind the bars
    body = ""
    for i, row in enumerate(rows):
        y = TOP + LINE * i
        if isinstance(row, Heading):
            body += heading(y, row.text)
            continue
        width = (end - left) * row.value / most
        body += text_at(left - 10, y + 16, row.label, "ink", ' text-anchor="end"')
        body += bar(left, y + 5, width, "ahead" if row.ours else "other")
        body += text_at(left + width + 8, y + 16, row.text, "ink")
    height = TOP + LINE * len(rows) + 12
    body += line(f"M{left} {TOP}V{height - 8}", "one")
    return card(title, subtitle, height, body)
