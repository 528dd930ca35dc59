"""Every test that needs a GPU carries the marker `gpu`, by which bench/gpu.sh chooses them.

Tests are collected as on a machine with a GPU, whether there is one or not, and none is run.
"""

import ast
import inspect
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PLUGIN = """
import json, os, torch
torch.cuda.is_available = lambda: True
from gpu_marker_test import facts

def pytest_collection_finish(session):
    with open(os.environ["COLLECTED"], "w") as file:
        json.dump({item.nodeid: facts(item) for item in session.items}, file)
"""


def names_cuda(function) -> bool:
    """Whether a function names the device: "cuda", torch.cuda or .cuda()."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if isinstance(node, ast.Constant) and node.value == "cuda":
            return True
        if isinstance(node, ast.Attribute) and node.attr == "cuda":
            return True
    return False


def facts(item: pytest.Item) -> dict:
    """Of a collected test; `chosen`: its device is a parameter."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return {
        "marked": item.get_closest_marker("gpu") is not None,
        "chosen": any("cuda" in str(value) or "cpu" in str(value) for value in parameters.values()),
        "names": names_cuda(item.function),
    }


@pytest.fixture(scope="module")
def collected(tmp_path_factory) -> dict[str, dict]:
    folder = tmp_path_factory.mktemp("collected")
    (folder / "with_a_gpu.py").write_text(PLUGIN)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "with_a_gpu", HERE]
    paths = [*sys.path, str(HERE), str(folder)]
    result = folder / "collected.json"
    environment = {"PYTHONPATH": ":".join(filter(None, paths)), "COLLECTED": str(result)}
    done = subprocess.run(
        command, env=environment, cwd=HERE.parents[1], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(result.read_text())


def test_all_that_need_a_gpu_carry_it(collected):
    devices = {name: one for name, one in collected.items() if re.search(r"\[.*\bcuda\b", name)}
    assert len(devices) > 100  # by parameter
    others = {name: one for name, one in collected.items() if one["names"] and not one["chosen"]}
    assert any("TestOnAGpu" in name for name in others)  # by decorator, of a class
    assert any("test_cuda_against_fp64" in name for name in others)  # and of a file
    unmarked = [name for name, one in (devices | others).items() if not one["marked"]]
    assert not unmarked


def test_no_others_carry_it(collected):
    wrong = [name for name, one in collected.items() if one["marked"] and "[cpu" in name]
    assert not wrong
    assert sum(one["marked"] for one in collected.values()) < len(collected) / 2


def test_nothing_else_skips_for_want_of_a_gpu():
    """A condition of one's own would keep a test from bench/gpu.sh."""
    for path in set(HERE.glob("*_test.py")) - {Path(__file__)}:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            asks = isinstance(node, ast.If | ast.Call) and "cuda.is_available" in ast.unparse(node)
            assert not asks or "skip" not in ast.unparse(node), f"{path.name}:{node.lineno}"
