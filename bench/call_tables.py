"""Tables of short calls, for bench/tables.py."""

from decode_speed import least_of, verdict
from table_text import markdown, source


def range_text(results: list[dict], column: str) -> str:
    times = {r["operator"]: r["microseconds"][column] for r in results}
    least, most = min(times, key=times.get), max(times, key=times.get)
    return f"{times[least]:.1f} (`{least}`) to {times[most]:.1f} (`{most}`)"


def make_overhead_table(documents: list[dict]) -> str:
    """A column per file: all operators, `linear` in parts, a layer's forward."""
    columns = []
    for document in documents:
        results = document["results"]
        linear = next(r["microseconds"] for r in results if r["operator"] == "linear")
        layer = document.get("layer")
        columns.append(
            {
                "without gradients": range_text(results, "operator"),
                "recorded for a backward pass": range_text(results, "recorded"),
                "`linear`": f"{linear['operator']:.1f}",
                "of it PyTorch's dispatcher": f"{linear['operator'] - linear['kernel']:.1f}",
                "the allocation of the result": f"{linear['allocation']:.1f}",
                "libcoda, with reading the tensors": f"{linear['libcoda']:.1f}",
                "a layer's forward without attention, five operators": (
                    f"{layer['operator']:.0f}, recorded {layer['recorded']:.0f}" if layer else ""
                ),
            }
        )
    heads = ["beside a GPU" if document["gpu"] else "on a CPU" for document in documents]
    rows = [["µs of a call", *heads]]
    rows += [[name, *(column[name] for column in columns)] for name in columns[0]]
    places = " ".join(
        f"{head[0].upper()}{head[1:]}: {source(one)}." for head, one in zip(heads, documents)
    )
    return f"{markdown(rows, 1)}\n{places}\n"


def make_decode_table(document: dict) -> str:
    """A line per size, type and cache, a column per number of tokens: speed over stock."""
    results = document["results"]
    counts = list(least_of(results, "patched"))
    rows = [["h", "type", "cached", *map(str, counts)]]
    lines: dict[tuple, dict[int, float]] = {}
    for r in results:
        key = str(r["hidden"]), r["dtype"], str(r["cached"])
        lines.setdefault(key, {})[r["tokens"]] = r["ms"]["stock"] / r["ms"]["patched"]
    for key, line in lines.items():
        rows.append([*key, *(f"{line[n]:.2f}×" if n in line else "" for n in counts)])
    default = least_of(results, "default")
    rows.append(["default, least", "", "", *(f"{value:.2f}×" for value in default.values())])
    rounds = min(r["rounds"] for r in results)
    end = f"{source(document)}; medians of {rounds} rounds."
    return f"{markdown(rows, 3)}\n{verdict(results)} {end}\n"
