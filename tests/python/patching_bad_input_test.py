"""What coda.patch and coda.unpatch turn down, saying why; the model stays as it was."""

import functools
from types import MethodType

import pytest
import torch
import transformers
from tiny_models import SIZES, batch, tiny
from torch import nn

import coda


def attributes(model):
    return {name: set(vars(module)) for name, module in model.named_modules()}


def check_refused(model, error, match, **options):
    before = attributes(model)
    with pytest.raises(error, match=match):
        coda.patch(model, **options)
    assert attributes(model) == before


@pytest.mark.parametrize(
    "model", [None, "llama", {}, torch.zeros(3), transformers.LlamaForCausalLM]
)
def test_no_module(model):
    with pytest.raises(TypeError, match="expected a torch.nn.Module, got"):
        coda.patch(model)
    with pytest.raises(TypeError, match="expected a torch.nn.Module, got"):
        coda.unpatch(model)


def test_another_architecture():
    config = transformers.GPTNeoXConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, vocab_size=50
    )
    model = transformers.GPTNeoXForCausalLM(config)
    check_refused(model, TypeError, "GPTNeoXForCausalLM has no decoder layer.*LlamaForCausalLM")


def test_no_model_of_transformers():
    check_refused(nn.Linear(3, 4), TypeError, "Linear has no decoder layer that coda covers")


def test_a_layer_with_its_own_forward():
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer

    class Own(LlamaDecoderLayer):
        def forward(self, hidden_states, **kwargs):
            return hidden_states

    layer = Own(transformers.LlamaConfig(**SIZES), 0)
    check_refused(layer, TypeError, "Own has no decoder layer")


BAD_OPTIONS = {
    "strict": ({"strict": "yes"}, TypeError, "strict: expected True or False, got 'yes'"),
    "loss": ({"loss": 1}, TypeError, "loss: expected True or False, got 1"),
    "recompute": ({"recompute": "all"}, ValueError, "recompute: expected one of .*, got 'all'"),
    "no recompute": ({"recompute": None}, ValueError, "recompute: .* got None"),
    "min_tokens": ({"min_tokens": -1}, ValueError, "min_tokens: expected 0 or more, got -1"),
    "min_tokens 1.5": ({"min_tokens": 1.5}, TypeError, "min_tokens: expected a number of tokens"),
    "min_tokens True": ({"min_tokens": True}, TypeError, "min_tokens: expected a number"),
    "unknown": ({"fuse": True}, TypeError, "fuse"),
}


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_options(name):
    options, error, match = BAD_OPTIONS[name]
    check_refused(tiny("llama"), error, match, **options)


BAD_CONFIGS = {
    "activation": ({"hidden_act": "mish"}, "config.hidden_act is 'mish'; coda covers silu"),
    "biases of the MLP": ({"mlp_bias": True}, "config.mlp_bias is True; coda's MLP has no biases"),
    "odd heads": ({"head_dim": 3}, "head_dim is 3; expected an even number"),
}


@pytest.mark.parametrize("name", BAD_CONFIGS)
def test_options_of_the_model(name):
    options, match = BAD_CONFIGS[name]
    check_refused(tiny("llama", **options), ValueError, match)


def test_activation_of_gpt2():
    model = tiny("gpt2", activation_function="tanh")
    check_refused(model, ValueError, "config.activation_function is 'tanh'; coda covers silu")


def test_a_compiled_model():
    check_refused(torch.compile(tiny("llama")), TypeError, "patch it before torch.compile")


def test_a_layer_whose_forward_belongs_to_somebody_else():
    model = tiny("llama")
    model.model.layers[1].forward = lambda *args, **kwargs: None
    check_refused(model, RuntimeError, "the forward of model.layers.1 was replaced by")


@pytest.mark.parametrize("wraps", [False, True])
def test_unpatch_under_somebody_elses_forward(wraps):
    """Also where it has the name of ours: the message tells whose it is."""
    model = coda.patch(tiny("llama"))
    layer = model.model.layers[0]
    mine = layer.forward.__func__

    def theirs(*args, **kwargs):
        return mine(*args, **kwargs)

    layer.forward = MethodType(functools.wraps(mine)(theirs) if wraps else theirs, layer)
    before = attributes(model)
    whose = rf"model.layers.0 was replaced by .* of {__name__}; undo that"
    for function in (coda.patch, coda.unpatch):
        with pytest.raises(RuntimeError, match=whose):
            function(model)
        assert attributes(model) == before


def test_strict_looks_at_once():
    model = tiny("llama")
    model.model.layers[1].mlp.up_proj.register_forward_hook(lambda *args: None)
    check_refused(model, RuntimeError, "model.layers.1 cannot run .* up_proj has a", strict=True)


@pytest.mark.parametrize("loss", [True, False])
def test_second_derivatives(loss):
    model = coda.patch(tiny("llama"), strict=True, loss=loss)
    weight = model.model.layers[0].mlp.up_proj.weight
    with pytest.raises(RuntimeError, match="has one derivative"):
        (gradient,) = torch.autograd.grad(model(**batch()).loss, weight, create_graph=True)
        gradient.sum().backward()


def test_labels_out_of_range():
    model, inputs = coda.patch(tiny("llama"), strict=True), batch()
    inputs["labels"][0, 3] = SIZES["vocab_size"]
    with pytest.raises((ValueError, IndexError, RuntimeError), match="target"):
        model(**inputs)


def test_another_device():
    model = coda.patch(tiny("llama"), strict=True)
    hidden = torch.empty(1, 3, SIZES["hidden_size"], device="meta")
    embeddings = (torch.zeros(1, 3, 32), torch.zeros(1, 3, 32))
    with pytest.raises(RuntimeError, match="hidden states are on meta and weights on cpu"):
        model.model.layers[0](hidden, position_embeddings=embeddings)


def test_missing_arguments_are_stocks_to_refuse():
    model = coda.patch(tiny("llama"), strict=True)
    with pytest.raises(ValueError, match="input_ids or inputs_embeds"):
        model(labels=torch.zeros(1, 3, dtype=torch.int64))
    with pytest.raises(TypeError):
        model.model.layers[0](torch.randn(1, 3, SIZES["hidden_size"]))
