"""Sections of training steps and of the CPU."""

from page.comparison import Comparisons, Picture, Section, Table, comparison_table, source_of
from page.sections import GIB, grouped, headlines, peer, shape_text
from page.svg import Amount, amount_chart, ratio_chart

BARE = "its GEMMs and attention alone"


def place_of(document: dict) -> str:
    return "H200" if document["gpu"] else "CPU"


def step_row(r: dict, first: bool) -> list[str]:
    """A line of a table of steps; first: with the time of the first step."""
    peak, start = r.get("peak_over_weights_bytes"), r.get("first_step_s")
    row = [r["contender"], r.get("regime", "random")]
    row += [f"{r[key]:.1f}" for key in ("forward_backward_ms", "step_ms")]
    row += [f"{r['tokens_per_second']:.0f}", f"{peak / GIB:.2f}" if peak else ""]
    return row + ([f"{start:.1f}" if start else ""] if first else [])


def steps_section(document: dict, file: str, name: str, title: str, text: str) -> Section:
    """Of files with a line per contender: whole steps, memory, the first step."""
    results, place = document["results"], place_of(document)
    ours = {r.get("regime", "random"): r for r in results if r["contender"] == document["ours"]}
    found, memory = Comparisons(), Comparisons(memory=True)
    for r in results:
        regime = r.get("regime", "random")
        mine = ours[regime]
        if r["contender"].startswith("coda"):
            continue
        case, other = f"{r['batch']}×{r['sequence']} tokens", peer(r["contender"])
        for what, key in (("forward + backward", "forward_backward_ms"), ("step", "step_ms")):
            found.add((what, other), case, regime, r[key], mine[key])
        peaks = [one.get("peak_over_weights_bytes") for one in (r, mine)]
        if all(peaks) and regime == "random":
            memory.add(("memory over the weights", other), case, regime, *peaks)
    for regime, ms in (document.get("bare_ms") or {}).items():
        mine = ours[regime]
        case = f"{mine['batch']}×{mine['sequence']} tokens"
        found.add(("forward + backward", BARE), case, regime, ms, mine["forward_backward_ms"])
    shown = [r for r in results if r.get("regime", "random") == "random"]
    shape = f"{shown[0]['model']}, {shown[0]['batch']} sequences of {shown[0]['sequence']} tokens"
    pictures = []
    for key, what, unit, scale in (
        ("tokens_per_second", "Tokens per second", "", 1),
        ("peak_over_weights_bytes", "Peak memory over the weights", " GiB", GIB),
        ("first_step_s", "First step after import", " s", 1),
    ):
        rows = [
            Amount(
                peer(r["contender"]),
                r[key] / scale,
                f"{r[key] / scale:,.{0 if scale == 1 and not unit else 1}f}{unit}",
                r["contender"].startswith("coda"),
            )
            for r in shown
            if r.get(key)
        ]
        if len(rows) > 1:
            chart = amount_chart(f"{what}, {place}", shape, rows)
            pictures.append(Picture(f"{name}_{key.split('_')[0]}", chart, f"{title}: {what}"))
    chart = ratio_chart(
        f"{title}: over each peer", f"{shape}; above 1 coda is faster", grouped(found)
    )
    pictures.append(Picture(name, chart, f"{title}: speed over each peer"))
    first = any(r.get("first_step_s") for r in results)
    head = ["", "data", "forward + backward ms", "step ms", "tokens/s", "GiB over the weights"]
    head += ["first step s"] if first else []
    steps = Comparisons()
    steps.listed = {key: one for key, one in found.listed.items() if one.what == "step"}
    return Section(
        name,
        title,
        text,
        pictures,
        [
            Table("Times", head, [step_row(r, first) for r in results], 2),
            comparison_table(found.all() + memory.all()),
        ],
        source_of(document, file),
        found.all() + memory.all(),
        headlines(document["headline"], steps) + headlines(document["headline"], memory),
    )


def train_section(document: dict, file: str) -> Section:
    place = place_of(document)
    return steps_section(
        document | {"ours": "coda", "headline": "Training step, coda train"},
        file,
        f"train_{place.lower()}",
        f"`coda train`, {place}".replace("`", ""),
        "A step of coda's own trainer (C++) beside a model in plain PyTorch: “step” has clipping "
        "and AdamW on fp32 weights too. coda's gradients are fp32, PyTorch's bf16. "
        + (
            "Attention is the same cuDNN kernel on both sides."
            if document["gpu"]
            else "Attention is coda's own beside PyTorch's."
        ),
    )


def model_section(document: dict, file: str) -> Section:
    place = place_of(document)
    return steps_section(
        document | {"headline": "Training step, patched Llama"},
        file,
        f"model_{place.lower()}",
        f"A Hugging Face Llama, {place}",
        "LlamaForCausalLM of transformers as it is and by torch.compile, and after coda.patch; "
        "others' kernels in it where they took part. All have the same weights, attention and "
        f"optimizer. Ratios are those of “{document['ours']}”, coda's fastest."
        + (
            " A step that calls torch.mm for each weight cannot be faster than its GEMMs and "
            "attention alone; cuBLAS's best algorithms could be by some percent."
            if document.get("bare_ms")
            else ""
        ),
    )


def cpu_operations_section(document: dict, file: str) -> Section:
    """Of `coda bench` and bench/torch_cpu.py."""
    found, rows = Comparisons(), []
    own = "linear"
    for r in document["results"]:
        if r["baseline"] is None:
            continue
        what = f"{r['operation']} {r['variant']}"
        against = "coda's plain GEMM" if r["baseline"] == own else "the fastest of PyTorch"
        against = "OpenBLAS" if r["baseline"] == "openblas" else against
        found.add((what, against), shape_text(r), r["regime"], r["baseline_ms"], r["ms"])
        row = [r["operation"], r["variant"], shape_text(r), r["baseline"]]
        rows.append([*row, f"{r['ms']:.2f}", f"{r['baseline_ms']:.2f}"])
    beside = "the fastest of PyTorch" in found.peers()
    name = "torch_cpu" if beside else "cpu"
    title = "Operations on the CPU beside PyTorch" if beside else "Operations on the CPU"
    text = (
        "The baseline is the fastest of several ways to write the same, eager and compiled."
        if beside
        else "fp32 GEMM beside OpenBLAS; fused operations beside coda's own plain GEMM, so that "
        "1 over the figure is what an epilogue costs."
    )
    chart = ratio_chart(title, "two threads; above 1 coda is faster", grouped(found))
    head = ["operation", "variant", "M×N×K", "baseline", "ms", "baseline ms"]
    return Section(
        name,
        title,
        text,
        [Picture(name, chart, title)],
        [comparison_table(found.all()), Table("Times", head, rows, 4)],
        source_of(document, file),
        found.all(),
        headlines("Operations", found) if beside else [],
    )
