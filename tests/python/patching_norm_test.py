"""The norm behind a patched model's layers: on a GPU one operator, no further from the formula."""

from functools import partial

import pytest
import torch
from tiny_models import tiny

import coda
from coda.patching import final_norm


def exact(norm, x: torch.Tensor) -> torch.Tensor:
    wide = x.double()
    mean = wide.square().mean(-1, keepdim=True)
    return wide * (mean + norm.variance_epsilon).rsqrt() * norm.weight.double()


def distance(got: torch.Tensor, want: torch.Tensor) -> float:
    return ((got.double() - want).norm() / want.norm()).item()


def run(function, weight, x: torch.Tensor, dy: torch.Tensor) -> list[torch.Tensor]:
    """The output and the gradients of x and of the weight."""
    x = x.detach().requires_grad_()
    y = function(x)
    return [y.detach(), *torch.autograd.grad(y, (x, weight), dy.to(y.dtype))]


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen2", "qwen3"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_no_further_from_the_formula(device: str, family: str, dtype: torch.dtype) -> None:
    model = tiny(family).to(device, dtype)
    norm = model.model.norm
    with torch.no_grad():
        norm.weight.normal_(1, 0.5)
    x, dy = (torch.randn(3, 50, norm.weight.numel(), device=device).to(dtype) for _ in range(2))
    wide = x.double().requires_grad_()
    want = exact(norm, wide)
    wants = [want.detach(), *torch.autograd.grad(want, (wide, norm.weight), dy.double())]
    stock = run(norm, norm.weight, x, dy)
    coda.patch(model)
    assert "forward" in norm.__dict__
    fused = norm if device == "cuda" else partial(final_norm.fused, norm)  # which runs stock there
    for got, usual, wanted in zip(run(fused, norm.weight, x, dy), stock, wants, strict=True):
        assert got.dtype == usual.dtype
        assert distance(got, wanted) <= 1.1 * distance(usual, wanted) + 2**-22


@pytest.mark.gpu  # the CPU's autocast leaves all types of it alone
def test_the_type_under_autocast() -> None:
    """Stock gives back the type that it got."""
    norm = tiny("llama").to("cuda", torch.bfloat16).model.norm
    x = torch.randn(2, 9, norm.weight.numel(), device="cuda").bfloat16()
    with torch.autocast("cuda", torch.bfloat16):
        assert final_norm.fused(norm, x).dtype == norm(x).dtype == torch.bfloat16


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_stock_on_the_cpu_and_with_other_types(device: str, dtype: torch.dtype) -> None:
    model = tiny("llama").to(device)  # in fp32
    norm, x = model.model.norm, torch.randn(2, 9, model.config.hidden_size, device=device).to(dtype)
    want = norm(x)
    got = coda.patch(model).model.norm(x)
    assert got.dtype == want.dtype
    if device == "cpu" or dtype != norm.weight.dtype:
        assert torch.equal(got, want)


def test_hooks_run_and_unpatching_restores() -> None:
    model = coda.patch(tiny("llama"))
    norm, x = model.model.norm, torch.randn(2, 9, model.config.hidden_size)
    seen = []
    handle = norm.register_forward_hook(lambda module, given, out: seen.append(out))
    assert torch.equal(norm(x), seen[0])
    handle.remove()
    coda.unpatch(model)
    assert "forward" not in norm.__dict__
