"""The section of a language model's head."""

from page.comparison import (
    Comparisons,
    Picture,
    Section,
    Table,
    comparison_table,
    source_of,
)
from page.sections import ABOVE, GIB, headlines, ratio, readings
from page.svg import Amount, Heading, Ratio, amount_chart, ratio_chart


def cross_entropy_section(document: dict, file: str) -> Section:
    """Compared is what coda.linear_cross_entropy runs, where the file has it."""
    found, peaks, rows, memory = Comparisons(), Comparisons(memory=True), [], []
    for r in document["results"]:
        ours_name = "coda package" if "coda package" in r["ms"] else "coda, with gradients"
        totals = {name: sum(phases.values()) for name, phases in r["ms"].items()}
        case = f"h = {r['hidden']}, V = {r['vocabulary']}"
        for name, total in totals.items():
            if not name.startswith("coda"):
                key = "cross-entropy", name, case
                found.add(key, case, r["regime"], total, totals[ours_name])
                if r["regime"] == "random":
                    key = "memory of the head", name
                    peaks.add(
                        key, case, "random", r["peak_bytes"][name], r["peak_bytes"][ours_name]
                    )
            peak = r["peak_bytes"][name] / GIB
            row = [str(r["hidden"]), str(r["vocabulary"]), r["regime"], name]
            rows.append([*row, f"{total:.2f}", f"{peak:.2f}", *readings(r)])
    largest = max(document["results"], key=lambda r: (r["vocabulary"], r["hidden"]))
    for name, peak in largest["peak_bytes"].items():
        memory.append(Amount(name, peak, f"{peak / GIB:.2f} GiB", name.startswith("coda")))
    shapes: list[Heading | Ratio] = []
    for name in found.peers():
        listed = [ratio(one, one.group) for one in found.over(name)]
        shapes += [Heading(f"over {name}"), *listed]
    title, tokens = "A head: logits, loss and both gradients", largest["tokens"]
    what = f"{largest['tokens']} tokens, h = {largest['hidden']}, V = {largest['vocabulary']}"
    pictures = [
        Picture(
            "cross_entropy",
            ratio_chart(title, f"{tokens} tokens, bf16, {ours_name}; {ABOVE}", shapes),
            "Cross-entropy: speed over each peer",
        ),
        Picture(
            "cross_entropy_memory",
            amount_chart("Memory of the head", f"{what}; with gradients", memory),
            "Cross-entropy: memory of each way",
        ),
    ]
    head = ["h", "V", "data", "contender", "ms", "GiB", "MHz", "W"]
    return Section(
        "cross_entropy",
        "Cross-entropy on an H200",
        "Loss and both gradients of a language model's head: hidden width h, vocabulary V. "
        f"Compared is “{ours_name}”; the table of times has coda's other ways too. “coda package” "
        "is coda.linear_cross_entropy, which makes the logits in chunks, with V = 32768 all at "
        "once; “with gradients” does so in smaller ones, “from logits” keeps all of them, and "
        "“recompute” makes them twice (all three: the C interface). The peers' weight gradient is "
        "bf16, coda's is fp32 and takes twice the memory.",
        pictures,
        [
            comparison_table(found.all() + peaks.all()),
            Table("Times and memory", head, rows, 4),
        ],
        source_of(document, file),
        found.all() + peaks.all(),
        headlines("Cross-entropy, loss and gradients", found)
        + headlines("Cross-entropy, loss and gradients", peaks),
    )
