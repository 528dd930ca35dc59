"""Sections of short calls: few tokens, and the host time of operators."""

from decode_speed import verdict
from page.comparison import Comparisons, Picture, Section, Table, comparison_table, source_of
from page.sections import ABOVE, headlines, ratio
from page.steps import place_of
from page.svg import Amount, Heading, amount_chart, ratio_chart

STOCK = "the stock model"


def tokens_text(count: int) -> str:
    return f"{count} token{'s' if count > 1 else ''}"


def decode_section(document: dict, file: str) -> Section:
    """Of bench/decode.py. What coda.patch gives by itself is compared; what would run as coda
    programs with fewer tokens is shown beside it."""
    place, results = place_of(document), document["results"]
    ways = {"default": Comparisons(), "patched": Comparisons()}
    rows = []
    for r in sorted(results, key=lambda r: r["tokens"]):
        case = f"h = {r['hidden']}, {r['dtype']}, {r['cached']} cached"
        for name, found in ways.items():
            key = tokens_text(r["tokens"]), STOCK
            found.add(key, case, "random", r["ms"]["stock"], r["ms"][name])
        row = [str(r["hidden"]), r["dtype"], str(r["cached"]), str(r["tokens"])]
        rows.append([*row, *(f"{r['ms'][name]:.3f}" for name in ("stock", "default", "patched"))])
    texts = {"default": "after coda.patch", "patched": "as coda programs in any case"}
    chart: list = []
    for name, found in ways.items():
        chart += [Heading(texts[name]), *map(ratio, found.all())]
    name, title = f"decode_{place.lower()}", f"A forward pass with few tokens, {place}"
    picture = ratio_chart(title, f"two layers of a Llama, no gradients; {ABOVE}", chart)
    default = ways["default"]
    return Section(
        name,
        title,
        "A Llama of transformers without gradients, alone or behind a cache. Calls with fewer "
        f"tokens than min_tokens run stock. {verdict(results)}",
        [Picture(name, picture, f"{title}: speed over {STOCK}")],
        [
            comparison_table(default.all()),
            Table(
                "Times",
                ["h", "type", "cached", "tokens", "stock ms", "coda.patch ms", "min_tokens=1 ms"],
                rows,
                2,
            ),
        ],
        source_of(document, file),
        default.all(),
        headlines("Forward with 1 to 256 tokens", default),
    )


def overhead_section(document: dict, file: str) -> Section:
    """Of bench/overhead.py."""
    place = place_of(document)
    results = document["results"]
    rows: list[Heading | Amount] = []
    for column, text in (("operator", "without gradients"), ("recorded", "recorded for backward")):
        rows.append(Heading(text))
        for r in results:
            us = r["microseconds"][column]
            rows.append(Amount(r["operator"], us, f"{us:.1f} µs", True))
    columns = list(results[0]["microseconds"])
    lines = [[r["operator"], *(f"{r['microseconds'][c]:.1f}" for c in columns)] for r in results]
    name, title = f"overhead_{place.lower()}", f"Host time of an operator, {place}"
    chart = amount_chart(title, "microseconds of a call; nothing to compute", rows)
    return Section(
        name,
        title,
        "What a call of torch.ops.coda takes the processor: dispatch, allocation, checks, launch. "
        "On a GPU it is hidden behind the kernels that run, as long as those take longer.",
        [Picture(name, chart, title)],
        [Table("Parts, in µs", ["operator", *columns], lines)],
        source_of(document, file),
        [],
        [],
    )
