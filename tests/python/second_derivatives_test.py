"""The functions of layers have one derivative: a second one, and several gradients at once, are
errors that say so, never zeros."""

from collections.abc import Callable

import layer_norm_layer_test
import layer_test
import pytest
import torch
from torch import Tensor
from torch.autograd import functional, grad
from torch.utils.checkpoint import checkpoint

from coda import layer
from coda.layer_norm_layer import layer_norm_linear, layer_norm_outputs

Function = Callable[[Tensor], Tensor]
TOKENS = 3


class Case:
    """One of the functions, of the stream [3, 80] alone."""

    def __init__(self, name: str):
        rms, norm = layer_test.Problem(TOKENS), layer_norm_layer_test.Problem(TOKENS)
        p, n = rms.parameters, norm.leaves
        first = [p[f"{z}_weight"] for z in "qkv"]
        mlp = [p[name] for name in ("gamma2", "gate_weight", "up_weight", "down_weight")]
        linear = [n[name] for name in ("gamma1", "beta1", "qkv_weight", "qkv_bias")]
        outputs = [n[name] for name in layer_norm_layer_test.OUTPUT_NAMES]
        tables = {"positions": rms.positions, "cos": rms.cos, "sin": rms.sin, "head_dim": 16}
        functions: dict[str, tuple[Function, list[Tensor]]] = {
            "AttentionInputs": (
                lambda x: torch.cat(
                    layer.attention_inputs(x, p["gamma"], *first, epsilon=1e-5, **tables)[:3], 1
                ),
                [p["gamma"], *first],
            ),
            "AttentionOutputs": (
                lambda x: layer.attention_outputs(x[:, :64], x, p["o_weight"], *mlp, epsilon=1e-5)[
                    0
                ],
                [p["o_weight"], *mlp],
            ),
            "GatedMlp": (lambda x: layer.gated_mlp(x, *mlp, epsilon=1e-5), mlp),
            "LayerNormLinear": (lambda x: layer_norm_linear(x, *linear, epsilon=1e-5)[0], linear),
            "LayerNormOutputs": (
                lambda x: layer_norm_outputs(x, x, *outputs, epsilon=1e-5)[0],
                outputs,
            ),
        }
        self.function, self.parameters = functions[name]
        self.x = rms.x.detach()
        self.refusal = f"coda: {name} has one derivative.*create_graph=True.*coda.unpatch"

    def loss(self, x: Tensor) -> Tensor:
        return self.function(x).square().sum()


NAMES = ("AttentionInputs", "AttentionOutputs", "GatedMlp", "LayerNormLinear", "LayerNormOutputs")


@pytest.fixture(params=NAMES)
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


@pytest.mark.parametrize("loss", [Case.loss, lambda case, x: case.function(x).sum()])
@pytest.mark.parametrize("product", [functional.hvp, functional.vhp])
def test_products_with_the_hessian(case, product, loss):
    """Which take what does not hang on x for zero. Of a sum the gradient that comes in is ones."""
    with pytest.raises(RuntimeError, match=case.refusal):
        product(lambda x: loss(case, x), case.x, torch.ones_like(case.x))


def test_tangents_by_two_backward_passes(case):
    with pytest.raises(RuntimeError, match=case.refusal):
        functional.jvp(case.function, case.x, torch.ones_like(case.x))


def test_what_a_gradient_hangs_on(case):
    """On the stream and on all parameters, whichever of them it is the gradient of."""
    x = case.x.requires_grad_()
    leaves = [x, *case.parameters]
    for of in leaves:
        (gradient,) = grad(case.function(x).sum(), of, create_graph=True)
        for by in leaves:
            with pytest.raises(RuntimeError, match=case.refusal):
                grad(gradient.sum(), by, allow_unused=True, retain_graph=True)


def test_first_derivatives_are_the_same_and_ones_own(case):
    x = case.x.requires_grad_()
    leaves = [x, *case.parameters]
    want = grad(case.loss(x), leaves)
    for loss in (case.loss(x), checkpoint(case.loss, x, use_reentrant=False)):
        for gradient, wanted in zip(grad(loss, leaves, create_graph=True), want, strict=True):
            assert gradient.requires_grad and torch.equal(gradient, wanted)
            assert torch.equal(gradient.mul_(2), 2 * wanted)


def test_several_gradients_at_once(case):
    x = case.x.requires_grad_()
    out = case.function(x)
    with pytest.raises(RuntimeError, match="takes one gradient at a time.*is_grads_batched=True"):
        grad(out, x, torch.ones(4, *out.shape), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="takes one gradient at a time.*vectorize=True"):
        functional.jacobian(lambda x: case.function(x)[0, :4], case.x, vectorize=True)
    (want,) = grad(out[0, 1], x)
    assert torch.equal(functional.jacobian(lambda x: case.function(x)[0, :4], case.x)[1], want)
