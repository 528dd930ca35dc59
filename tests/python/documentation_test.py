"""docs/python.md has a line for every operator."""

import re
from pathlib import Path

import torch

DOCUMENT = Path(__file__).resolve().parent.parent.parent / "docs" / "python.md"


def test_every_operator_is_in_the_table() -> None:
    schemas = torch._C._jit_get_all_schemas()
    operators = {
        schema.name.removeprefix("coda::") for schema in schemas if schema.name.startswith("coda::")
    }
    lines = DOCUMENT.read_text(encoding="utf-8").split("\n")
    shown = {name for line in lines if line[:1] == "|" for name in re.findall(r"`(\w+)\(", line)}
    assert "linear" in operators
    assert operators <= shown, f"not in {DOCUMENT.name}: {sorted(operators - shown)}"
