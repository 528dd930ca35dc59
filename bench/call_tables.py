"""Tables of short calls, for bench/tables.py."""

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
