"""@coda.program on a GPU: outputs and gradients against fp64, and what its kernels cannot take."""

import pytest
import torch
from own_programs import CASES, Case, check, gated, glu, results

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cuda_against_fp64(case: Case) -> None:
    for seed, (M, N, K) in enumerate([(256, 384, 512), (129, 200, 72)]):
        check(case, M, N, K, torch.bfloat16, "cuda", seed)


def test_cuda_other_types() -> None:
    """fp16 forward, and an fp32 row factor beside bf16."""
    case = CASES[0]
    drawn = case.draw(1, 130, 136, 64, torch.float16, "cuda")
    for mine, wanted in zip(case.call(drawn), case.unfused(drawn)):
        torch.testing.assert_close(mine, wanted, rtol=2e-2, atol=2e-2)
    drawn = case.draw(2, 130, 136, 64, torch.bfloat16, "cuda")
    drawn["scale"] = drawn["scale"].float()
    assert results(case, case.call, drawn, 0)["dscale"].dtype == torch.float32


def test_cuda_empty_and_strided() -> None:
    x, weight = torch.randn(64, 48, device="cuda").bfloat16(), torch.randn(40, 48, device="cuda")
    bias = torch.zeros(40, device="cuda", dtype=torch.bfloat16)
    pair = [weight.bfloat16(), weight.bfloat16()]
    assert glu(x[:0], *pair, bias).shape == (0, 40)
    strided = glu(x.t().contiguous().t(), *[w.t().contiguous().t() for w in pair], bias)
    assert torch.equal(strided, glu(x, *pair, bias))


def test_cuda_graph() -> None:
    case = CASES[0]
    drawn = case.draw(3, 128, 128, 64, torch.bfloat16, "cuda")
    expected = case.call(drawn)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = case.call(drawn)
    graph.replay()
    for mine, wanted in zip(captured, expected):
        assert torch.equal(mine, wanted)


def test_cuda_refuses_fp32_and_odd_pitches() -> None:
    ones = [torch.ones(s, device="cuda") for s in ((8, 16), (8, 16), (8, 8), (8,), (8,))]
    with pytest.raises(ValueError, match="expected elements of type bf16 or fp16 on the GPU"):
        gated(*ones)
    odd = [t.bfloat16() for t in ones]
    odd[2] = torch.ones(8, 9, device="cuda").bfloat16()[:, :8]
    with pytest.raises(ValueError, match="up: expected a leading dimension"):
        gated(*odd)
