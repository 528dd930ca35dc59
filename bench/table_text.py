"""What the makers of tables share: Markdown, where figures come from, means."""

import math


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def markdown(rows: list[list[str]], left: int) -> str:
    """A head and lines; the first `left` columns are words, the others figures."""
    marks = ["---"] * left + ["---:"] * (len(rows[0]) - left)
    return "".join(f"| {' | '.join(row)} |\n" for row in [rows[0], marks, *rows[1:]])


def source(document: dict) -> str:
    where = document["gpu"] or f"{document['machine']}, PyTorch {document['torch']}"
    return f"{where}; commit {document['commit']}"
