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
    return Ratio(label, comparison.mean, low, high, comparison.zeros_mean)


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
    form = result["variant"].replace("bf16", "").strip("-")
    return f"{result['operation']} {form}".strip()


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
        f"{what}, on an H200",
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
    found, peaks, rows, memory = Comparisons(), Comparisons(), [], []
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
        [replace(one, what="Layer without attention") for one in whole],
    )


def cross_entropy_section(document: dict, file: str) -> Section:
    """coda's way for training: gradients made in the forward, with fp32 dW."""
    found, rows, memory = Comparisons(), [], []
    for r in document["results"]:
        ours_name = "coda package" if "coda package" in r["ms"] else "coda, with gradients"
        totals = {name: sum(phases.values()) for name, phases in r["ms"].items()}
        case = f"h = {r['hidden']}, V = {r['vocabulary']}"
        for name, total in totals.items():
            if not name.startswith("coda"):
                key = "loss and gradients", name
                found.add(key, case, r["regime"], total, totals[ours_name])
            peak = r["peak_bytes"][name] / GIB
            row = [str(r["hidden"]), str(r["vocabulary"]), r["regime"], name]
            rows.append([*row, f"{total:.2f}", f"{peak:.2f}", *readings(r)])
    largest = max(document["results"], key=lambda r: (r["vocabulary"], r["hidden"]))
    for name, peak in largest["peak_bytes"].items():
        memory.append(Amount(name, peak, f"{peak / GIB:.2f} GiB", name.startswith("coda")))
    by_shape = [
        Comparison(case, one.peer, "", {case: value}, {case: one.zeros[case]} if one.zeros else {})
        for one in found.all()
        for case, value in one.ratios.items()
    ]
    shapes: list[Heading | Ratio] = []
    for name in found.peers():
        listed = [ratio(one) for one in by_shape if one.peer == name]
        shapes += [Heading(f"over {name}"), *listed]
    title = "A head: logits, loss and both gradients"
    what = f"{largest['tokens']} tokens, h = {largest['hidden']}, V = {largest['vocabulary']}"
    pictures = [
        Picture(
            "cross_entropy",
            ratio_chart(title, "16384 tokens, bf16; dW in fp32 by coda", shapes),
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
        "Logits of all tokens and the whole vocabulary never exist in coda's ways for training. "
        "The peers' weight gradient is bf16, coda's is fp32.",
        pictures,
        [comparison_table(by_shape), Table("Times and memory", head, rows, 4)],
        source_of(document, file),
        by_shape,
        headlines("Cross-entropy, loss and gradients", found),
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
        "Operations without a GEMM, beside a copy of as many bytes as they have to move. Those "
        "that add up or scatter cannot reach 1.",
        [Picture("rows", chart, title)],
        [
            comparison_table(found.all()),
            Table("Times", ["operation", "variant", "M×N×K", "ms", "copy ms", "GB/s"], rows, 3),
        ],
        source_of(document, file),
        found.all(),
        [],
    )
