"""What patched layers hand to the next: where, to whom, and that results do not depend on it."""

import functools
from types import MethodType

import pytest
import torch
from operator_calls import Calls
from tiny_models import CONFIGS, batch, gradients, tiny, trained
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

import coda
from coda.layer import RECOMPUTE
from coda.patching.boundary import hand_on, take

LAYERS = 3


def model_of(family, dtype=torch.float32, **options):
    return coda.patch(tiny(family, dtype, num_hidden_layers=LAYERS), strict=True, **options)


def layers_of(model):
    return model.base_model.get_submodule("h" if model.config.model_type == "gpt2" else "layers")


def states(output):
    """Layers of transformers 4.53 give a tuple."""
    return output[0] if isinstance(output, tuple) else output


def passes_over_x(family, names):
    """How often an operator read the stream for nothing but a layer's first norm."""
    return names.count("layer_norm_inputs" if family == "gpt2" else "norm_inputs")


def passes(model, inputs):
    with Calls() as calls:
        results = trained(model, inputs)
    return passes_over_x(model.config.model_type, calls.names), results


def close(got, want):
    assert got.keys() == want.keys()
    for name in want:
        torch.testing.assert_close(got[name], want[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", CONFIGS)
def test_the_first_layer_alone_reads_the_stream(family):
    assert passes(model_of(family), batch())[0] == 1


@pytest.mark.parametrize("recompute", RECOMPUTE)
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_gradients_are_those_of_layers_that_hand_nothing_on(family, recompute):
    model, inputs = model_of(family, recompute=recompute), batch(padded=5)
    handed, got = passes(model, inputs)
    for layer in layers_of(model):
        layer.register_forward_hook(lambda *_: None)
    apart, want = passes(model, inputs)
    assert (handed, apart) == (1, LAYERS)
    close(got, want)


@pytest.mark.parametrize("family", ["qwen2", "gpt2"])
@pytest.mark.parametrize("place", ["behind", "before", "backward", "wrapped"])
def test_a_hook_at_the_boundary(family, place):
    """Whatever it does to the hidden states, also out of autograd's sight."""
    inputs = batch()

    def change(hidden):
        hidden.data.mul_(1.5)

    def hook(model):
        before, behind = layers_of(model)[:2]
        if place == "behind":
            before.register_forward_hook(lambda _, given, out: change(states(out)))
        elif place == "before":
            behind.register_forward_pre_hook(
                lambda _, args, options: change(args[0] if args else options["hidden_states"]),
                with_kwargs=True,
            )
        elif place == "backward":
            behind.register_full_backward_hook(lambda *_: None)
        else:  # with all that functools.wraps copies of ours
            forward = behind.forward.__func__

            @functools.wraps(forward)
            def around(layer, *args, **options):
                change(args[0] if args else options["hidden_states"])
                return forward(layer, *args, **options)

            behind.forward = MethodType(around, behind)
        return model

    count, got = passes(hook(model_of(family)), inputs)
    assert count == (2 if place == "behind" else 3)  # of a hooked layer both sides count
    close(got, trained(hook(tiny(family, num_hidden_layers=LAYERS)), inputs))


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_a_forward_that_somebody_replaced(family):
    """As accelerate does, to bring weights when a layer runs."""
    model, inputs = model_of(family).eval(), batch()
    layer = layers_of(model)[1]
    norm = layer.ln_1 if family == "gpt2" else layer.input_layernorm
    stock = tiny(family, num_hidden_layers=LAYERS).eval()
    want = stock(**inputs).loss
    kept, forward = norm.weight.data, layer.forward

    def bringing(*args, **kwargs):
        norm.weight.data = kept
        result = forward(*args, **kwargs)
        norm.weight.data = torch.zeros_like(kept)
        return result

    layer.forward = bringing
    norm.weight.data = torch.zeros_like(kept)
    for _ in range(2):
        torch.testing.assert_close(model(**inputs).loss, want)


@pytest.mark.parametrize("checkpointed", [0, 1, 2])
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_one_layer_that_is_checkpointed(family, checkpointed):
    """What backward makes again is what was there: nothing is handed to it, nor by it."""
    inputs = batch()

    def run(change):
        model = model_of(family, torch.bfloat16)
        change(model, layers_of(model)[checkpointed])
        return passes(model, {**inputs, "use_cache": False})

    def checkpoint(model, layer):
        model.gradient_checkpointing_enable({"use_reentrant": False})
        for other in layers_of(model):
            other.gradient_checkpointing = other is layer

    handed, got = run(checkpoint)
    apart, want = run(lambda model, layer: layer.register_forward_hook(lambda *_: None))
    assert handed == apart + 1  # its forward runs twice
    assert all(torch.equal(got[name], want[name]) for name in want)


def through_layers(model, inputs, call, change=lambda hidden: hidden):
    """The hidden states of a loop of one's own: call(layer, its index, hidden, options)."""
    hidden, options = model.get_input_embeddings()(inputs["input_ids"]), {}
    if model.config.model_type != "gpt2":
        positions = torch.arange(hidden.shape[1])[None]
        options["position_embeddings"] = model.model.rotary_emb(hidden, positions)
    for index, layer in enumerate(layers_of(model)):
        hidden = change(states(call(layer, index, hidden, options)))
    return hidden


def test_hidden_states_that_somebody_changes_or_replaces():
    model, inputs = tiny("llama", num_hidden_layers=LAYERS).eval(), batch()

    def run(change):
        return through_layers(
            model, inputs, lambda layer, _, hidden, options: layer(hidden, **options), change
        )

    with torch.no_grad():
        for change in (lambda h: h, lambda h: h.mul_(1.5), lambda h: h * 1.5, torch.clone):
            want = run(change)
            coda.patch(model, strict=True)
            got = run(change)
            with torch.inference_mode():
                assert torch.allclose(run(change), want, rtol=1e-4, atol=1e-5)
            coda.unpatch(model)
            torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_autocast_of_every_other_layer(family, first):
    """What one layer makes in bf16 is nothing for the next one in fp32, nor the other way."""
    model, inputs = tiny(family, num_hidden_layers=LAYERS), batch()

    def call(layer, index, hidden, options):
        with torch.autocast("cpu", torch.bfloat16, enabled=(index % 2 == 0) is first):
            return layer(hidden, **options)

    def run():
        return gradients(model, through_layers(model, inputs, call).square().mean())

    want = run()
    coda.patch(model, strict=True)
    got = run()
    for name, tensor in want.items():
        distance = (got[name] - tensor).norm() / tensor.norm().clamp(min=1e-20)
        assert got[name].dtype == tensor.dtype and distance < 0.03, f"{name}: {distance}"


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_checkpoints_of_ones_own(family):
    """Selective ones find in backward the same operators that ran before; reentrant ones have no
    hooks, and other tensors in backward. In bf16, whose roundings tell who made x⊙γ."""
    model, inputs = model_of(family, torch.bfloat16), batch()

    def policy(context, operator, *args, **kwargs):
        mine = operator.namespace == "coda"
        return CheckpointPolicy.MUST_SAVE if mine else CheckpointPolicy.PREFER_RECOMPUTE

    def checkpointed(layer, _, hidden, options):
        def contexts():
            return create_selective_checkpoint_contexts(policy)

        return checkpoint(layer, hidden, use_reentrant=False, context_fn=contexts, **options)

    def plain(layer, _, hidden, options):
        return layer(hidden.clone(), **options)  # so that nothing is handed on

    def reentrant(layer, _, hidden, options):
        return checkpoint(functools.partial(layer, **options), hidden, use_reentrant=True)

    def in_turn(call):
        return gradients(model, through_layers(model, inputs, call).square().mean())

    want = in_turn(plain)
    for call in (checkpointed, reentrant):
        got = in_turn(call)
        assert all(torch.equal(got[name], want[name]) for name in want)


def test_what_is_handed_on_is_taken_once_and_for_one_norm():
    hidden, gamma, other = torch.ones(2, 3, 4), torch.ones(4), torch.ones(4)
    made = (torch.ones(6, 4), torch.ones(1, 6))
    assert take(hidden, gamma) is None
    assert take(hand_on(hidden, gamma, made), gamma) is made
    assert take(hidden, gamma) is None
    assert take(hand_on(hidden, gamma, made), other) is None
    gamma.mul_(2)
    assert take(hand_on(hidden, gamma, made), gamma) is made
    for changed in (hidden, gamma):
        hand_on(hidden, gamma, made)
        changed.mul_(2)
        assert take(hidden, gamma) is None
        hand_on(hidden, gamma, made)
        changed.data = torch.zeros_like(changed)
        assert take(hidden, gamma) is None


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_weights_of_inference_mode(family):
    """Nothing tells whether somebody changed them."""
    with torch.inference_mode():
        model, inputs = tiny(family, num_hidden_layers=LAYERS).eval(), batch()
    with torch.no_grad():
        want = model(**inputs).logits
        with Calls() as calls:
            got = coda.patch(model, strict=True)(**inputs).logits
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
    assert passes_over_x(family, calls.names) == LAYERS


def test_nothing_stays_with_hidden_states():
    model = model_of("llama")
    outputs = model(**batch(), output_hidden_states=True)
    assert len(outputs.hidden_states) == LAYERS + 1
    for hidden in outputs.hidden_states:
        assert getattr(hidden, "_coda_norm_inputs", None) is None
    assert passes(model, batch())[0] == 1  # the hooks that this left behind are no obstacle


def test_a_layer_that_runs_stock_is_handed_nothing():
    model, inputs = coda.patch(tiny("llama", num_hidden_layers=LAYERS)), batch()
    layers_of(model)[1].mlp.act_fn.register_forward_hook(lambda *_: None)
    with pytest.warns(UserWarning, match="act_fn has a forward hook"), Calls() as calls:
        trained(model, inputs)
    assert calls.names.count("linear_residual_norm") == 2
    assert calls.names.count("norm_inputs") == 2
