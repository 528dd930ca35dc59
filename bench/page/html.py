"""The page: plain HTML and CSS, no scripts, nothing from elsewhere."""

from html import escape

from page.comparison import Comparison, Picture, Section, Table, figure, slower
from table_text import CHANGED

STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --faint: #59636e; --line: #d0d7de;
  --page: #f6f8fa; --card: #ffffff; --ahead: #1a5fb4; --behind: #b93a06 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --faint: #9ba5b0; --line: #3d444d;
  --page: #0d1117; --card: #161b22; --ahead: #6cabf7; --behind: #f2793f } }
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif }
main { max-width: 1200px; margin: 0 auto; padding: 1.5rem 1rem 4rem }
h1 { margin: 0 0 .5rem } h2 { margin: 2.5rem 0 .25rem } a { color: var(--ahead) }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: .5rem 0 }
.pictures { columns: 2 480px; gap: 1rem; margin: 1rem 0 }
img { width: 100%; max-width: 720px; height: auto; display: block; break-inside: avoid;
  margin-bottom: 1rem }
.source { color: var(--faint); font-size: .85rem; overflow-wrap: anywhere }
.note { border: 1px dashed var(--line); border-radius: 8px; padding: .5rem 1rem }
.behind { color: var(--behind); font-weight: 600 }
details { margin: .5rem 0 } summary { cursor: pointer; color: var(--ahead) }
.wide { overflow-x: auto; background: var(--card); border: 1px solid var(--line);
  border-radius: 8px; margin: .5rem 0 }
table { border-collapse: collapse; font-size: .85rem; white-space: nowrap; width: 100% }
th, td { padding: .2rem .5rem; text-align: left; border-bottom: 1px solid var(--line) }
td:not(.figure) { white-space: normal; min-width: 7rem }
.figure { text-align: right; font-variant-numeric: tabular-nums }
"""
BEHIND = "Where coda is behind"


def table(one: Table) -> str:
    def cells(row: list[str], tag: str) -> str:
        kinds = ["" if i < one.words else ' class="figure"' for i in range(len(row))]
        return "".join(f"<{tag}{k}>{escape(text)}</{tag}>" for k, text in zip(kinds, row))

    rows = "".join(f"<tr>{cells(row, 'td')}</tr>\n" for row in one.rows)
    head = f"<thead><tr>{cells(one.head, 'th')}</tr></thead>"
    return f'<div class="wide"><table>{head}\n<tbody>\n{rows}</tbody></table></div>\n'


def folded(one: Table) -> str:
    return f"<details><summary>{escape(one.caption)}</summary>\n{table(one)}</details>\n"


def picture(one: Picture) -> str:
    return f'<img src="{one.name}.svg" alt="{escape(one.text)}" loading="lazy">\n'


def section(one: Section) -> str:
    mark = f'<strong class="behind">{CHANGED}</strong>'
    source = escape(one.source).replace(CHANGED, mark)
    return (
        f'<section id="{one.name}">\n<h2>{escape(one.title)}</h2>\n<p>{escape(one.text)}</p>\n'
        f'<div class="pictures">\n{"".join(map(picture, one.pictures))}</div>\n'
        f'<p class="source">{source}</p>\n'
        f"{''.join(map(folded, one.tables))}</section>\n"
    )


def missing(files: list[str]) -> str:
    if not files:
        return ""
    names = ", ".join(f"bench/results/{name}" for name in files)
    return f'<p class="note">Not measured yet, and left out here: {escape(names)}.</p>\n'


def changed(sections: list[Section]) -> str:
    """What cannot be measured again from a commit."""
    links = [f'<a href="#{one.name}">{escape(one.title)}</a>' for one in sections if one.changed]
    if not links:
        return ""
    what = f'<strong class="behind">{CHANGED}</strong> that no commit has'
    return f'<p class="note">Measured {what}: {", ".join(links)}.</p>\n'


def behind_table(caption: str, listed: list[tuple[Section, Comparison]]) -> Table:
    rows = []
    for one, comparison in listed:
        case, value = comparison.lowest
        zeros = "" if comparison.zeros_mean is None else figure(comparison.zeros_mean)
        row = [comparison.name, comparison.peer, figure(comparison.mean), figure(value), case]
        rows.append([*row, zeros, one.title])
    return Table(
        caption, ["what", "against", "mean", "worst", "at", "zeros: mean", "where"], rows, 2
    )


def behind(sections: list[Section]) -> str:
    """Everything that is slower than a peer, or larger, the worst first."""
    listed = [(one, found) for one in sections for found in one.comparisons if slower(found)]
    listed.sort(key=lambda item: item[1].mean)
    peers = [item for item in listed if item[1].same_work]
    bounds = [item for item in listed if not item[1].same_work]
    total = sum(found.same_work for one in sections for found in one.comparisons)
    slow = sum(round(found.mean, 2) < 1 for _, found in peers)
    text = (
        f"In {slow} of {total} comparisons with a peer that does the same work coda is slower, or "
        f"takes more memory, on average; in {len(peers)} at some shape or with all-zero data. "
        "“worst” is of all shapes and both kinds of data."
    )
    more = (
        f"In {len(bounds)} more it is behind something that does less work: a GEMM without its "
        "epilogue, or a copy. How far below 1 is what the rest costs."
    )
    return (
        f'<section id="behind">\n<h2>{BEHIND}</h2>\n<p>{text}</p>\n'
        f"{table(behind_table('', peers)) if peers else ''}<p>{more}</p>\n"
        f"{folded(behind_table('List of these', bounds)) if bounds else ''}</section>\n"
    )


HOW_TO_READ = """<section id="how">
<h2>How to read it</h2>
<ul>
<li>A figure is the peer's time over coda's, or its bytes over coda's. At 1.10× the peer takes a
tenth longer, or a tenth more memory. Blue: coda is ahead. Orange: it is behind. Grey: it is behind
something that does less work, such as a GEMM without what coda's does behind it.</li>
<li>Means are geometric, over shapes. Figures are for random data; with zeros (the ring) the input
is 0, so that a GPU draws less power and runs at a higher clock. A step of training is limited by
power, a short benchmark less so.</li>
<li>Contenders of a figure ran in turns, in one process but for coda train's. Figures of different
files are of different machines or hours, and do not compare; docs/benchmarking.md has the rules.
</li>
<li>Peers: PyTorch, eager and by torch.compile; Liger and quack, libraries of fused kernels;
“cuBLAS, bare GEMM” is torch.mm alone; “best of nine” the fastest of eight proposals of cuBLASLt
and of cublasGemmEx, which is what torch.mm calls.</li>
<li>M×N×K are rows of the input (tokens), columns of the result and the contraction; h is the hidden
width, V the vocabulary. dX and “weight_grad” are the two GEMMs of a backward pass. “kept” stores
the input times the norm's weight, “folded” has that weight multiplied into the GEMM's.</li>
</ul>
</section>
"""


def links_to(sections: list[Section], place: str) -> str:
    of_place = [one for one in sections if one.place == place]
    links = "\n".join(f'<a href="#{one.name}">{escape(one.title)}</a>' for one in of_place)
    return f"<nav><strong>{place}</strong>\n{links}</nav>\n" if of_place else ""


def page(overviews: list[Picture], sections: list[Section], absent: list[str]) -> str:
    links = "".join(links_to(sections, place) for place in ("H200", "CPU"))
    top = f'<div class="pictures">\n{"".join(map(picture, overviews))}</div>\n'
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>coda: benchmarks</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        "<h1>coda: benchmarks</h1>\n"
        "<p>coda runs the parts of a Transformer around its GEMMs inside of them. This page has "
        "its speed and memory beside others, where it is behind too, made from the files in "
        "bench/results by <code>make report</code>.</p>\n"
        f"{top}<nav>\n"
        f'<a href="#how">How to read it</a>\n<a href="#behind">{BEHIND}</a></nav>\n'
        f"{links}{missing(absent)}{changed(sections)}"
        f"{HOW_TO_READ}{behind(sections)}{''.join(map(section, sections))}"
        "</main>\n</body>\n</html>\n"
    )
