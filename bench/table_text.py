"""What the makers of tables share: Markdown, where figures come from, means."""

import math

CHANGED = "with changes"  # that no commit has


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def markdown(rows: list[list[str]], left: int) -> str:
    """A head and lines; the first `left` columns are words, the others figures."""
    marks = ["---"] * left + ["---:"] * (len(rows[0]) - left)
    return "".join(f"| {' | '.join(row)} |\n" for row in [rows[0], marks, *rows[1:]])


def commit_text(document: dict) -> str:
    """A commit that was built from a changed tree says so."""
    commit = document["commit"].removesuffix("-dirty")
    return f"commit {commit}" + ("" if commit == document["commit"] else f" {CHANGED}")


def source(document: dict) -> str:
    where = document["gpu"] or document["machine"]
    if not document["gpu"] and "torch" in document:
        where += f", PyTorch {document['torch']}"
    commit = commit_text(document).replace(CHANGED, f"**{CHANGED}**")
    return f"{where}; {commit}" + (f", measured {document['date']}" if "date" in document else "")
