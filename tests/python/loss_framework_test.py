"""coda.linear_cross_entropy among PyTorch's own: autograd, autocast, torch.compile, memory."""

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from coda import linear_cross_entropy
from coda.operators import cross_entropy

V, H = 300, 24


def problem(*shape: int, dtype: torch.dtype = torch.float32):
    """hidden [..., h], weight [V, h], both with gradients; target [...]."""
    generator = torch.Generator().manual_seed(3)
    hidden = torch.randn(*shape, H, generator=generator).to(dtype).requires_grad_()
    weight = torch.randn(V, H, generator=generator).to(dtype).requires_grad_()
    return hidden, weight, torch.randint(V, shape, generator=generator)


def exact(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor, **options):
    z = hidden.double() @ weight.double().T
    return F.cross_entropy(z.flatten(0, -2), target.flatten(), **options)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("frozen", ["hidden", "weight"])
def test_frozen(reduction, frozen, monkeypatch):
    """One gradient is asked for: the other is not made."""
    from coda import _native

    made = []
    run = _native.run_cross_entropy

    def record(*arguments):
        dweight, dx = arguments[-3:-1]
        made.append({"weight": dweight is not None, "hidden": dx is not None})
        run(*arguments)

    monkeypatch.setattr(_native, "run_cross_entropy", record)
    hidden, weight, target = problem(9)
    (hidden if frozen == "hidden" else weight).requires_grad_(False)
    linear_cross_entropy(hidden, weight, target, reduction=reduction).sum().backward()
    learning = weight if frozen == "hidden" else hidden
    want = torch.autograd.grad(exact(hidden, weight, target, reduction=reduction).sum(), learning)
    torch.testing.assert_close(learning.grad, want[0])
    assert made[-1] == {"weight": frozen == "hidden", "hidden": frozen == "weight"}
    assert len(made) == (2 if reduction == "none" else 1)


def test_no_gradients():
    hidden, weight, target = problem(9)
    with torch.no_grad():
        loss = linear_cross_entropy(hidden, weight, target)
    assert not loss.requires_grad
    torch.testing.assert_close(loss.double(), exact(hidden, weight, target).detach())


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_same_with_and_without_gradients(reduction):
    hidden, weight, target = problem(70)
    with torch.no_grad():
        without = linear_cross_entropy(hidden, weight, target, reduction=reduction, chunk=16)
    loss = linear_cross_entropy(hidden, weight, target, reduction=reduction, chunk=16)
    assert torch.equal(loss, without)


def test_batches_and_views():
    """[B, T, h] cut for the next token, a weight in the other order, a target without dimensions:
    the same as of contiguous copies."""
    hidden, weight, target = problem(3, 8)
    cut, next_target = hidden[:, :-1], target[:, 1:]
    turned = weight.detach().T.contiguous().T.requires_grad_()
    assert not turned.is_contiguous()
    loss = linear_cross_entropy(cut, turned, next_target, reduction="none")
    assert loss.shape == next_target.shape
    plain = linear_cross_entropy(
        cut.contiguous(), weight, next_target.contiguous(), reduction="none"
    )
    assert torch.equal(loss, plain)
    gradients = [torch.autograd.grad(value.sum(), hidden)[0] for value in (loss, plain)]
    assert torch.equal(*gradients)
    one = linear_cross_entropy(hidden[0, 0], weight, target[0, 0], reduction="none")
    assert one.shape == () and torch.equal(one, plain.new_tensor(one.item()))
    wide = torch.randn(5, 2 * H)
    assert torch.equal(
        linear_cross_entropy(wide[:, :H], weight, target.flatten()[:5]),
        linear_cross_entropy(wide[:, :H].contiguous(), weight, target.flatten()[:5]),
    )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("tokens", [0, 1, 5])
def test_nothing_to_learn_from(reduction, tokens):
    """No tokens, or all of them ignored: the mean is NaN, gradients are zero, as PyTorch's are."""
    hidden, weight, target = problem(tokens)
    target = torch.full_like(target, -100)
    loss = linear_cross_entropy(hidden, weight, target, reduction=reduction, z_loss=0.1)
    want = exact(hidden, weight, target, reduction=reduction)
    torch.testing.assert_close(loss.double(), want, equal_nan=True)
    loss.sum().backward()
    for tensor in (hidden, weight):
        assert torch.equal(tensor.grad, torch.zeros_like(tensor))


def test_autocast():
    """fp32 parameters, bf16 products: as with bf16 tensors, gradients in fp32."""
    hidden, weight, target = problem(20)
    bias = torch.randn(V, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = linear_cross_entropy(hidden, weight, target, bias=bias)
    loss.backward()
    low = [t.detach().bfloat16().requires_grad_() for t in (hidden, weight, bias)]
    want = linear_cross_entropy(low[0], low[1], target, bias=low[2])
    want.backward()
    assert torch.equal(loss, want)
    for tensor, rounded in zip((hidden, weight, bias), low):
        assert tensor.grad.dtype == torch.float32
        assert torch.equal(tensor.grad, rounded.grad.float())


def test_factor_is_not_rounded_to_bf16():
    """1/3 of a gradient is a third of it, also where the gradient is bf16."""
    hidden, weight, target = problem(20, dtype=torch.bfloat16)
    whole = torch.autograd.grad(linear_cross_entropy(hidden, weight, target), hidden)[0]
    third = torch.autograd.grad(linear_cross_entropy(hidden, weight, target) / 3, hidden)[0]
    assert torch.equal(third, (whole.double() * torch.tensor(1 / 3).double()).bfloat16())


def test_one_derivative_only():
    hidden, weight, target = problem(4)
    loss = linear_cross_entropy(hidden, weight, target)
    with pytest.raises(RuntimeError, match="create_graph=True.*F.cross_entropy"):
        torch.autograd.grad(loss, hidden, create_graph=True)


def test_checkpointed():
    hidden, weight, target = problem(12)
    want = torch.autograd.grad(linear_cross_entropy(hidden, weight, target), (hidden, weight))
    loss = torch.utils.checkpoint.checkpoint(
        linear_cross_entropy, hidden, weight, target, use_reentrant=False
    )
    for got, gradient in zip(torch.autograd.grad(loss, (hidden, weight)), want):
        assert torch.equal(got, gradient)


@pytest.mark.parametrize("options", [{}, dict(make_dx=True), dict(reduction="none", softcap=2.0)])
def test_opcheck(options):
    hidden, weight, target = problem(7)
    torch.library.opcheck(torch.ops.coda.linear_cross_entropy, (hidden, weight, target), options)


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_opcheck_backward(reduction):
    hidden, weight, target = (t.detach() for t in problem(7))
    dloss = torch.randn(() if reduction == "mean" else 7)
    lse = torch.ops.coda.linear_cross_entropy(hidden, weight, target)[1]
    arguments = (dloss, hidden, weight, target, lse)
    options = dict(reduction=reduction, make_dweight=False)
    torch.library.opcheck(torch.ops.coda.linear_cross_entropy_backward, arguments, options)


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_compiled(reduction):
    """One graph, and one more when the number of tokens first changes."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    options = dict(reduction=reduction, label_smoothing=0.1)

    def step(hidden, weight, target):
        return linear_cross_entropy(hidden, weight, target, **options).mean() * 3

    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    for tokens in (5, 11, 64, 200):
        hidden, weight, target = problem(2, tokens)
        got = torch.autograd.grad(compiled(hidden, weight, target), (hidden, weight))
        want = torch.autograd.grad(step(hidden, weight, target), (hidden, weight))
        for one, other in zip(got, want):
            assert torch.equal(one, other)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 2


class LargestTensor(TorchDispatchMode):
    """The bytes of the largest tensor that any operator makes."""

    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        result = function(*arguments, **(options or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.bytes = max(self.bytes, leaf.numel() * leaf.element_size())
        return result


def test_memory():
    """Bytes of the largest allocation: a chunk of logits (and the sums over a chunk's rows, 16
    bytes for 128 logits), far from all of them."""
    tokens, vocabulary, h, chunk = 512, 2048, 8, 64
    hidden, weight = torch.randn(tokens, h), torch.randn(vocabulary, h)
    target = torch.randint(vocabulary, (tokens,))
    logits = 4 * chunk * vocabulary
    allowed = logits + 16 * chunk * vocabulary // 128 + 8 * tokens
    with LargestTensor() as largest:
        loss, lse, *_ = cross_entropy.linear_cross_entropy(
            hidden, weight, target, chunk=chunk, make_dx=True, make_dweight=True
        )
    assert logits < largest.bytes < allowed
    with LargestTensor() as largest:
        cross_entropy.linear_cross_entropy_backward(
            torch.ones(tokens), hidden, weight, target, lse, reduction="none", chunk=chunk
        )
    assert logits < largest.bytes < allowed
    with LargestTensor() as largest:
        cross_entropy.linear_cross_entropy(hidden, weight, target)
    assert largest.bytes < 16 * tokens * vocabulary // 128 + 8 * tokens


@pytest.mark.gpu
def test_on_a_gpu():
    """No synchronisation with the host; a bad target is a NaN; a CUDA graph takes all of it."""
    hidden, weight, target = (t.detach().cuda() for t in problem(64, dtype=torch.bfloat16))
    hidden.requires_grad_(), weight.requires_grad_()
    want = torch.autograd.grad(linear_cross_entropy(hidden, weight, target) * 3, (hidden, weight))
    torch.cuda.set_sync_debug_mode("error")
    try:
        loss = linear_cross_entropy(hidden, weight, target) * 3
        got = torch.autograd.grad(loss, (hidden, weight))
        bad = target.clone()
        bad[5:6] = V
        lost = linear_cross_entropy(hidden, weight, bad)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert lost.isnan() and not loss.isnan()
    # Where their histories are alive, PyTorch's backward of the capture waits for their stream.
    loss, lost = loss.detach(), lost.detach()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = torch.autograd.grad(
            linear_cross_entropy(hidden, weight, target) * 3, (hidden, weight)
        )
    graph.replay()
    for one, other, third in zip(want, got, captured):
        assert torch.equal(one, other) and torch.equal(one, third)
    with pytest.raises(TypeError, match=r"hidden.*torch\.bfloat16 on cuda.*autocast"):
        linear_cross_entropy(hidden.float(), weight.float(), target)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert torch.equal(linear_cross_entropy(hidden.float(), weight.float(), target) * 3, loss)
