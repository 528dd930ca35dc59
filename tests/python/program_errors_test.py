"""What @coda.program refuses: functions at their definition, with the author's line and the remedy,
and calls before anything is computed."""

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from own_programs import gated

import coda

STORED: list[Any] = []
COUNT = 0


def line_of(function: Any, offset: int) -> int:
    return function.__code__.co_firstlineno + offset


def branches(acc, bias: coda.PerColumn):
    if acc > 0.0:
        return coda.store(out=acc + bias)
    return coda.store(out=bias * acc)


def loops(acc):
    while acc < 1.0:
        acc = acc * 2.0
    return coda.store(out=acc)


def chained(acc):
    inside = 0.0 < acc < 1.0
    return coda.store(out=coda.where(inside, acc, 0.0))


def words(acc):
    return coda.store(out=coda.where(acc > 0.0 and acc < 1.0, acc, 0.0))


def largest(acc, other):
    return coda.store(out=max(acc, other))


def mathematics(acc):
    return coda.store(out=math.exp(acc))


def arrays(acc):
    return coda.store(out=numpy.exp(acc))


def torch_function(acc):
    return coda.store(out=torch.exp(acc))


def torch_tensor(acc):
    return coda.store(out=torch.ones(3) * acc)


def method(acc):
    return coda.store(out=acc.exp())


def unknown(acc):
    return coda.store(out=coda.softmax(acc))


def undefined(acc):
    return coda.store(out=acc * scale)  # noqa: F821


def number(acc):
    return coda.store(out=acc * float(acc))


def indexed(acc):
    return coda.store(out=acc[0])


def assigned(acc):
    acc[0] = 1.0
    return coda.store(out=acc)


def length(acc):
    return coda.store(out=acc / len(acc))


def text(acc):
    return coda.store(out=acc + "1")


def power(acc):
    return coda.store(out=acc**2.7)


def remainder(acc):
    return coda.store(out=acc % 2.0)


def contraction(acc, other):
    return coda.store(out=acc @ other)


def condition_as_number(acc):
    return coda.store(out=(acc > 0.0) * acc)


def number_as_condition(acc):
    return coda.store(out=coda.where(acc, 1.0, 0.0))


def stored_condition(acc):
    return coda.store(out=acc > 0.0)


def mixed(acc, index: coda.IntegerPerRow):
    return coda.store(out=acc * index)


def not_a_number(acc):
    return coda.row_max(top=acc + math.nan)


def only_rows(acc, scale: coda.PerRow):
    return coda.store(out=acc), coda.row_sum(total=scale * 2.0)


def reads_output(acc):
    out = coda.store(out=acc)
    return out, coda.row_sum(total=out * out)


def stores_output(acc):
    out = coda.store(out=acc)
    return out, coda.row_sum(total=out)


def twice(acc):
    first = coda.store(out=acc)
    return first, coda.store(out=acc * 2.0)


def dropped(acc):
    coda.row_sum(total=acc)
    return coda.store(out=acc)


def nothing(acc):
    coda.store(out=acc)


def a_value(acc):
    return acc * 2.0


def a_number(acc):
    return 2.0


def unnamed(acc):
    return coda.store(acc)


def two_names(acc):
    return coda.store(first=acc, second=acc)


def unused(acc, other):
    return coda.store(out=acc)


def unused_accumulator(acc, other):
    return coda.store(out=other)


def no_arguments():
    return coda.store(out=1.0)


def many(acc, *others):
    return coda.store(out=acc)


def options(acc, **others):
    return coda.store(out=acc)


def self_method(self, acc):
    return coda.store(out=acc)


def plain_type(acc, alpha: float):
    return coda.store(out=acc * alpha)


def first_kind(acc: coda.PerRow):
    return coda.store(out=acc)


def late(acc, bias: coda.PerColumn, more: coda.Accumulator):
    return coda.store(out=acc + bias + more)


def tensor_default(acc, bias: coda.PerColumn = 1.0):
    return coda.store(out=acc + bias)


def text_default(acc, alpha: coda.Scalar = "1"):
    return coda.store(out=acc * alpha)


def same_name(acc, out):
    return coda.store(out=acc + out)


def gradient_name(acc, dout):
    return coda.store(out=acc + dout)


def taken_name(acc, x):
    return coda.store(out=acc + x)


def word_of_cpp(acc, template: coda.PerColumn):
    return coda.store(out=acc + template)


def seventeen(acc, a, b, c, e, f, g, h, i, j, k, l, m, n, o, p):  # noqa: E741
    return coda.store(s=a + b + c + e + f + g + h + i + j + k + l + m + n + o + p + acc), (
        coda.row_sum(t=acc)
    )


def keeps_value(acc):
    STORED.append(acc)
    return coda.store(out=acc)


def reads_kept(acc):
    return coda.store(out=acc + STORED[0]) if STORED else coda.store(out=acc)


def counts(acc):
    global COUNT
    COUNT += 1
    return coda.store(out=acc)


def sets_attribute(acc):
    coda.last = acc
    return coda.store(out=acc)


def random_number(acc):
    return coda.store(out=acc * float(torch.rand(())))


def generator(acc):
    yield coda.store(out=acc)


def wrong_dtype(acc):
    return coda.store(out=acc, dtype=torch.float64)


BAD = [  # function, line within it, what the message says
    (branches, 1, r"coda\.where\(condition, a, b\)"),
    (loops, 1, r"coda\.where"),
    (chained, 1, r"chained comparisons.*& \| ~"),
    (words, 1, r"& \| ~ combine"),
    (largest, 1, r"coda\.maximum"),
    (mathematics, 1, r"math\.\* and numpy cannot.*coda\.exp"),
    (arrays, 1, r"numpy cannot"),
    (torch_function, 1, r"torch's exp takes tensors.*functions of coda"),
    (torch_tensor, 1, r"a tensor comes in as an argument"),
    (method, 1, r"no \.exp: functions on values are coda\.exp\(value\)"),
    (unknown, 1, r"no attribute 'softmax'.*functions of coda alone"),
    (undefined, 1, r"name 'scale' is not defined"),
    (number, 1, r"float\(\)"),
    (indexed, 1, r"stands for one element"),
    (assigned, 1, r"nothing can be assigned"),
    (length, 1, r"no length"),
    (text, 1, r"got str"),
    (power, 1, r"\*\* takes 1, 2, 3.*got 2\.7"),
    (remainder, 1, r"of Python's operators values have"),
    (contraction, 1, r"other elements are out of reach"),
    (condition_as_number, 1, r"coda\.where\(condition, 1\.0, 0\.0\)"),
    (number_as_condition, 1, r"takes a condition first, such as value < 0"),
    (stored_condition, 1, r"coda\.where\(condition, 1\.0, 0\.0\)"),
    (mixed, 1, r"coda\.to_float\(integer\)"),
    (not_a_number, 1, r"NaN as a number"),
    (only_rows, 1, r"one per row: it does not depend on the GEMM"),
    (reads_output, 2, r"'out' is an output, which nothing reads"),
    (stores_output, 2, r"'out' is an output, which nothing reads"),
    (twice, 2, r"'out' is written twice, first in .*:\d+"),
    (dropped, 1, r"'total' is an output that is not returned"),
    (nothing, 0, r"returns nothing: return coda\.store"),
    (a_value, 0, r"returns a value: name it as an output"),
    (a_number, 0, r"returns float: expected outputs"),
    (unnamed, 1, r"takes 0 positional arguments"),
    (two_names, 1, r"takes one value with the output's name"),
    (unused, 0, r"'other' is not used"),
    (unused_accumulator, 0, r"an accumulator is not used"),
    (no_arguments, 0, r"the accumulator as first argument"),
    (many, 0, r"\*others: expected every argument by name"),
    (options, 0, r"expected every argument by name"),
    (self_method, 0, r"not a method: define it outside"),
    (plain_type, 0, r"'alpha': expected coda\.PerElement.*coda\.Scalar.*got float"),
    (first_kind, 0, r"the first argument is the accumulator.*got coda\.PerRow"),
    (late, 0, r"'more': expected the accumulator first"),
    (tensor_default, 0, r"only a coda\.Scalar has a default"),
    (text_default, 0, r"'alpha': expected a number as default, got '1'"),
    (same_name, 0, r"'out' is an argument and an output"),
    (gradient_name, 0, r"'dout' is what the gradient of 'out' is called"),
    (taken_name, 0, r"'x' is taken by the operator"),
    (word_of_cpp, 0, r"'template' is a word of C\+\+"),
    (seventeen, 0, r"at most 16 ports"),
    (keeps_value, 0, r"a value is kept outside of the function"),
    (counts, 2, r"assigns to the global 'COUNT'.*no side effects"),
    (sets_attribute, 1, r"assigns to the attribute 'last'"),
    (random_number, 0, r"something else the second time"),
    (generator, 0, r"yield or async"),
    (wrong_dtype, 1, r"dtype: expected float32, bfloat16 or float16, got torch\.float64"),
]


@pytest.mark.parametrize("function, line, message", BAD, ids=[bad[0].__name__ for bad in BAD])
def test_refused_at_the_definition(function: Any, line: int, message: str) -> None:
    STORED.clear()
    place = rf"{__file__}:{line_of(function, line)}: .*"
    with pytest.raises(TypeError, match=f"(?s)^{place}{message}"):
        coda.program(function)


def test_a_value_of_another_call() -> None:
    STORED.clear()
    with pytest.raises(TypeError, match="kept outside"):
        coda.program(keeps_value)
    with pytest.raises(TypeError, match="a value of another call"):
        coda.program(reads_kept)
    STORED.clear()


def test_no_function() -> None:
    for thing in (lambda acc: acc, 3, torch.nn.Linear(2, 2)):
        with pytest.raises(TypeError, match="takes a function with a name"):
            coda.program(thing)
    with pytest.raises(TypeError, match="none is being traced"):
        coda.row_index()


def sizes() -> dict[str, Any]:
    return {"up": torch.ones(4, 6), "scale": torch.ones(4), "bias": torch.ones(6)}


CALLS = [  # changes of the arguments, the error
    ({"bias": None}, TypeError, r"bias: PerColumn \[N\]: expected a tensor, got None"),
    ({"bias": 1.0}, TypeError, r"one number for all elements is a coda\.Scalar"),
    ({"gain": torch.ones(6)}, TypeError, r"gated has no argument gain; it is gated\(x, weight"),
    ({"scale": torch.ones(6)}, ValueError, r"scale: expected.*4.*got.*6"),
    ({"bias": torch.ones(4)}, ValueError, r"bias: expected.*6.*got.*4"),
    ({"up": torch.ones(6, 4)}, ValueError, r"up: expected"),
    ({"up": torch.ones(4, 6, 1)}, ValueError, r"up: expected .*got 3 dimensions"),
    ({"up": torch.ones(4, 6).double()}, TypeError, r"up: expected bfloat16 or.*got torch\.float64"),
    ({"scale": torch.ones(4).long()}, TypeError, r"scale: expected bfloat16.*got torch\.int64"),
    ({"up": torch.ones(4, 6).to_sparse()}, TypeError, r"up: expected a dense tensor"),
]


@pytest.mark.parametrize("changes, kind, message", CALLS, ids=[call[2] for call in CALLS])
def test_refused_calls(changes: dict, kind: type, message: str) -> None:
    with pytest.raises(kind, match=f"(?s){message}"):
        gated(torch.ones(4, 3), torch.ones(6, 3), **{**sizes(), **changes})


def test_refused_operands() -> None:
    x, weight = torch.ones(4, 3), torch.ones(6, 3)
    with pytest.raises(TypeError, match="expected x and 1 weight by place"):
        gated(x, **sizes())
    with pytest.raises(TypeError, match=r"scale: PerRow \[M\] is missing"):
        gated(x, weight, torch.ones(4, 6))
    with pytest.raises(TypeError, match="up is given by place and by name"):
        gated(x, weight, torch.ones(4, 6), **sizes())
    with pytest.raises(TypeError, match="expected 3 arguments behind the weights, got 4"):
        gated(x, weight, *sizes().values(), x)
    with pytest.raises(ValueError, match=r"weight: expected.*got"):
        gated(x, torch.ones(6, 5), **sizes())
    with pytest.raises(ValueError, match=r"weight: expected.*bf16"):
        gated(x.bfloat16(), weight, **sizes())
    with pytest.raises(TypeError, match=r"x: expected bfloat16, float16 or float32, got .*float64"):
        gated(x.double(), weight.double(), **sizes())
    with pytest.raises(ValueError, match=r"x: expected \[rows, columns\]"):
        gated(torch.ones(3), weight, **sizes())


def test_double_backward_is_refused() -> None:
    x = torch.ones(4, 3, requires_grad=True)
    leaves = [x, torch.ones(6, 3), *sizes().values()]
    y, norm = gated(*[leaf.requires_grad_() for leaf in leaves])
    dx, *_ = torch.autograd.grad(y.sum() + norm.sum(), leaves, create_graph=True)
    with pytest.raises(RuntimeError, match="has no gradient"):
        dx.sum().backward()


SCRIPT = """
import torch, coda
@coda.program
def own(acc, bias: coda.PerColumn):
    return coda.store(out=coda.tanh(acc) * 0.123 + bias)
assert torch.allclose(own(torch.ones(2, 3), torch.ones(4, 3), torch.zeros(4)),
                      torch.full((2, 4), 3.0).tanh() * 0.123)
"""


def start(folder: Path, **variables: str) -> subprocess.Popen:
    environment = {**os.environ, "CODA_CACHE": str(folder), **variables}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT], env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(process: subprocess.Popen) -> None:
    _, err = process.communicate()
    assert process.returncode == 0, err


def test_the_cache_on_disk_and_a_missing_compiler(tmp_path: Path) -> None:
    """Two processes at once share it; a third compiles nothing; what is damaged is compiled again,
    which needs a compiler."""
    for process in [start(tmp_path), start(tmp_path)]:
        finish(process)
    (entry,) = tmp_path.iterdir()  # and no temporary file
    assert entry.suffix == ".so"
    finish(start(tmp_path, PATH="/none"))
    whole = entry.read_bytes()
    entry.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    message = start(tmp_path, CXX="/no/compiler").communicate()[1]
    assert "RuntimeError: coda::own_" in message
    assert "compiled by the machine's C++ compiler when it first runs on the CPU" in message
    assert "CXX=/no/compiler: no such C++ compiler" in message and "need none" in message
