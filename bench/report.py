"""Writes docs/benchmarks, a page of plots and tables, from bench/results/*.json.

    python bench/report.py            # or: make report
    python bench/report.py --check    # exit status 1 where the page is stale

Every figure comes from the files; what was not measured is left out with a note.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from page.calls import decode_section, overhead_section
from page.comparison import Comparison, Maker, Picture, Section
from page.html import page
from page.loss import cross_entropy_section
from page.sections import (
    kernels_section,
    layer_section,
    operations_section,
    peers_section,
    programs_section,
    ratio,
    rows_section,
)
from page.steps import cpu_operations_section, model_section, train_section
from page.svg import Heading, Ratio, ratio_chart

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
    "programs_h200": programs_section,
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


def overview_rows(listed: list[Comparison]) -> list[Heading | Ratio]:
    rows: list[Heading | Ratio] = []
    for what in dict.fromkeys(one.what for one in listed):
        rows.append(Heading(what))
        rows += [ratio(one, f"over {one.peer}") for one in listed if one.what == what]
    return rows


def overviews_of(place: str, sections: list[Section]) -> list[Picture]:
    """What all sections of a place say in one line per peer: speed, and memory where they have it.
    Apart, because memory differs by more."""
    listed = [one for section in sections for one in section.headlines]
    name, pictures = f"overview_{place.lower()}", []
    speed = overview_rows([one for one in listed if not one.memory])
    if speed:
        title = f"coda over its peers, {place}: speed"
        chart = ratio_chart(title, "the peer's time over coda's; left of 1 coda is slower", speed)
        pictures.append(Picture(name, chart, f"{title} over each of them"))
    memory = overview_rows([one for one in listed if one.memory])
    if memory:
        title = f"coda over its peers, {place}: memory"
        chart = ratio_chart(
            title, "the peer's bytes over coda's; left of 1 coda takes more", memory
        )
        pictures.append(Picture(f"{name}_memory", chart, f"{title} beside each of them"))
    return pictures


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
        place = "H200" if "h200" in name else "CPU"
        places[place].append(replace(make(document, path.name), place=place))
    overviews = [one for item in places.items() for one in overviews_of(*item)]
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
