"""bench/report.py: figures come from the files, what is missing is left out, stale pages are seen.

All documents of report_documents.py have coda at 1 and every peer at FACTOR: whatever the page
compares must then read FACTOR, and nothing else.
"""

import json
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from report_documents import GIB, documents

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "bench" / "report.py"


def report(*arguments) -> subprocess.CompletedProcess:
    command = [sys.executable, SCRIPT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def make(folder: Path, written: dict[str, dict]) -> dict[str, str]:
    """The page's files, from these documents alone."""
    results, out = folder / "results", folder / "out"
    results.mkdir(exist_ok=True)
    for path in results.glob("*.json"):
        path.unlink()
    for name, document in written.items():
        (results / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    done = report("--results", results, "--out", out)
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_text(encoding="utf-8") for path in out.iterdir()}


def figures(files: dict[str, str]) -> set[str]:
    """Ratios: in cells of tables, and in bold beside bars."""
    found = set(re.findall(r"<td[^>]*>([\d.]+×)</td>", files["index.html"]))
    for name, text in files.items():
        if name.endswith(".svg"):
            found |= set(re.findall(r'font-weight="600">([\d.]+×)</text>', text))
    return found


def behind_of(page: str) -> str:
    start = page.index('id="behind"')
    return page[start : page.index("</section>", start)]


def check_figures(folder: Path) -> None:
    for factor, expected in ((1.0, "1.00×"), (2.0, "2.00×"), (0.5, "0.50×")):
        files = make(folder, documents(factor))
        assert figures(files) == {expected}, (factor, figures(files))
        page = files["index.html"]
        assert "left out here" not in page
        behind = behind_of(page)
        assert ("0.50×" in behind) == (factor == 0.5), behind
        if factor == 0.5:  # a kernel that is a plain GEMM, and an operation with an epilogue
            peers, bounds = behind.split("does less work")
            assert "<td>linear</td><td>cublasGemmEx</td>" in peers
            assert "<td>linear_swiglu, a layer&#x27;s shapes</td><td>cuBLAS, bare GEMM" in bounds
        for text in (
            "1234 MHz, 567 W",
            "commit abc123",
            "2026-01-31",
            "20 rounds",
            "PyTorch 7.8.9",
        ):
            assert text in page, f"{text} is not on the page"
        assert ">4.2 µs<" in files["overhead_h200.svg"] and ">8.5 µs<" in files["overhead_cpu.svg"]
        assert "99.0" not in page, "a kernel that launches do not take"


def check_few_tokens(folder: Path) -> None:
    """Compared is what coda.patch gives; a case that would be slower otherwise is no defeat."""
    some = documents(1.0)
    some["decode_cpu"]["results"][0]["ms"]["patched"] = 4.0
    files = make(folder, some)
    assert figures(files) == {"1.00×", "0.25×"}, figures(files)
    assert "0.25×" not in files["index.html"] and "0.25×" in files["decode_cpu.svg"]
    assert "in every case from 2 tokens on" in files["index.html"]
    some["decode_cpu"]["results"][1]["ms"]["default"] = 4.0
    page = make(folder, some)["index.html"]
    behind = behind_of(page)
    assert "<td>2 tokens</td><td>the stock model</td>" in behind, behind


def check_zeros(folder: Path) -> None:
    """What is behind with all-zero data alone is listed with the figure that says so."""
    some = documents(1.0)
    some["train_h200"]["results"][4]["step_ms"] = 0.25
    assert some["train_h200"]["results"][4]["regime"] == "zeros"
    behind = behind_of(make(folder, some)["index.html"])
    assert behind.count("<tr>") == 2, behind
    assert '>0.25×</td><td class="figure">2×8 tokens, zeros</td>' in behind, behind


def check_memory(folder: Path) -> None:
    """Memory is compared, and where coda takes more, it says so."""
    some = documents(1.0)
    for r in some["cross_entropy_h200"]["results"]:
        r["peak_bytes"]["Liger"] = GIB / 4
    files = make(folder, some)
    behind = behind_of(files["index.html"])
    assert "<td>memory of the head</td><td>Liger</td>" in behind and "0.25×" in behind, behind
    assert "0.25×" in files["overview_h200_memory.svg"]
    assert "0.25×" not in files["overview_h200.svg"], "memory among the speeds"


def check_bounds(folder: Path) -> None:
    """A bar is grey where the other does less work, and orange where it does the same."""
    some = documents(1.0)
    for r in some["h200"]["results"]:
        r |= {"operation": "linear_swiglu", "baseline_ms": 0.5, "usual_ms": 0.5}
    some["torch_cpu"]["results"][0]["baseline_ms"] = 0.5
    files = make(folder, some)
    kinds = {name: re.findall(r'<rect[^>]*rx="2" class="(\w+)"', files[name]) for name in files}
    assert kinds["kernels.svg"] == ["other"] * 2, kinds["kernels.svg"]
    assert kinds["torch_cpu.svg"] == ["behind"], kinds["torch_cpu.svg"]
    assert "grey: behind" in files["kernels.svg"] and "grey" not in files["torch_cpu.svg"]


def check_sources(folder: Path) -> None:
    """Versions and date where a file has them; a tree that was changed is marked."""
    some = documents(1.0)
    some["h200"] |= {"versions": {"driver": "570.1", "quack-kernels": "0.6"}}
    some["layer_cpu"]["commit"] = "def456-dirty"
    del some["cpu"]["date"]
    page = make(folder, some)["index.html"]
    source = {name: re.search(rf"<p class=\"source\">(.*?)/{name}\.json", page)[1] for name in some}
    assert "driver 570.1; quack-kernels 0.6" in source["h200"], source["h200"]
    assert "commit abc123; 2026-01-31" in source["train_cpu"] and "2026" not in source["cpu"]
    mark = '<strong class="behind">with changes</strong>'
    assert f"commit def456 {mark}" in source["layer_cpu"] and "dirty" not in page
    assert [name for name in some if mark in source[name]] == ["layer_cpu"]
    assert f'Measured {mark} that no commit has: <a href="#layer_cpu">' in page
    assert "with changes" not in make(folder, documents(1.0))["index.html"]


def check_one_figure(folder: Path) -> None:
    """One number of one file: it moves the figures that it is part of, and no others."""
    changed = documents(1.0)
    changed["train_h200"]["results"][1]["step_ms"] = 3.0
    files = make(folder, changed)
    assert figures(files) == {"1.00×", "3.00×"}, figures(files)
    assert "3.00×" in files["train_h200.svg"] and "3.00×" in files["overview_h200.svg"]
    assert "3.00×" not in files["model_h200.svg"] + files["overview_cpu.svg"]


def check_form(files: dict[str, str]) -> None:
    page = files["index.html"]
    linked = set(re.findall(r'src="([^"]+)"', page))
    assert linked == {name for name in files if name.endswith(".svg")}, linked
    for name, text in files.items():
        assert "<script" not in text, name
        elsewhere = [url for url in re.findall(r"https?://[^\"' <]+", text) if "w3.org" not in url]
        assert not elsewhere, (name, elsewhere)
        assert "prefers-color-scheme: dark" in text, name
        if name.endswith(".svg"):
            ElementTree.fromstring(text)
    for target in re.findall(r'href="#([^"]+)"', page):
        assert f'id="{target}"' in page, target


def check_missing(folder: Path) -> None:
    for name in documents(1.0):
        kept = {other: document for other, document in documents(1.0).items() if other != name}
        files = make(folder, kept)
        note = re.search(r'class="note">([^<]*)<', files["index.html"])
        assert note and note[1].count(".json") == 1 and f"/{name}.json" in note[1], name
        check_form(files)
    files = make(folder, {})
    assert set(files) == {"index.html"}, "pictures of an earlier page stayed"
    assert files["index.html"].count(".json") == len(documents(1.0))


def check_stale(folder: Path) -> None:
    make(folder, documents(1.0))
    where = ("--results", folder / "results", "--out", folder / "out", "--check")
    assert report(*where).returncode == 0, "a current page was taken for a stale one"
    picture = folder / "out" / "overview_h200.svg"
    text = picture.read_text(encoding="utf-8")
    picture.write_text(text.replace("1.00×", "9.00×"), encoding="utf-8")
    done = report(*where)
    assert done.returncode == 1 and "overview_h200.svg" in done.stdout, (
        "a stale picture was not seen"
    )
    assert "9.00×" in picture.read_text(encoding="utf-8"), "--check wrote"
    picture.write_text(text, encoding="utf-8")
    (folder / "out" / "old.svg").write_text("", encoding="utf-8")
    assert report(*where).returncode == 1, "a picture that no page has was not seen"


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_figures(folder)
        check_few_tokens(folder)
        check_zeros(folder)
        check_memory(folder)
        check_bounds(folder)
        check_sources(folder)
        check_one_figure(folder)
        check_form(make(folder, documents(1.0)))
        check_missing(folder)
        check_stale(folder)
    done = report("--check")
    assert done.returncode == 0, done.stdout
    return 0


if __name__ == "__main__":
    sys.exit(main())
