"""@coda.program: outputs and every gradient against fp64 autograd of the same formula, by the error
rule; and how the operators behave inside of PyTorch."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from own_programs import CASES, Case, check, gated, glu, gradients, results
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend

import coda

BF16_CASES = [case for case in CASES if case.name in ("gated", "glu", "soft_cap")]


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """All that is compiled for the CPU here, two at a time."""
    kinds = [(case, torch.float32) for case in CASES]
    kinds += [(case, torch.bfloat16) for case in BF16_CASES]

    def run(kind: tuple[Case, torch.dtype]) -> None:
        results(kind[0], kind[0].call, kind[0].draw(0, 3, 5, 4, kind[1], "cpu"), 0)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, kinds))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_against_fp64(case: Case) -> None:
    for seed, (M, N, K) in enumerate([(70, 130, 96), (129, 64, 33), (33, 70, 300)]):
        check(case, M, N, K, torch.float32, "cpu", seed)


@pytest.mark.parametrize("case", BF16_CASES, ids=lambda case: case.name)
def test_bf16_against_fp64(case: Case) -> None:
    check(case, 130, 150, 128, torch.bfloat16, "cpu")


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    case=st.sampled_from(CASES),
    M=st.integers(1, 140),
    N=st.integers(1, 140),
    K=st.integers(1, 70),
    seed=st.integers(0, 1000),
)
def test_any_shape(case: Case, M: int, N: int, K: int, seed: int) -> None:
    """Against the formula in fp64, loosely: of few elements the rule's errors scatter."""
    drawn = case.draw(seed, M, N, K, torch.float32, "cpu")
    made = results(case, case.call, drawn, seed)
    exact = results(case, case.unfused, drawn, seed, torch.float64)
    for name, result in made.items():
        torch.testing.assert_close(result.double(), exact[name], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("M, N, K", [(0, 8, 4), (6, 0, 4), (6, 8, 0), (0, 0, 0)])
def test_empty_shapes(M: int, N: int, K: int) -> None:
    for case in CASES:
        if case.name == "extremes" or (N == 0 and case.name == "entropy"):
            continue  # PyTorch refuses the largest of nothing, and shares gradients among equals
        drawn = case.draw(0, M, N, K, torch.float32, "cpu")
        made = results(case, case.call, drawn, 0)
        exact = results(case, case.unfused, drawn, 0, torch.float64)
        assert set(made) == set(exact)
        for name, result in made.items():
            torch.testing.assert_close(result.double(), exact[name], rtol=1e-5, atol=1e-5)


def test_the_largest_of_nothing() -> None:
    program = next(case for case in CASES if case.name == "extremes").program
    top, lse, peak = program(torch.ones(3, 4), torch.ones(0, 4), torch.ones(3), torch.ones(0))
    assert (top == -torch.inf).all() and (lse == -torch.inf).all() and peak.shape == (0,)


def test_other_strides() -> None:
    """Transposed operands, every other column, expanded and transposed arguments."""
    case = CASES[0]
    drawn = case.draw(3, 24, 40, 16, torch.float32, "cpu")
    expected = results(case, case.call, drawn, 3)
    strided = dict(drawn)
    strided["x"] = drawn["x"].t().contiguous().t()
    strided["weight0"] = drawn["weight0"].repeat_interleave(2, 1)[:, ::2]
    strided["up"] = drawn["up"].t().contiguous().t()
    strided["scale"] = drawn["scale"].repeat_interleave(3)[::3]
    outputs = case.call(strided)
    for name, output in zip(("out", "norm"), outputs):
        assert torch.equal(output, expected[name])
    bias = torch.tensor(0.25).expand(40)
    same = case.call({**drawn, "bias": bias})
    for mine, wanted in zip(same, case.call({**drawn, "bias": bias.contiguous()})):
        assert torch.equal(mine, wanted)


def test_types_are_those_of_the_tensors() -> None:
    """A row factor in fp32 beside bf16 operands, and gradients in the types of what they are of."""
    case = CASES[0]
    drawn = case.draw(5, 33, 72, 64, torch.bfloat16, "cpu")
    drawn["scale"] = drawn["scale"].float()
    leaves = {name: value.requires_grad_() for name, value in drawn.items()}
    outputs = case.call(drawn)
    assert [output.dtype for output in outputs] == [torch.bfloat16, torch.float32]
    for name, gradient in gradients(outputs, leaves, 0).items():
        assert gradient.dtype == leaves[name[1:]].dtype and gradient.isfinite().all()


def test_only_what_is_needed() -> None:
    """A gradient for one argument, from one output."""
    case = CASES[0]
    drawn = case.draw(7, 9, 20, 8, torch.float32, "cpu")
    drawn["bias"].requires_grad_()
    _, norm = case.call(drawn)
    (mine,) = torch.autograd.grad(norm.sum(), drawn["bias"])
    exact = {n: v.detach().double().requires_grad_(n == "bias") for n, v in drawn.items()}
    (wanted,) = torch.autograd.grad(case.unfused(exact)[1].sum(), exact["bias"])
    torch.testing.assert_close(mine.double(), wanted, rtol=1e-5, atol=1e-5)


def test_nothing_is_kept_without_gradients() -> None:
    case = CASES[0]
    drawn = case.draw(0, 4, 8, 8, torch.float32, "cpu")
    with torch.no_grad():
        assert not case.call({n: v.requires_grad_() for n, v in drawn.items()})[0].requires_grad
    assert gated._operator(*drawn.values(), False)[2].shape == (0,)
    assert gated._operator(*drawn.values(), True)[2].shape == (4, 8)


def test_what_is_kept() -> None:
    @coda.program
    def plain(acc, other):
        return coda.store(out=acc + 2.0 * other), coda.row_sum(total=acc)

    kept = [len(p._operator._schema.returns) - len(p.graph.outputs) for p in (gated, glu, plain)]
    assert kept == [1, 0, 0]  # the accumulator; its GEMM runs again; gradients need no value of it


def test_gradients_that_are_too_many_together() -> None:
    """Those of ten columns' arguments take more than 16 ports, those of one of them do not."""
    names = [f"p{i}" for i in range(10)]
    columns = ", ".join(f"{name}: coda.PerColumn" for name in names)
    product = " * ".join(names)
    module: dict[str, Any] = {"coda": coda}
    text = f"@coda.program\ndef ten(acc, {columns}):\n    return coda.store(out=acc * {product})\n"
    exec(compile(text, "own.py", "exec"), module)
    x, weight = torch.randn(3, 4), torch.randn(5, 4)
    arguments = [torch.rand(5) + 0.5 for _ in names]
    arguments[3].requires_grad_()
    (mine,) = torch.autograd.grad(module["ten"](x, weight, *arguments).sum(), arguments[3])
    others = torch.stack(arguments[:3] + arguments[4:]).prod(0)
    torch.testing.assert_close(mine, ((x @ weight.t()) * others).sum(0))
    with pytest.raises(ValueError, match="its gradients take 22 ports.*of fewer arguments"):
        module["ten"](x, weight, *[argument.requires_grad_() for argument in arguments])


def test_opcheck() -> None:
    for case in (CASES[0], CASES[1], CASES[3]):
        drawn = case.draw(1, 9, 20, 8, torch.float32, "cpu")
        values: list[Any] = []
        for name, value in drawn.items():
            tensor = isinstance(value, Tensor)
            value = value.requires_grad_() if tensor and value.is_floating_point() else value
            scalar = name in case.shapes and not (tensor and value.dim() > 0)
            values += ([value, 0.0] if tensor else [None, value]) if scalar else [value]
        torch.library.opcheck(case.program._operator, (*values, True))


def test_compiled_without_breaks_or_recompiles() -> None:
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    case = CASES[0]

    def loss(drawn: dict) -> Tensor:
        y, norm = gated(
            drawn["x"], drawn["weight0"], up=drawn["up"], scale=drawn["scale"], bias=drawn["bias"]
        )
        return (y * y).sum() + norm.sum()

    compiled = torch.compile(loss, fullgraph=True, backend=counter)
    for rows in (12, 20, 7, 33):
        drawn = {
            n: v.requires_grad_()
            for n, v in case.draw(1, rows, 24, 8, torch.float32, "cpu").items()
        }
        expected = torch.autograd.grad(loss(drawn), list(drawn.values()))
        for mine, wanted in zip(
            torch.autograd.grad(compiled(drawn), list(drawn.values())), expected
        ):
            assert torch.equal(mine, wanted)
    assert counter.frame_count == 2


def test_a_function_that_is_defined_twice_is_one_operator() -> None:
    def again(source: str) -> Any:
        module: dict[str, Any] = {"coda": coda}
        exec(compile(source, "own.py", "exec"), module)
        return module["twice"]

    text = "@coda.program\ndef twice(acc):\n    return coda.store(out=acc * {})\n"
    first, same, other = (again(text.format(factor)) for factor in (2.0, 2.0, 3.0))
    assert first._operator is same._operator and first._operator is not other._operator


def test_defined_by_several_threads_at_once() -> None:
    def define(_: int) -> Any:
        @coda.program
        def everywhere(acc):
            return coda.store(out=acc * 0.777)

        return everywhere._operator

    with ThreadPoolExecutor(8) as pool:
        assert len({id(operator) for operator in pool.map(define, range(64))}) == 1


def test_a_model_that_holds_a_program_is_copied_and_pickled() -> None:
    model = torch.nn.Linear(2, 2)
    model.program = gated
    assert copy.deepcopy(model).program is gated
    assert pickle.loads(pickle.dumps(model)).program is gated


def test_numbers_of_numpy() -> None:
    @coda.program
    def scaled(acc, alpha: coda.Scalar):
        return coda.store(out=numpy.float32(2.0) * acc * alpha)

    x, weight = torch.ones(2, 3), torch.ones(4, 3)
    assert (scaled(x, weight, numpy.float32(0.5)) == 3.0).all()


def test_sources() -> None:
    assert "tile.store(out, sum / (1.0f + coda::exp(-sum)) * tile.load(up));" in gated.source
    assert "ColumnReduce<coda::Sum> dbias;" in gated.derived_source
    assert repr(gated) == (
        "<coda.program gated(x, weight, up: PerElement [M, N], scale: PerRow [M], "
        "bias: PerColumn [N]) -> (out, norm)>"
    )
