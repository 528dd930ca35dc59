"""Tables of whole training steps, for bench/tables.py."""

from table_text import markdown, source


def make_train_table(document: dict) -> str:
    """A line per contender: times of a step, and speed over the better of PyTorch's two."""
    results = document["results"]
    ours, others = results[0], results[1:]
    rows = [["", "forward + backward", "step", "tokens/s", "memory over the weights"]]
    for result in results:
        peak = result.get("peak_over_weights_bytes")
        row = [result["contender"]]
        row += [f"{result[key]:.1f} ms" for key in ("forward_backward_ms", "step_ms")]
        row += [f"{result['tokens_per_second']:.0f}"]
        rows.append([*row, f"{peak / 2**30:.2f} GiB" if peak else ""])
    faster = [
        f"{min(other[key] for other in others) / ours[key]:.2f}×"
        for key in ("forward_backward_ms", "step_ms")
    ]
    rows.append(["coda over the faster", *faster, "", ""])
    shape = f"{ours['model']}, {ours['batch']} sequences of {ours['sequence']} tokens"
    end = f"{source(document)}; medians of {ours['rounds']} rounds."
    return f"{markdown(rows, 1)}\n{shape}. {end}\n"


def make_model_table(document: dict) -> str:
    """A line per contender, random data: a step, and the fastest of coda's over each. A first step
    stands where the file has one; times with zeros in a sentence."""
    shown = [r for r in document["results"] if r["regime"] == "random"]
    ours = next(r for r in shown if r["contender"] == document["ours"])
    head = ["", "forward + backward", "step", "tokens/s", f"{ours['contender']} over it"]
    timed = any(r.get("first_step_s") for r in shown)
    rows = [[*head, "memory over the weights", *(["first step"] if timed else [])]]
    for r in shown:
        peak, first = r.get("peak_over_weights_bytes"), r.get("first_step_s")
        row = [r["contender"]]
        row += [f"{r[key]:.1f} ms" for key in ("forward_backward_ms", "step_ms")]
        row += [f"{r['tokens_per_second']:.0f}"]
        row += [f"{r['step_ms'] / ours['step_ms']:.2f}×" if r is not ours else ""]
        row += [f"{peak / 2**30:.2f} GiB" if peak else ""]
        rows.append([*row, *([f"{first:.1f} s" if first else ""] if timed else [])])
    shape = f"{ours['model']}, {ours['batch']} sequences of {ours['sequence']} tokens"
    bare = document.get("bare_ms") or {}
    if "random" in bare:
        shape += f"; their GEMMs, by torch.mm, and attention alone take {bare['random']:.1f} ms"
    end = f"{source(document)}; medians of {ours['rounds']} rounds."
    return f"{markdown(rows, 1)}\n{shape}.{with_zeros(document['results'], bare)} {end}\n"


def with_zeros(results: list[dict], bare: dict[str, float]) -> str:
    times = {r["contender"]: r["forward_backward_ms"] for r in results if r["regime"] == "zeros"}
    if not times:
        return ""
    if "zeros" in bare:
        times["GEMMs and attention alone"] = bare["zeros"]
    listed = ", ".join(f"{name} {ms:.1f} ms" for name, ms in times.items())
    return f" With zeros, where power limits the clock less, forward and backward take: {listed}."
