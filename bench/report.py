"""Writes docs/benchmarks, a page of plots and tables, from bench/results/*.json.

    python bench/report.py            # or: make report
    python bench/report.py --check    # exit status 1 where the page is stale

Every figure comes from the files; what was not measured is left out with a note.
"""

import argparse
import json
import sys
from pathlib import Path

from page.calls import decode_section, overhead_section
from page.comparison import Maker, Picture, Section
from page.html import page
from page.sections import (
    cross_entropy_section,
    kernels_section,
    layer_section,
    operations_section,
    peers_section,
    ratio,
    rows_section,
)
from page.steps import cpu_operations_section, model_section, train_section
from page.svg import Heading, ratio_chart

ROOT = Path(__file__).resolve().parent.parent
SECTIONS: dict[str, Maker] = {
    "model_h200": model_section,
    "train_h200": train_section,
    "layer_h200": layer_section,
    "operations_h200": operations_section,
    "peers_h200": peers_section,
    "cross_entropy_h200": cross_entropy_section,
    "h200": kernels_section,
    "rows_h200": rows_section,
    "decode_h200": decode_section,
    "overhead_h200": overhead_section,
    "model_cpu": model_section,
    "train_cpu": train_section,
    "layer_cpu": layer_section,
    "torch_cpu": cpu_operations_section,
    "cpu": cpu_operations_section,
    "decode_cpu": decode_section,
    "overhead_cpu": overhead_section,
}


def overview_of(place: str, sections: list[Section]) -> list[Picture]:
    """What all sections of a place say in one line per peer; nothing where there is none."""
    rows, last = [], None
    for comparison in (one for section in sections for one in section.headlines):
        if comparison.what != last:
            rows.append(Heading(comparison.what))
            last = comparison.what
        rows.append(ratio(comparison, f"over {comparison.peer}"))
    if not rows:
        return []
    title = f"coda over its peers, {place}"
    chart = ratio_chart(title, "times faster, or less memory; to the left of 1: slower", rows)
    return [Picture(f"overview_{place.lower()}", chart, f"{title}: speed over each of them")]


def files_of(results: Path) -> dict[str, str]:
    """The page's files, by name."""
    places: dict[str, list[Section]] = {"H200": [], "CPU": []}
    absent = []
    for name, make in SECTIONS.items():
        path = results / f"{name}.json"
        if not path.is_file():
            absent.append(path.name)
            continue
        document = json.loads(path.read_text(encoding="utf-8"))
        places["H200" if "h200" in name else "CPU"].append(make(document, path.name))
    overviews = [one for item in places.items() for one in overview_of(*item)]
    sections = [section for listed in places.values() for section in listed]
    pictures = overviews + [one for section in sections for one in section.pictures]
    files = {f"{one.name}.svg": one.svg for one in pictures}
    return files | {"index.html": page(overviews, sections, absent)}


def stale_files(folder: Path, files: dict[str, str]) -> list[str]:
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.*")}
    return sorted(name for name in files | found if files.get(name) != found.get(name))


def write(folder: Path, files: dict[str, str]) -> None:
    """What the folder held of an earlier page goes."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.svg"):
        path.unlink()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the page of benchmarks")
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks")
    parser.add_argument("--check", action="store_true", help="only say whether the page is stale")
    arguments = parser.parse_args()
    files = files_of(arguments.results)
    if arguments.check:
        stale = stale_files(arguments.out, files)
        if stale:
            print(f"{arguments.out}: stale: {', '.join(stale)}; run `make report`")
        return 1 if stale else 0
    write(arguments.out, files)
    print(f"{arguments.out / 'index.html'}: {len(files) - 1} plots")
    return 0


if __name__ == "__main__":
    sys.exit(main())
