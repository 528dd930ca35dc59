"""Writes the result tables of README.md and of docs from bench/results/*.json.

A table stands between `<!-- table: NAME -->` and `<!-- /table -->` and shows
bench/results/NAME.json, which `coda bench --json` or a script of bench/ wrote; its "kind" says how.
Where several files are named, they stand beside each other in one table.
With --check nothing is written; the exit status is 1 where a table is stale.
"""

import argparse
import json
import re
import sys
from pathlib import Path

from call_tables import make_decode_table, make_overhead_table
from step_tables import make_model_table, make_train_table
from table_text import geometric_mean, markdown, source

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md"] + [
    ROOT / "docs" / f"{name}.md" for name in ("results", "numerics", "gpu_performance", "python")
]
TABLE = re.compile(
    r"(?P<open><!-- table: (?P<names>[\w -]+) -->\n).*?(?P<close><!-- /table -->)", re.DOTALL
)


def shape_of(result: dict) -> tuple[int, int, int]:
    return result["M"], result["N"], result["K"]


def cell(result: dict) -> str:
    time = f"{result['ms']:.1f} ms"
    return time if result["speedup"] is None else f"{time}, {result['speedup']:.2f}×"


def make_table(document: dict) -> str:
    """A line per operation and variant, a column per shape: time, and speed over the baseline."""
    results = document["results"]
    shapes = list(dict.fromkeys(shape_of(result) for result in results))
    lines: dict[tuple[str, str], dict] = {}
    for result in results:
        key = (result["operation"], result.get("variant", result["dtype"]))
        lines.setdefault(key, {})[shape_of(result)] = result
    head = ["operation", "variant", "against", *("×".join(map(str, shape)) for shape in shapes)]
    rows = [head, ["---"] * 3 + ["---:"] * len(shapes)]
    for (operation, variant), by_shape in lines.items():
        baselines = dict.fromkeys(result["baseline"] or "" for result in by_shape.values())
        cells = [cell(by_shape[shape]) if shape in by_shape else "" for shape in shapes]
        rows.append([f"`{operation}`", variant, " or ".join(baselines), *cells])
    text = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    rounds = min(result["rounds"] for result in results)
    return f"{text}\n{source(document)}; medians of {rounds} rounds.\n"


def make_gpu_table(document: dict) -> str:
    """A line per operation and layout: means over the shapes, of the chosen kernel."""
    lines: dict[tuple, dict[str, dict[str, list[float]]]] = {}
    for result in document["results"]:
        if not result["chosen"]:
            continue
        ports = "".join(f" +{port}" for port in result["ports"])
        key = (f"`{result['operation']}`", result["variant"] + ports, result["layout"])
        line = lines.setdefault(key, {})
        by_regime = line.setdefault(result["regime"], {"fastest": [], "usual": []})
        by_regime["fastest"].append(result["speedup"])
        by_regime["usual"].append(result["usual_ms"] / result["ms"])
    head = ["operation", "variant", "layout"]
    for baseline in ("best of nine", "`cublasGemmEx`"):
        head += [f"over {baseline}, random", "zeros"]
    rows = [head, ["---"] * 3 + ["---:"] * 4]
    for key, line in lines.items():
        cells = []
        for baseline in ("fastest", "usual"):
            for regime in ("random", "zeros"):
                values = line[regime][baseline]
                cells.append(f"{geometric_mean(values):.3f} ({min(values):.3f})")
        rows.append([*key, *cells])
    text = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    rounds = min(result["rounds"] for result in document["results"])
    return f"{text}\n{source(document)}; medians of {rounds} rounds.\n"


PEERS = ("quack", "Liger", "FlashInfer")
PHASES = ("inference", "forward", "backward", "forward+backward")
FORMS = {"coda kept": "γ kept", "coda folded": "γ folded", "coda package": "package"}


def fastest_torch(ms: dict, phase: str) -> float:
    return min(times[phase] for name, times in ms.items() if name.startswith("torch"))


def make_layer_table(document: dict) -> str:
    """A line per size, data and phase: time, and speed over PyTorch and over the bare GEMMs."""
    head = ["h", "data", "phase", "PyTorch", "GEMMs"]
    forms = [form for form in FORMS if form in document["results"][0]["ms"]]
    for form in forms:
        head += [FORMS[form], "over PyTorch", "over GEMMs"]
    rows = [head]
    for result in document["results"]:
        ms = result["ms"]
        for phase in PHASES:
            torch_ms = fastest_torch(ms, phase)
            gemms = ms["GEMMs"]["forward" if phase == "inference" else phase]
            row = [str(result["hidden"]), result["regime"], phase]
            row += [f"{torch_ms:.2f} ms", f"{gemms:.2f} ms"]
            for form in forms:
                ours = ms[form][phase]
                row += [f"{ours:.2f} ms", f"{torch_ms / ours:.2f}×", f"{gemms / ours:.2f}×"]
            rows.append(row)
    rounds = min(result["rounds"] for result in document["results"])
    return f"{markdown(rows, 3)}\n{source(document)}; medians of {rounds} rounds.\n"


def make_operations_table(document: dict) -> str:
    """A line per operation and set of shapes: means over the shapes, the worst one in brackets."""
    lines: dict[tuple, dict[str, list[dict]]] = {}
    for result in document["results"]:
        key = (result["set"], f"`{result['operation']}`", result["variant"])
        lines.setdefault(key, {}).setdefault(result["regime"], []).append(result)
    head = ["shapes", "operation", "variant"]
    others = {"torch.mm": "the bare GEMM", "torch.compile": "torch.compile"}
    others |= {name: name for r in document["results"] for name in r["ms"] if name in PEERS}
    for baseline in others.values():
        head += [f"over {baseline}, random", "zeros"]
    rows = [head]
    for key, line in lines.items():
        row = list(key)
        for other in others:
            for regime in ("random", "zeros"):
                times = [result["ms"] for result in line[regime] if other in result["ms"]]
                values = [ms[other] / ms["coda"] for ms in times]
                mean = f"{geometric_mean(values):.3f} ({min(values):.3f})" if values else ""
                row.append(mean)
        rows.append(row)
    rounds = min(result["rounds"] for result in document["results"])
    return f"{markdown(rows, 3)}\n{source(document)}; medians of {rounds} rounds.\n"


def make_numerics_table(document: dict) -> str:
    """Forward, backward and rows apart; a line per output: errors against fp64."""
    head = ["operation", "variant", "output", "coda", "eager", "torch.compile", "coda/eager"]
    tables: dict[str, list[list[str]]] = {}
    for result in document["results"]:
        errors = result["errors"]
        variant = ", ".join(filter(None, (result["variant"], result["options"])))
        row = [f"`{result['operation']}`", variant, f"`{result['output']}`"]
        row += [f"{errors[name]:.1e}" for name in ("coda", "eager", "compile")]
        exact = errors["eager"] == 0  # both, then: the error rule allows no more
        row.append("" if exact else f"{errors['coda'] / errors['eager']:.2f}")
        tables.setdefault(result["table"], [head]).append(row)
    texts = [f"**{name.capitalize()}**\n\n{markdown(rows, 3)}\n" for name, rows in tables.items()]
    return f"{''.join(texts)}{source(document)}.\n"


def make_cross_entropy_table(document: dict) -> str:
    """A line per shape and contender, random data: loss and gradients together."""
    rows = [["h", "vocabulary", "contender", "loss and gradients", "memory", "speed"]]
    for r in document["results"]:
        if r["regime"] != "random":
            continue
        totals = {name: sum(phases.values()) for name, phases in r["ms"].items()}
        for name, total in totals.items():
            row = [str(r["hidden"]), str(r["vocabulary"]), name, f"{total:.2f} ms"]
            speed = totals["torch.compile"] / total
            rows.append([*row, f"{r['peak_bytes'][name] / 2**30:.2f} GiB", f"{speed:.2f}×"])
    rounds = min(result["rounds"] for result in document["results"])
    return f"{markdown(rows, 3)}\n{source(document)}; medians of {rounds} rounds.\n"


def make_own_programs_table(document: dict) -> str:
    """A line per program: time, and speed over the plain `linear` on the same operands."""
    chosen = [r for r in document["results"] if r["chosen"] and r["layout"] == "forward"]
    linear = {r["regime"]: r["ms"] for r in chosen if r["operation"] == "linear"}
    rows = [["program", "random", "zeros", "over `linear`, random", "zeros", "both"]]
    for name in dict.fromkeys(r["operation"] for r in chosen):
        ms = {r["regime"]: r["ms"] for r in chosen if r["operation"] == name}
        speeds = [linear[regime] / ms[regime] for regime in ("random", "zeros")]
        times = [f"{ms[regime]:.3f} ms" for regime in ("random", "zeros")]
        ratios = [f"{speed:.3f}" for speed in (*speeds, geometric_mean(speeds))]
        rows.append([f"`{name}`", *times, *ratios])
    rounds = min(result["rounds"] for result in document["results"])
    return f"{markdown(rows, 1)}\n{source(document)}; medians of {rounds} rounds.\n"


def make_python_programs_table(document: dict) -> str:
    """A line per program: written in Python, the same in C++, and the plain GEMM."""
    calls, *programs = document["results"]
    rows = [["program", "from Python", "from C++", "`linear`"]]
    for r in programs:
        times = [f"{r[f'{key}_ms']:.3f} ms" for key in ("python", "cpp", "linear")]
        rows.append([f"`{r['program']}`", *times])
    first, later = calls["first_call_s"], calls["later_calls_us"]
    return (
        f"{markdown(rows, 1)}\nA first call {first['forward']:.2f} s, a first backward pass "
        f"{first['backward']:.2f} s; later calls {later['call']:.0f} µs of host time, recorded "
        f"{later['recorded']:.0f}, libcoda's part {later['libcoda']:.0f}. {source(document)}.\n"
    )


def make_ceiling_table(document: dict) -> str:
    """A line per contender, its speed with both kinds of data."""
    rows = [["", "tile", "random, TFLOP/s", "MHz", "W", "zeros, TFLOP/s", "MHz", "W"]]
    lines: dict[tuple[str, str], list[str]] = {}
    for r in document["results"]:
        line = lines.setdefault((r["contender"], r["tile"].replace("x", "×")), [])
        line += [f"{r[key]:.0f}" for key in ("tflops", "clock_mhz", "power_w")]
    rows += [[*key, *line] for key, line in lines.items()]
    rounds = document["results"][0]["rounds"]
    return f"{markdown(rows, 2)}\n{source(document)}; medians of {rounds} rounds.\n"


KINDS = {
    "ceiling": make_ceiling_table,
    "programs": make_python_programs_table,
    "model": make_model_table,
    "cross_entropy": make_cross_entropy_table,
    "decode": make_decode_table,
    "layer": make_layer_table,
    "operations": make_operations_table,
    "numerics": make_numerics_table,
    "train": make_train_table,
}


def make(documents: dict[str, dict]) -> str:
    """By name; all of a kind."""
    (name, document), *others = documents.items()
    if document.get("kind") == "overhead":
        return make_overhead_table(list(documents.values()))
    assert not others, f"{', '.join(documents)}: no table shows several of them"
    if name == "programs_h200":  # of `coda bench linear examples/programs`
        return make_own_programs_table(document)
    if "kind" in document:
        return KINDS[document["kind"]](document)
    return make_gpu_table(document) if document["gpu"] else make_table(document)


def fill(text: str, results: Path) -> str:
    def table(match: re.Match) -> str:
        paths = [results / f"{name}.json" for name in match["names"].split()]
        documents = {
            path.stem: json.loads(path.read_text(encoding="utf-8"))
            for path in paths
            if path.is_file()
        }
        made = make(documents) if documents else "Not measured yet.\n"
        return f"{match['open']}{made}{match['close']}"

    return TABLE.sub(table, text)


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the result tables of the documents")
    parser.add_argument("document", nargs="*", type=Path, default=DOCUMENTS)
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results")
    parser.add_argument("--check", action="store_true", help="only say whether a table is stale")
    arguments = parser.parse_args()
    stale = 0
    for document in arguments.document:
        text = document.read_text(encoding="utf-8")
        filled = fill(text, arguments.results)
        if filled == text:
            continue
        stale += 1
        if arguments.check:
            print(f"{document.name}: a table is stale; run `python bench/tables.py`")
        else:
            document.write_text(filled, encoding="utf-8")
            print(f"{document.name}: tables written")
    return 1 if arguments.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
