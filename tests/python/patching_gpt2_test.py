"""What is GPT-2's own among patched models: dropout, attention weights, an encoder, a vocabulary of
50257, streams far from zero."""

import copy

import pytest
import torch
from error_rule import check_errors
from operator_calls import Calls
from patching_families_test import check_family
from patching_stock_test import check_first_layer_runs_stock, in_use, lora
from tiny_models import batch, exact, fused_layers, gradients, tiny, trained

import coda


def test_dropout_of_gpt2_in_training():
    """GPT-2's config asks for it; in evaluation there is none."""
    model, inputs = coda.patch(tiny("gpt2", resid_pdrop=0.1)), batch()
    reason = r"probability 0\.1 in training.*resid_pdrop=0"
    with pytest.warns(UserWarning, match=reason) as caught, Calls() as calls:
        trained(model, inputs)
    assert sum("coda" in str(warning.message) for warning in caught) == 1
    assert "layer_norm_inputs" not in calls.names and "linear_cross_entropy" in calls.names
    with Calls() as calls:
        model.eval()(**inputs)
    assert fused_layers("gpt2", calls.names) == 2
    with pytest.raises(RuntimeError, match="resid_pdrop=0"):
        trained(coda.patch(model.train(), strict=True), inputs)


@pytest.mark.parametrize("name", ["mlp.dropout", "attn.resid_dropout"])
def test_the_dropout_modules_decide(name):
    """Not the block: dropout may be left on in evaluation, or off in training."""
    model, inputs = coda.patch(tiny("gpt2", resid_pdrop=0.1)).eval(), batch()
    dropouts = [block.get_submodule(name) for block in model.transformer.h]
    dropouts[0].train()
    with pytest.warns(UserWarning, match="drops values with probability"), Calls() as calls:
        model(**inputs)
    assert fused_layers("gpt2", calls.names) == 1
    coda.patch(model.train(), strict=True)
    for block in model.transformer.h:
        block.mlp.dropout.eval()
        block.attn.resid_dropout.eval()
    with Calls() as calls:
        trained(model, inputs)
    assert fused_layers("gpt2", calls.names) == 2


def recorded(model, **options):
    """A step that asks for attention weights, which the loss takes too: results, and the weights
    by layer."""
    outputs = model(**batch(), output_attentions=True, use_cache=False)
    loss = outputs.loss + sum(weights.square().mean() for weights in outputs.attentions)
    names = [f"weights {i}" for i in range(len(outputs.attentions))]
    recorded = dict(zip(names, (weights.detach() for weights in outputs.attentions)))
    return {**gradients(model, loss), **recorded}


@pytest.mark.parametrize("checkpointed", [None, False, True], ids=["", "new", "reentrant"])
def test_attention_weights_of_gpt2(checkpointed):
    """Blocks run fused. A checkpoint's second pass is not told that weights are asked for."""
    model = tiny("gpt2", attn_implementation="eager")
    if checkpointed is not None:
        model.gradient_checkpointing_enable({"use_reentrant": checkpointed})
    want = recorded(copy.deepcopy(model))
    assert want["weights 1"].shape == (2, 4, 65, 65)
    coda.patch(model, strict=True)
    ordinary = trained(model, batch(), use_cache=False)
    with Calls() as calls:
        got = recorded(model)
    passes = 2 if checkpointed is None else 4
    assert fused_layers("gpt2", calls.names) == passes and got.keys() == want.keys()
    for name in want:
        torch.testing.assert_close(got[name], want[name], rtol=1e-4, atol=1e-5)
    again = trained(model, batch(), use_cache=False)  # the recorders that are left are idle
    assert all(torch.equal(again[name], ordinary[name]) for name in ordinary)


def test_attention_weights_between_a_pass_and_its_backward():
    """Recorders come with the first call that asks, and stay."""
    model = tiny("gpt2", attn_implementation="eager")
    model.gradient_checkpointing_enable({"use_reentrant": False})
    want = trained(model, batch())
    coda.patch(model, strict=True)
    loss = model(**batch()).loss
    model(**batch(), output_attentions=True)
    got = gradients(model, loss)
    for name in want:
        torch.testing.assert_close(got[name], want[name], rtol=1e-4, atol=1e-5)


GPT2_CHANGES = {
    "attn.c_attn": "c_attn has a forward hook",
    "attn.resid_dropout": "resid_dropout has a forward hook",
    "mlp.act": "act has a forward hook",
    "ln_2": "ln_2 has a forward hook",
}


@pytest.mark.parametrize("where", GPT2_CHANGES)
def test_hooks_in_gpt2(where):
    model = in_use("gpt2")
    model.transformer.h[0].get_submodule(where).register_forward_hook(lambda *args: None)
    check_first_layer_runs_stock(model, GPT2_CHANGES[where])


def test_lora_in_gpt2():
    model = lora(in_use("gpt2"), target_modules=["c_attn"], layers_to_transform=[0])
    with (
        pytest.warns(UserWarning, match="c_attn is a peft.tuners.lora.layer.Linear, not"),
        Calls() as calls,
    ):
        trained(model, batch())
    assert fused_layers("gpt2", calls.names) == 1


def test_encoder_of_gpt2():
    model = coda.patch(tiny("gpt2", add_cross_attention=True))
    with Calls() as calls:
        trained(model, batch())
    assert fused_layers("gpt2", calls.names) == 2
    encoded = torch.randn(2, 5, 96)
    with pytest.warns(UserWarning, match="attends to an encoder"), Calls() as calls:
        model(**batch(), encoder_hidden_states=encoded)
    assert "layer_norm_inputs" not in calls.names


def test_vocabulary_of_gpt2():
    """50257 rows: logits whose rows begin anywhere, and a tied embedding."""
    model, inputs = tiny("gpt2", vocab_size=50257), batch()
    want, truth = trained(model, inputs), exact(model, inputs)
    coda.patch(model, strict=True)
    with Calls() as calls:
        got = trained(model, inputs)
    assert "linear_cross_entropy" in calls.names
    check_errors(got, want, truth, 50257)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["fp32", "bf16"])
def test_stream_with_a_mean(device, dtype):
    """As large as its deviation: it is subtracted behind the GEMM, where both are large."""
    if device == "cuda" and dtype == torch.float32:
        pytest.skip("on a GPU coda computes in bf16")

    def shift(model):
        with torch.no_grad():
            model.transformer.wpe.weight += 1.4 * model.transformer.wte.weight.std()

    check_family(device, "gpt2", dtype, change=shift)
