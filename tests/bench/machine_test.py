"""bench/machine.py: every file of results says when, where and with what it was measured."""

import datetime
import importlib.util
import json
import platform
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))


class Coda:
    device = "cpu"

    def commit(self) -> str:
        return "abc"


def check_document(machine, torch) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.json"
        given = machine.write_results(file, Coda(), [{"ms": 1.0}], kind="some")
        written = json.loads(file.read_text(encoding="utf-8"))
    assert written == given
    assert written["kind"] == "some" and written["results"] == [{"ms": 1.0}]
    assert written["commit"] == "abc" and written["gpu"] is None and "cores" in written["machine"]
    datetime.date.fromisoformat(written["date"])
    assert written["torch"] == torch.__version__
    versions = written["versions"]
    assert versions["Python"] == platform.python_version()
    assert ("transformers" in versions) == (importlib.util.find_spec("transformers") is not None)
    assert all(isinstance(one, str) and one for one in versions.values()), versions


def check_cudnn(machine, torch) -> None:
    usual = torch.backends.cudnn.version
    try:
        for number, text in ((91002, "9.10.2"), (90100, "9.1.0"), (None, None)):
            torch.backends.cudnn.version = lambda number=number: number
            assert machine.cudnn() == text
            assert machine.versions().get("cuDNN") == text
    finally:
        torch.backends.cudnn.version = usual


def main() -> int:
    if importlib.util.find_spec("torch") is None:
        return 77
    import machine
    import torch

    check_document(machine, torch)
    check_cudnn(machine, torch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
