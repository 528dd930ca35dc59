"""What @coda.program refuses: functions at their definition, with the author's line and the remedy,
and calls before anything is computed."""

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import bad_functions as bad
import bad_signatures as signatures
import pytest
import torch
from own_programs import gated, huber

import coda

BAD = [  # function, line within it, what the message says
    (bad.branches, 1, r"coda\.where\(condition, a, b\)"),
    (bad.loops, 1, r"coda\.where"),
    (bad.chained, 1, r"chained comparisons.*& \| ~"),
    (bad.words, 1, r"& \| ~ combine"),
    (bad.largest, 1, r"coda\.maximum"),
    (bad.mathematics, 1, r"math\.\* and numpy cannot.*coda\.exp"),
    (bad.arrays, 1, r"does not support ufuncs.*functions of coda alone"),
    (bad.torch_function, 1, r"torch's exp takes tensors.*functions of coda"),
    (bad.torch_python_function, 1, r"torch's softmax takes tensors"),
    (bad.torch_tensor, 1, r"a tensor comes in as an argument"),
    (bad.method, 1, r"no \.exp: functions on values are coda\.exp\(value\)"),
    (bad.unknown, 1, r"no attribute 'softmax'.*functions of coda alone"),
    (bad.undefined, 1, r"name 'scale' is not defined"),
    (bad.number, 1, r"float\(\)"),
    (bad.indexed, 1, r"stands for one element"),
    (bad.assigned, 1, r"nothing can be assigned"),
    (bad.length, 1, r"no length"),
    (bad.text, 1, r"got str"),
    (bad.power, 1, r"\*\* takes 1, 2, 3.*got 2\.7"),
    (bad.remainder, 1, r"of Python's operators values have"),
    (bad.contraction, 1, r"other elements are out of reach"),
    (bad.parentheses, 1, r"mind the parentheses"),
    (bad.condition_as_number, 1, r"coda\.where\(condition, 1\.0, 0\.0\)"),
    (bad.number_as_condition, 1, r"takes a condition first, such as value < 0"),
    (bad.stored_condition, 1, r"coda\.where\(condition, 1\.0, 0\.0\)"),
    (bad.mixed, 1, r"coda\.to_float\(integer\)"),
    (bad.not_a_number, 1, r"NaN as a number"),
    (bad.too_large, 1, r"a number that fp32 does not hold: expected at most 3\.40282347e\+38"),
    (bad.only_rows, 1, r"one per row: it does not depend on the GEMM"),
    (bad.reads_output, 2, r"'out' is an output, which nothing reads"),
    (bad.stores_output, 2, r"'out' is an output, which nothing reads"),
    (bad.reads_maximum, 2, r"'top' is an output.*a second program takes it as an argument"),
    (bad.exponential_of_maximum, 2, r"'top' is an output.*a second program takes it"),
    (bad.twice, 2, r"'out' is written twice, first in .*:\d+"),
    (bad.dropped, 1, r"'total' is an output that is not returned"),
    (bad.nothing, 0, r"returns nothing: return coda\.store"),
    (bad.an_empty_tuple, 0, r"returns nothing"),
    (bad.a_value, 0, r"returns a value: name it as an output"),
    (bad.a_number, 0, r"returns float: expected outputs"),
    (bad.unnamed, 1, r"takes 0 positional arguments"),
    (bad.two_names, 1, r"takes one value with the output's name"),
    (bad.unused, 0, r"'other' is not used"),
    (bad.unused_accumulator, 0, r"an accumulator is not used"),
    (signatures.no_arguments, 0, r"the accumulator as first argument"),
    (signatures.many, 0, r"\*others: expected every argument by name"),
    (signatures.options, 0, r"expected every argument by name"),
    (signatures.self_method, 0, r"not a method: define it outside"),
    (signatures.plain_type, 0, r"'alpha': expected coda\.PerElement.*coda\.Scalar.*got float"),
    (signatures.first_kind, 0, r"the first argument is the accumulator.*got coda\.PerRow"),
    (signatures.late, 0, r"'more': expected the accumulator first"),
    (signatures.tensor_default, 0, r"only a coda\.Scalar has a default"),
    (signatures.text_default, 0, r"'alpha': expected a number as default, got '1'"),
    (signatures.large_default, 0, r"'alpha': a number that fp32 does not hold.*got 1e\+300"),
    (signatures.same_name, 0, r"'out' is an argument and an output"),
    (signatures.gradient_name, 0, r"'dout' is what the gradient of 'out' is called"),
    (signatures.taken_name, 0, r"'x' is taken by the operator"),
    (signatures.number_name, 0, r"'alpha_number' is taken by the operator"),
    (signatures.word_of_cpp, 0, r"'template' is a word of C\+\+"),
    (signatures.other_word_of_cpp, 0, r"'not_eq' is a word of C\+\+"),
    (signatures.greek, 0, r"'β': expected a name of ASCII letters, digits and underscores"),
    (signatures._, 0, r"'_': expected a program's name to have a letter first"),
    (signatures.seventeen, 0, r"at most 16 ports"),
    (bad.keeps_value, 0, r"a value is kept outside of the function"),
    (bad.counts, 2, r"assigns to the global 'COUNT'.*no side effects"),
    (bad.sets_attribute, 1, r"assigns to the attribute 'last'"),
    (bad.random_number, 0, r"something else the second time"),
    (bad.generator, 0, r"yield or async"),
    (bad.swallowed, 2, r"coda\.where\(condition, a, b\)"),
    (bad.swallowed_behind_another, 6, r"other elements are out of reach"),
    (bad.wrong_dtype, 1, r"dtype: expected float32, bfloat16 or float16, got torch\.float64"),
]


def line_of(function: Any, offset: int) -> int:
    return function.__code__.co_firstlineno + offset


@pytest.mark.parametrize("function, line, message", BAD, ids=[case[0].__name__ for case in BAD])
def test_refused_at_the_definition(function: Any, line: int, message: str) -> None:
    bad.STORED.clear()
    place = rf"{function.__code__.co_filename}:{line_of(function, line)}: .*"
    with pytest.raises(TypeError, match=f"(?s)^{place}{message}"):
        coda.program(function)


def test_a_value_of_another_call() -> None:
    bad.STORED.clear()
    with pytest.raises(TypeError, match="kept outside"):
        coda.program(bad.keeps_value)
    with pytest.raises(TypeError, match="a value of another call"):
        coda.program(bad.reads_kept)
    bad.STORED.clear()


def gradient_called_do(acc, o: coda.PerRow):
    return coda.store(out=acc * o)


def gradient_called_double(acc):
    return coda.store(ouble=acc)


def type_of_cpp(acc, int64_t: coda.PerRow):
    return coda.store(out=acc * int64_t)


@pytest.mark.parametrize(
    "function, message",
    [
        (gradient_called_do, r"'o': its gradient would be called 'do', which is a word of C\+\+"),
        (gradient_called_double, r"'ouble': its gradient would be called 'double'"),
        (type_of_cpp, r"'int64_t' is a word of C\+\+ or of its programs"),
    ],
)
def test_names_that_cpp_takes(function: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        coda.program(function)


def test_no_function() -> None:
    for thing in (lambda acc: acc, 3, torch.nn.Linear(2, 2)):
        with pytest.raises(TypeError, match="takes a function with a name"):
            coda.program(thing)
    with pytest.raises(TypeError, match="none is being traced"):
        coda.row_index()
    with pytest.raises(TypeError, match=r"a value of a program's function.*got Tensor.*torch\.\*"):
        coda.exp(torch.ones(2))


def sizes() -> dict[str, Any]:
    return {"up": torch.ones(4, 6), "scale": torch.ones(4), "bias": torch.ones(6)}


CALLS = [  # changes of the arguments, the error
    ({"bias": None}, TypeError, r"bias: PerColumn \[N\]: expected a tensor, got None"),
    ({"bias": 1.0}, TypeError, r"got 1\.0: one number for all elements is a coda\.Scalar"),
    ({"bias": [1.0] * 1000}, TypeError, r"expected a tensor, got list$"),
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
    with pytest.raises(TypeError, match=r"gated: expected a weight \[N, K\], got None"):
        gated(x, None, **sizes())
    with pytest.raises(TypeError, match=r"gated: expected x \[M, K\], got list"):
        gated([1.0], weight, **sizes())
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


def test_refused_scalars() -> None:
    x = torch.ones(4, 3)
    with pytest.raises(TypeError, match="huber: delta: a number that fp32 does not hold"):
        huber(x, torch.ones(6, 3), torch.ones(4, 6), 1e300)
    # As C writes the largest of fp32, which rounds to it.
    largest = torch.finfo(torch.float32).max
    want, got = (huber(x, torch.ones(6, 3), torch.ones(4, 6), d) for d in (largest, 3.40282347e38))
    assert all(map(torch.equal, got, want))


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
    compiled = entry.stat().st_ino  # an entry that is written again is another file
    finish(start(tmp_path))
    assert entry.stat().st_ino == compiled
    whole = entry.read_bytes()
    entry.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    message = start(tmp_path, CXX="/no/compiler").communicate()[1]
    assert "RuntimeError: coda::own_" in message
    assert "compiled by the machine's C++ compiler when it first runs on the CPU" in message
    assert "CXX=/no/compiler: no such C++ compiler" in message and "need none" in message


def test_what_was_refused_keeps_nothing_alive():
    """An exception holds the variables of all frames that it passed."""

    class Held:
        pass

    def refused(function):
        held = Held()
        with pytest.raises(TypeError):
            coda.program(function)
        return weakref.ref(held)

    for function in (bad.branches, bad.undefined, bad.nothing, bad.swallowed):
        held = refused(function)
        gc.collect()
        assert held() is None
