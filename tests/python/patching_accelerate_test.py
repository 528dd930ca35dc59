"""Patched models with accelerate, which puts forwards around theirs and takes them off again."""

import pytest
from operator_calls import Calls
from tiny_models import batch, fused_layers, tiny, trained

import coda

accelerate = pytest.importorskip("accelerate")


@pytest.fixture
def accelerator():
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    yield accelerate.Accelerator(mixed_precision="bf16", cpu=True)
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)


def fused(model) -> tuple[float, bool]:
    """How many layers, and whether the loss."""
    with Calls() as calls:
        trained(model, batch())
    layers = fused_layers(model.config.model_type, calls.names)
    return layers, "linear_cross_entropy" in calls.names


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_unwrapping_leaves_codas_forward(accelerator, family):
    model = coda.patch(tiny(family), strict=True)
    prepared = accelerator.prepare_model(model)
    assert fused(prepared) == (2, True)
    assert accelerator.unwrap_model(prepared, keep_fp32_wrapper=False) is model
    assert fused(model) == (2, True)
    assert fused(coda.unpatch(model)) == (0, False)
    assert not any("forward" in vars(module) for module in model.modules())


def test_wrapped_models_are_refused(accelerator):
    """Patching would take the wrapper off. Once it is off, they are not."""
    model = accelerator.prepare_model(tiny("llama"))
    match = r"the forward of LlamaForCausalLM was replaced by .* of accelerate\..*unwrap_model"
    with pytest.raises(RuntimeError, match=match):
        coda.patch(model)
    model = coda.patch(accelerator.unwrap_model(model, keep_fp32_wrapper=False), strict=True)
    assert fused(model) == (2, True)
    model = accelerator.prepare_model(coda.patch(tiny("llama")))
    with pytest.raises(RuntimeError, match=match):
        coda.unpatch(model)
    model = coda.unpatch(accelerator.unwrap_model(model, keep_fp32_wrapper=False))
    assert fused(model) == (0, False)
