"""Sections of operations, layers and the loss: ratios over peers, by shape."""

from dataclasses import replace

from page.comparison import (
    AFTER_NORM,
    Comparison,
    Comparisons,
    Picture,
    Section,
    Table,
    comparison_table,
    source_of,
    together,
)
from page.svg import Amount, Heading, Ratio, amount_chart, ratio_chart

PEERS = {"torch.mm": "cuBLAS, bare GEMM", "compile": "torch.compile", "eager": "eager PyTorch"}
GIB = 2**30
ABOVE = "above 1 coda is faster"
LIBRARY = "cuBLASLt, best of nine"


def peer(name: str) -> str:
    return PEERS.get(name, name)


def ratio(comparison: Comparison, label: str = "") -> Ratio:
    low, high = comparison.worst[1], comparison.best[1]
    label = label or comparison.what
    bound = not comparison.same_work
    return Ratio(label, comparison.mean, low, high, comparison.zeros_mean, bound)


def grouped(comparisons: Comparisons) -> list[Heading | Ratio]:
    """Under the name of each peer."""
    rows: list[Heading | Ratio] = []
    for name in comparisons.peers():
        rows += [Heading(f"over {name}"), *map(ratio, comparisons.over(name))]
    return rows


def by_group(comparisons: list[Comparison]) -> list[Heading | Ratio]:
    rows: list[Heading | Ratio] = []
    for group in dict.fromkeys(one.group for one in comparisons):
        rows.append(Heading(group))
        rows += [ratio(one) for one in comparisons if one.group == group]
    return rows


def headlines(what: str, comparisons: Comparisons) -> list[Comparison]:
    """One for each peer."""
    return [together(what, name, comparisons.over(name)) for name in comparisons.peers()]


def shape_text(result: dict) -> str:
    return f"{result['M']}×{result['N']}×{result['K']}"


SETS = {"layer": "a layer's shapes", "square": "N = K = h", "chain": AFTER_NORM}


def operation_text(result: dict) -> str:
    """Operation and what its variant says beside the usual type."""
    forms = [part for part in result["variant"].split("-") if part != "bf16"]
    return " ".join([result["operation"], *forms])


def operations_section(document: dict, file: str) -> Section:
    text = (
        "Every fused GEMM at the shapes of a layer, at square ones, and after a norm, beside what "
        "a framework runs in its place and beside the GEMM alone, which does less."
    )
    return of_operations(document, file, "operations", "Operations", text)


def peers_section(document: dict, file: str) -> Section:
    """Of those cases that others have fused too."""
    text = (
        "Fused GEMMs at the shapes of a layer beside the same of other libraries, beside what a "
        "framework runs in their place and beside the GEMM alone, which does less."
    )
    return of_operations(document, file, "peers", "Operations that others have too", text)


def of_operations(document: dict, file: str, name: str, what: str, text: str) -> Section:
    found, rows = Comparisons(), []
    names = list(dict.fromkeys(one for r in document["results"] for one in r["ms"]))
    for r in document["results"]:
        ours = r["ms"].get("coda operator", r["ms"]["coda"])
        for other, ms in r["ms"].items():
            if not other.startswith("coda"):
                key = operation_text(r), peer(other), SETS[r["set"]]
                found.add(key, shape_text(r), r["regime"], ms, ours)
        row = [r["name"], r["operation"], r["variant"], shape_text(r), r["regime"]]
        row += [f"{r['ms'][one]:.3f}" if one in r["ms"] else "" for one in names]
        rows.append([*row, f"{r['tflops']:.0f}", *readings(r)])
    pictures, tokens = [], document["results"][0]["M"]
    for i, other in enumerate(found.peers()):
        title = f"{what} over {other}"
        chart = ratio_chart(title, f"{tokens} tokens, bf16; {ABOVE}", by_group(found.over(other)))
        pictures.append(Picture(f"{name}_{i + 1}", chart, title))
    head = ["case", "operation", "variant", "M×N×K", "data", *(f"{peer(n)} ms" for n in names)]
    way = "torch.ops.coda" if "coda operator" in names else "the C interface"
    return Section(
        name,
        f"{what} on an H200",
        f"{text} coda ran through {way}.",
        pictures,
        [comparison_table(found.all()), Table("Times", [*head, "TFLOP/s", "MHz", "W"], rows, 5)],
        source_of(document, file),
        found.all(),
        headlines(what, found),
    )


def readings(result: dict) -> list[str]:
    keys = ("clock_mhz", "power_w")
    return ["" if result.get(key) is None else f"{result[key]:.0f}" for key in keys]


def layer_section(document: dict, file: str) -> Section:
    found, peaks, rows, memory = Comparisons(), Comparisons(memory=True), [], []
    gpu = document["gpu"] is not None
    for r in document["results"]:
        own = "coda package" if "coda package" in r["ms"] else "coda kept"
        ours = r["ms"][own]
        case = f"h = {r['hidden']}"
        for phase in ("inference", "forward", "backward", "forward+backward"):
            row = [str(r["hidden"]), r["regime"], phase]
            for name, times in r["ms"].items():
                row.append(f"{times[phase]:.2f}" if phase in times else "")
                if phase in times and not name.startswith("coda"):
                    known = {"GEMMs": "its GEMMs alone", "torch eager": "eager PyTorch"}
                    key = phase, known.get(name, name)
                    found.add(key, case, r["regime"], times[phase], ours[phase])
            rows.append([*row, *readings(r)])
        if r["peak_bytes"] and r["regime"] == "random":
            memory.append(Heading(case))
            for name, peak in r["peak_bytes"].items():
                mine = name.startswith("coda")
                memory.append(Amount(name, peak, f"{peak / GIB:.2f} GiB", mine))
                if not mine:
                    peaks.add(("memory", name), case, "random", peak, r["peak_bytes"][own])
    place = "H200" if gpu else "CPU"
    first = document["results"][0]
    chart = ratio_chart(
        f"A layer without attention, {place}",
        f"{first['tokens']} tokens, bf16, {own}; {ABOVE}",
        grouped(found),
    )
    name = f"layer_{place.lower()}"
    pictures = [Picture(name, chart, f"A layer on the {place}: speed over each peer")]
    if memory:
        title = "Memory of a layer's step"
        chart = amount_chart(title, "beside weights and inputs, forward and backward", memory)
        pictures.append(Picture(f"{name}_memory", chart, title))
    head = ["h", "data", "phase", *(f"{n} ms" for n in first["ms"]), "MHz", "W"]
    whole = [one for one in found.all() if one.what == "forward+backward"]
    return Section(
        name,
        f"A layer on {'an H200' if gpu else 'the CPU'}",
        "From the attention's output to the next q, k and v, and back. Its GEMMs alone are "
        "torch.mm into given memory: the rest of the layer would have to cost nothing.",
        pictures,
        [comparison_table(found.all() + peaks.all()), Table("Times", head, rows, 3)],
        source_of(document, file),
        found.all() + peaks.all(),
        [replace(one, what="Layer without attention") for one in whole]
        + headlines("Layer without attention", peaks),
    )


def kernels_section(document: dict, file: str) -> Section:
    """What `coda bench --backend cuda` wrote of GEMMs: the kernels that launches take."""
    found, rows = Comparisons(), []
    for r in document["results"]:
        if not r["chosen"]:
            continue
        ports = "".join(f" +{port}" for port in r["ports"])
        what = operation_text(r) + ports + (", dX" if r["layout"] == "dX" else "")
        for name, ms in {LIBRARY: r["baseline_ms"], "cublasGemmEx": r["usual_ms"]}.items():
            found.add((what, name), shape_text(r), r["regime"], ms, r["ms"])
        row = [r["operation"], r["variant"] + ports, r["layout"], shape_text(r), r["regime"]]
        times = (f"{r[key]:.3f}" for key in ("ms", "baseline_ms", "usual_ms"))
        rows.append([*row, r["config"], *times, *readings(r)])
    title = "Kernels on an H200"
    chart = ratio_chart(title, f"M = 16384 and eleven weights, bf16; {ABOVE}", grouped(found))
    head = ["operation", "variant", "layout", "M×N×K", "data", "kernel", "ms", f"{LIBRARY} ms"]
    head += ["cublasGemmEx ms", "MHz", "W"]
    return Section(
        "kernels",
        title,
        "The kernel that a launch takes, with its epilogue, beside the bare GEMM of the fastest of "
        "nine algorithms of cuBLAS, and of the one that torch.mm calls.",
        [Picture("kernels", chart, title)],
        [comparison_table(found.all()), Table("Times", head, rows, 6)],
        source_of(document, file),
        found.all(),
        headlines("Kernels with epilogue", found),
    )


def rows_section(document: dict, file: str) -> Section:
    """What `coda bench --backend cuda` wrote of operations without a GEMM."""
    found, rows = Comparisons(), []
    for r in document["results"]:
        variant = r["variant"] + "".join(f" +{port}" for port in r["ports"])
        key, case = (r["operation"], "a copy of as many bytes"), f"{variant}, {shape_text(r)}"
        found.add(key, case, r["regime"], r["baseline_ms"], r["ms"])
        row = [r["operation"], variant, shape_text(r), f"{r['ms']:.4f}", f"{r['baseline_ms']:.4f}"]
        rows.append([*row, f"{r['gb_per_s']:.0f}"])
    title = "Row operations on an H200"
    chart = ratio_chart(title, "speed over a copy of as many bytes", list(map(ratio, found.all())))
    return Section(
        "rows",
        title,
        "Operations without a GEMM, beside a copy that reads and writes as many bytes together as "
        "they have to: the share of that bandwidth. It can be above 1 where most of the bytes are "
        "read, and clip_factor has next to none.",
        [Picture("rows", chart, title)],
        [
            comparison_table(found.all()),
            Table("Times", ["operation", "variant", "M×N×K", "ms", "copy ms", "GB/s"], rows, 3),
        ],
        source_of(document, file),
        found.all(),
        [],
    )


def programs_section(document: dict, file: str) -> Section:
    """What `coda bench linear examples/programs --backend cuda` wrote."""
    found, rows = Comparisons(), []
    taken = [r for r in document["results"] if r["chosen"] and r["layout"] == "forward"]
    plain = {r["regime"]: r["ms"] for r in taken if r["operation"] == "linear"}
    for r in taken:
        shape, regime = shape_text(r), r["regime"]
        if r["operation"] != "linear":
            key = r["operation"], "coda's plain GEMM"
            found.add(key, shape, regime, plain[regime], r["ms"])
        rows.append([r["operation"], shape, regime, r["config"], f"{r['ms']:.3f}", *readings(r)])
    title = "Programs of one's own on an H200"
    chart = ratio_chart(title, "speed over coda's plain GEMM, bf16", list(map(ratio, found.all())))
    return Section(
        "programs",
        title,
        "The epilogues of examples/programs, as one writes them, beside linear on the same "
        "operands: how far a bar is below 1 is what the epilogue costs.",
        [Picture("programs", chart, title)],
        [
            comparison_table(found.all()),
            Table("Times", ["program", "M×N×K", "data", "kernel", "ms", "MHz", "W"], rows, 4),
        ],
        source_of(document, file),
        found.all(),
        [],
    )
