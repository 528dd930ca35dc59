"""bench/arguments.py, and scripts of bench: what cannot be is answered before it is measured."""

import argparse
import contextlib
import importlib.util
import io
import subprocess
import sys
import tempfile
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import arguments  # noqa: E402

# Those that import no package of coda's, which may not be built.
SCRIPTS = ("numerics", "torch_cpu", "train")


def answer(kind, text: str):
    """What is parsed, or the message."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--given", type=kind)
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        try:
            return parser.parse_args(["--given", text]).given
        except SystemExit as ended:
            assert ended.code == 2, ended.code
            return errors.getvalue().splitlines()[-1]


def check_numbers() -> None:
    assert answer(arguments.count, "3") == 3 and answer(arguments.count_or_none, "0") == 0
    assert answer(arguments.width, "256") == 256
    assert answer(arguments.seconds, "0.5") == 0.5
    assert answer(arguments.shape, "4x5x6") == (4, 5, 6)
    for kind, text, message in (
        (arguments.count, "0", "a number from 1 on, got 0"),
        (arguments.count, "-2", "a number from 1 on, got -2"),
        (arguments.count, "many", "invalid count value: 'many'"),
        (arguments.count_or_none, "1.5", "invalid count_or_none value"),
        (arguments.width, "100", "a multiple of 128, got 100"),
        (arguments.seconds, "0", "a time above 0"),
        (arguments.seconds, "nan", "a time above 0"),
        (arguments.shape, "4x5", "expected MxNxK"),
        (arguments.shape, "4x0x6", "expected MxNxK"),
        (arguments.shape, "axbxc", "expected MxNxK"),
    ):
        got = answer(kind, text)
        assert isinstance(got, str) and message in got, (text, got)


def check_files() -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert answer(arguments.result_file, f"{folder}/a.json") == Path(folder) / "a.json"
        assert "is a folder" in answer(arguments.result_file, folder)
        assert "there is no folder" in answer(arguments.result_file, f"{folder}/no/a.json")


def check_device() -> None:
    usual = sys.modules.get("torch")
    try:
        for found in (True, False):
            cuda = types.SimpleNamespace(is_available=lambda found=found: found)
            sys.modules["torch"] = types.SimpleNamespace(cuda=cuda)
            assert answer(arguments.device, "cpu") == "cpu"
            got = answer(arguments.device, "cuda")
            assert got == "cuda" if found else "finds no GPU here" in got, got
    finally:
        del sys.modules["torch"]
        if usual is not None:
            sys.modules["torch"] = usual


def check_scripts() -> None:
    """Each answers with one line, not with a traceback."""
    script = [sys.executable, ROOT / "bench" / "torch_cpu.py", "--shape", "64x64x50"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "K a multiple of 64" in done.stderr, done.stderr
    for name in SCRIPTS:
        for given, message in (
            (["--json", "no/such/folder.json"], "there is no folder no/such"),
            (["--nothing"], "unrecognized arguments: --nothing"),
        ):
            command = [sys.executable, ROOT / "bench" / f"{name}.py", *given]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 2 and message in done.stderr, (name, done.stderr)
            assert "Traceback" not in done.stderr, (name, done.stderr)


def check_gpu_script() -> None:
    for given, message in (
        ([ROOT / "runs" / "never", "modle"], "no part modle; there are check bench"),
        (["package"], "package is a part"),
    ):
        command = ["bash", ROOT / "bench" / "gpu.sh", *given]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
        assert done.returncode == 2 and message in done.stderr, (given, done.stderr)
        assert not (ROOT / "runs" / "never").exists(), "a folder was made"


def main() -> int:
    check_numbers()
    check_files()
    check_device()
    check_gpu_script()
    if importlib.util.find_spec("torch") is not None:
        check_scripts()
    return 0


if __name__ == "__main__":
    sys.exit(main())
