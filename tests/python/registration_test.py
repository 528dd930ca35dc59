"""How the operators behave inside PyTorch: opcheck, no_grad, compile, graphs, double backward."""

from operator import methodcaller
from typing import Any

import pytest
import torch
from cases import Case, all_cases, normal
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend
from torch.utils._pytree import tree_map_only

OPS = torch.ops.coda


def leaves(case: Case) -> dict[str, Any]:
    return {
        name: value.requires_grad_()
        if isinstance(value, Tensor) and value.is_floating_point() and name not in case.fixed
        else value
        for name, value in case.arguments.items()
    }


def other_calls(device: str) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """The operators without a gradient."""
    kind: dict[str, Any] = {"dtype": torch.bfloat16, "device": device}
    fp32: dict[str, Any] = {"dtype": torch.float32, "device": device}
    x, y, w = normal(9, 64, **kind), normal(9, 32, **kind), normal(32, 64, **kind)
    gamma = normal(64, **kind)
    squares, tokens = normal(1, 9, **fp32).abs(), torch.arange(9, device=device)
    state = [normal(8, 64, **fp32).abs() for _ in range(4)]
    inv_freq, column = torch.ones(8, device=device), torch.ones(32, device=device)
    moments = OPS.layer_norm_inputs(x, gamma)[1]
    return [
        ("linear_weight_grad", ([y, y], x), {"dtype": torch.float32}),
        ("linear_input_grad", ([y, y], [w, w]), {}),
        ("linear_swiglu_backward", (x, w.t(), y, y, squares, 1e-5, 64), {"recompute": True}),
        ("linear_swiglu_backward", (x, w.t(), y, y), {}),
        ("linear_norm_backward", ([y], [w], x, squares, 1e-5, squares), {}),
        ("linear_norm_backward", ([y], [w], x, squares, 1e-5, squares, x, gamma, True), {}),
        ("rope_backward", (y, y, y, y, y, y, 16, tokens, squares, 1e-5, 64),
         {"inv_freq": inv_freq, "q_bias": y[0], "k_bias": y[0], "v_bias": y[0]}),
        ("embedding_backward", (x, tokens, 12), {}),
        ("layer_norm_inputs", (x, gamma), {}),
        ("layer_norm_sums", (y, y, column, column, y[0]), {}),
        ("layer_norm_sums", (y, y, column, column), {}),
        ("layer_norm_backward", (x, x, gamma, 1e-5, x), {}),
        ("linear_residual_layer_norm", (y, w.t(), x, gamma, gamma), {}),
        ("linear_activation", (x, w, y[0], moments, 1e-5, column, column, "gelu", True), {}),
        ("linear_activation", (x, w), {}),
        ("linear_activation_backward", (x, w.t(), y, column, column, y[0]), {"recompute": True}),
        ("linear_activation_backward", (x, w.t(), y), {"activation": "silu"}),
        ("linear_layer_norm_backward",
         ([y], [w], x, moments, 1e-5, squares, squares, gamma, gamma, x, True, True), {}),
        ("linear_layer_norm_backward",
         ([y, y], [w, w], x, moments, 1e-5, squares, squares, gamma, gamma), {}),
        ("scale_gradient", (x, column[0]), {}),
        ("scale_gradient", (state[0], column[:1]), {"dtype": torch.bfloat16}),
        ("clip_factor", (state[0].flatten(), 1.0), {}),
        ("adamw", (*state, torch.ones(3, device=device)),
         {"gamma": gamma, "dtype": torch.bfloat16}),
    ]  # fmt: skip


def test_every_operator_is_covered() -> None:
    called = {case.operator for case in all_cases(torch.float32, "cpu")}
    called |= {name for name, _, _ in other_calls("cpu")}
    defined = {
        name for name in dir(OPS) if isinstance(getattr(OPS, name), torch._ops.OpOverloadPacket)
    }
    assert "linear" in defined
    assert not {name for name in defined if "cross_entropy" not in name} - called


def test_opcheck_with_gradients(device: str) -> None:
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    for case in all_cases(dtype, device, 9, 64, 64):
        torch.library.opcheck(getattr(OPS, case.operator).default, (), leaves(case))


def test_opcheck_without_gradients(device: str) -> None:
    for name, values, named in other_calls(device):
        torch.library.opcheck(getattr(OPS, name).default, values, named)


NUMBERS = {"factor", "clip"}  # [] and [1] are the same
PARTIALS = {"squares", "moments", "dots", "shifts"}


def test_vectors_and_partials_are_told_apart(device: str) -> None:
    """Forward would read one as the other; gradients would have the wrong shape, or value."""
    calls = [(case.operator, (), case.arguments) for case in all_cases(torch.float32, "cpu")]
    for name, values, named in calls + other_calls("cpu"):
        operator = getattr(OPS, name).default
        given = dict(zip((argument.name for argument in operator._schema.arguments), values))
        given |= named
        for argument, tensor in given.items():
            if not isinstance(tensor, Tensor) or argument in NUMBERS:
                continue
            wrong = tensor[None] if tensor.dim() == 1 else tensor[0]
            if tensor.dim() == 2 and argument not in PARTIALS:
                continue
            for kind in (device, "meta"):
                to = methodcaller("to", kind)
                moved = tree_map_only(Tensor, to, given | {argument: wrong})
                with pytest.raises(ValueError, match=rf"^coda::{name}: {argument}: expected \["):
                    operator(**moved)


def test_nothing_is_recorded_without_gradients(device: str) -> None:
    x = normal(8, 64, dtype=torch.bfloat16, device=device).requires_grad_()
    with torch.no_grad():
        assert not OPS.linear(x, x).requires_grad
    with torch.inference_mode():
        assert OPS.linear(x, x).is_inference()
    assert not OPS.linear(x.detach(), x.detach()).requires_grad
    assert OPS.linear(x, x.detach()).requires_grad


def test_only_needed_gradients_are_made(device: str) -> None:
    x = normal(5, 64, dtype=torch.bfloat16, device=device)
    weight = normal(32, 64, dtype=torch.bfloat16, device=device).requires_grad_()
    scaled, squares = OPS.norm_inputs(x, x[0])
    out, _, _ = OPS.linear_swiglu(scaled, weight, weight.detach(), squares, 1e-5, 64)
    out.float().sum().backward()
    assert weight.grad is not None and scaled.grad is None


def test_double_backward_is_refused(device: str) -> None:
    x, w = (normal(8, 64, dtype=torch.bfloat16, device=device).requires_grad_() for _ in range(2))
    (dw,) = torch.autograd.grad(OPS.linear(x, w).float().square().sum(), w, create_graph=True)
    with pytest.raises(RuntimeError, match=r"linear_weight_grad has no gradient.*Detach"):
        dw.float().sum().backward()


def block(x: Tensor, gamma: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    """Behind an RMSNorm a gated MLP, with the sums of squares of what comes out."""
    scaled, squares = OPS.norm_inputs(x, gamma)
    a, _, _ = OPS.linear_swiglu(scaled, gate, up, squares, 1e-5, x.shape[1])
    out, _, after = OPS.linear_residual_norm(a, down, x)
    return out.float().square().sum() + after.sum()


def block_inputs(device: str, rows: int) -> list[Tensor]:
    kind: dict[str, Any] = {"dtype": torch.bfloat16, "device": device}
    shapes = ((rows, 64), (64,), (32, 64), (32, 64), (64, 32))
    return [normal(*shape, **kind, scale=0.3).requires_grad_() for shape in shapes]


def test_compiled_without_breaks_or_recompiles(device: str) -> None:
    """The second size makes the number of tokens dynamic; after that nothing is compiled again."""
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(block, fullgraph=True, backend=counter)
    for rows in (12, 20, 7, 33, 64, 130):
        inputs = block_inputs(device, rows)
        expected = block(*inputs)
        gradients = torch.autograd.grad(expected, inputs)
        result = compiled(*inputs)
        assert torch.equal(result, expected)
        for mine, wanted in zip(torch.autograd.grad(result, inputs), gradients):
            assert torch.equal(mine, wanted)
    assert counter.frame_count == 2


def test_inductor(device: str) -> None:
    def rectified(x: Tensor, weight: Tensor) -> Tensor:
        return OPS.linear(x, weight).relu()

    torch._dynamo.reset()
    x, _, weight, *_ = block_inputs(device, 12)
    compiled = torch.compile(rectified, fullgraph=True)(x, weight)
    eager = rectified(x, weight)
    assert torch.equal(compiled, eager)
    dout = torch.ones_like(eager)
    for mine, wanted in zip(
        torch.autograd.grad(compiled, (x, weight), dout),
        torch.autograd.grad(eager, (x, weight), dout),
    ):
        assert torch.equal(mine, wanted)


def test_names_for_selective_checkpointing(device: str) -> None:
    from torch.utils.checkpoint import CheckpointPolicy, checkpoint
    from torch.utils.checkpoint import create_selective_checkpoint_contexts as contexts

    calls: list[str] = []

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        calls.append(str(op))
        keep = op == OPS.linear_swiglu.default
        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

    inputs = block_inputs(device, 12)
    expected = torch.autograd.grad(block(*inputs), inputs)
    kept = checkpoint(block, *inputs, use_reentrant=False, context_fn=lambda: contexts(policy))
    for mine, wanted in zip(torch.autograd.grad(kept, inputs), expected):
        assert torch.equal(mine, wanted)
    assert "coda.linear_swiglu.default" in calls


@pytest.mark.gpu
def test_cuda_graph() -> None:
    inputs = block_inputs("cuda", 128)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # warms up, on another stream than the default
        gradients = torch.autograd.grad(block(*inputs), inputs)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = torch.autograd.grad(block(*inputs), inputs)
    with torch.no_grad():
        for tensor, fresh in zip(inputs, block_inputs("cuda", 128)):
            tensor.copy_(fresh)
    gradients = torch.autograd.grad(block(*inputs), inputs)
    graph.replay()
    for mine, wanted in zip(captured, gradients):
        assert torch.equal(mine, wanted)
