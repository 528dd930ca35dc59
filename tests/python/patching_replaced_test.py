"""What somebody put in the place of functions of transformers and PyTorch, for all models: layers
that call them, or are them, run stock, and so they run."""

import copy
import functools
import warnings

import pytest
import torch
from operator_calls import Calls
from tiny_models import batch, fused_layers, tiny, trained
from torch import nn
from transformers.activations import ACT2FN
from transformers.loss import loss_utils
from transformers.models.gpt2 import modeling_gpt2 as gpt2
from transformers.models.llama import modeling_llama as llama
from transformers.models.mistral import modeling_mistral as mistral
from transformers.models.qwen3 import modeling_qwen3 as qwen3

import coda
from coda.patching.families import ACTIVATIONS
from coda.patching.parts import PACKAGES, is_stock

FUNCTIONS = {
    "layer": ("llama", llama.LlamaDecoderLayer, "forward"),
    "attention": ("qwen3", qwen3.Qwen3Attention, "forward"),
    "MLP": ("llama", llama.LlamaMLP, "forward"),
    "norms": ("qwen3", qwen3.Qwen3RMSNorm, "forward"),
    "linear layers": ("llama", nn.Linear, "forward"),
    "RoPE": ("llama", llama, "apply_rotary_pos_emb"),
    "the halves of RoPE": ("mistral", mistral, "rotate_half"),
    "block": ("gpt2", gpt2.GPT2Block, "forward"),
    "attention of GPT-2": ("gpt2", gpt2.GPT2Attention, "forward"),
    "LayerNorm": ("gpt2", nn.LayerNorm, "forward"),
    "linear layers of GPT-2": ("gpt2", gpt2.Conv1D, "forward"),
}
READ = ("layer", "attention", "RoPE", "the halves of RoPE", "block", "attention of GPT-2")


def doubled(function):
    """With the names of what it wraps, as most who replace something give them."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        result = function(*args, **kwargs)
        return (2 * result[0], *result[1:]) if isinstance(result, tuple) else 2 * result

    return run


def run(model, inputs):
    """Results of a step, and how many layers ran fused in it."""
    with Calls() as calls:
        results = trained(model, inputs)
    return results, fused_layers(model.config.model_type, calls.names)


def check_all_stock(model, inputs, want, name):
    with pytest.warns(UserWarning, match=rf"{name}\.\w+ was replaced") as caught:
        got, fused = run(model, inputs)
    assert sum("coda" in str(warning.message) for warning in caught) == 1
    assert fused == 0 and got.keys() == want.keys()
    assert all(torch.equal(got[key], want[key]) for key in want)


def last_name(owner):
    return owner.__name__.rpartition(".")[2]


@pytest.mark.parametrize("case", FUNCTIONS)
def test_replaced_after_patching(case, monkeypatch):
    family, owner, name = FUNCTIONS[case]
    inputs, model = batch(), coda.patch(tiny(family), loss=False)
    assert run(model, inputs)[1] == 2
    with monkeypatch.context() as replacing:
        replacing.setattr(owner, name, doubled(getattr(owner, name)))
        want = trained(tiny(family), inputs)
        check_all_stock(model, inputs, want, last_name(owner))
        with pytest.raises(RuntimeError, match="was replaced"):
            coda.patch(tiny(family), strict=True)
    assert run(model, inputs)[1] == 2


@pytest.mark.parametrize("case", FUNCTIONS)
def test_replaced_before_patching(case, monkeypatch):
    family, owner, name = FUNCTIONS[case]
    inputs = batch()
    with monkeypatch.context() as replacing:
        replacing.setattr(owner, name, doubled(getattr(owner, name)))
        want = trained(tiny(family), inputs)
        model = coda.patch(tiny(family), loss=False)
        check_all_stock(model, inputs, want, last_name(owner))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # What a function takes, patch() read of the one that was there.
        assert run(model, inputs)[1] == (0 if case in READ else 2)


def test_a_function_that_hides_what_it_takes(monkeypatch):
    """After patching it is known what layers take; before that it is not."""
    for family, layer in (("llama", llama.LlamaDecoderLayer), ("gpt2", gpt2.GPT2Block)):
        stock, model = layer.forward, coda.patch(tiny(family), loss=False)
        monkeypatch.setattr(layer, "forward", lambda *args, f=stock, **kwargs: f(*args, **kwargs))
        check_all_stock(model, batch(), trained(tiny(family), batch()), layer.__name__)
        model = tiny(family)
        match = rf"{layer.__name__}\.forward was replaced by .*lambda.* of {__name__}, with other"
        with pytest.raises(RuntimeError, match=match):
            coda.patch(model)
        assert not any("forward" in vars(module) for module in model.modules())


def test_an_attention_that_hides_what_it_takes(monkeypatch):
    stock = llama.LlamaAttention.forward
    monkeypatch.setattr(llama.LlamaAttention, "forward", lambda *args, **more: stock(*args, **more))
    want = trained(tiny("llama"), batch())
    check_all_stock(coda.patch(tiny("llama"), loss=False), batch(), want, "LlamaAttention")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("family", "kind"), [("llama", llama.LlamaForCausalLM), ("gpt2", gpt2.GPT2LMHeadModel)]
)
def test_the_models_own_forward(family, kind, when, monkeypatch):
    """Others that fuse the loss replace it. Layers are fused all the same."""
    inputs, model = batch(), tiny(family)
    if when == "after":
        coda.patch(model)
    stock = kind.forward

    @functools.wraps(stock)
    def forward(self, *args, **kwargs):
        outputs = stock(self, *args, **kwargs)
        outputs.loss = 3 * outputs.loss
        return outputs

    monkeypatch.setattr(kind, "forward", forward)
    want = trained(tiny(family), inputs)
    if when == "before":
        coda.patch(model)
    reason = rf"{kind.__name__}\.forward was replaced"
    with pytest.warns(UserWarning, match=reason), Calls() as calls:
        got = trained(model, inputs)
    assert fused_layers(family, calls.names) == 2 and "linear_cross_entropy" not in calls.names
    for name in want:
        torch.testing.assert_close(got[name], want[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (loss_utils, "ForCausalLMLoss"),
        (loss_utils, "fixed_cross_entropy"),
        (nn.functional, "cross_entropy"),
    ],
)
def test_the_loss(owner, name, when, monkeypatch):
    """As those do who train on another one, or on another kernel for it."""
    inputs, model = batch(), tiny("llama")
    if when == "after":
        coda.patch(model)
    function = getattr(owner, name)
    monkeypatch.setattr(owner, name, doubled(function))
    if loss_utils.LOSS_MAPPING["ForCausalLM"] is function:  # which models look it up in
        monkeypatch.setitem(loss_utils.LOSS_MAPPING, "ForCausalLM", getattr(owner, name))
    want = trained(tiny("llama"), inputs)
    if when == "before":
        coda.patch(model)
    with pytest.warns(UserWarning, match=f"{name} was replaced"), Calls() as calls:
        got = trained(model, inputs)
    assert fused_layers("llama", calls.names) == 2 and "linear_cross_entropy" not in calls.names
    for name in want:
        torch.testing.assert_close(got[name], want[name], rtol=1e-4, atol=1e-5)


def test_the_norm_behind_the_layers(device, monkeypatch):
    model = coda.patch(tiny("llama")).to(device)
    norm, x = model.model.norm, torch.randn(2, 9, 96, device=device)
    want = 2 * norm(x)
    monkeypatch.setattr(llama.LlamaRMSNorm, "forward", doubled(llama.LlamaRMSNorm.forward))
    got = norm(x)
    if device == "cpu":
        assert torch.equal(got, want)
    else:  # of two kernels
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("when", ["before", "after"])
def test_cos_and_sin_of_another_function(when, monkeypatch):
    """They are looked at as those of another module are."""
    rotary = llama.LlamaRotaryEmbedding
    inputs, stock = batch(), rotary.forward
    if when == "after":
        model = coda.patch(tiny("llama"), loss=False)

    @functools.wraps(stock)
    def forward(*args, **kwargs):
        scale = torch.linspace(0.5, 1, 32)
        return tuple(table * scale for table in stock(*args, **kwargs))

    monkeypatch.setattr(rotary, "forward", forward)
    want = trained(tiny("llama"), inputs)
    if when == "before":
        model = coda.patch(tiny("llama"), loss=False)
    with pytest.warns(UserWarning, match="their halves differ"):
        got, fused = run(model, inputs)
    assert fused == 0 and all(torch.equal(got[name], want[name]) for name in want)


@pytest.mark.parametrize(
    ("family", "name", "part"), [("llama", "silu", "act_fn"), ("gpt2", "gelu_new", "act")]
)
def test_an_activation_in_transformers_table(family, name, part, monkeypatch):
    monkeypatch.setitem(ACT2FN, name, nn.Mish)
    want, model = trained(tiny(family), batch()), coda.patch(tiny(family), loss=False)
    with pytest.warns(UserWarning, match=f"{part} is a .*Mish, not a ") as caught:
        got, fused = run(model, batch())
    assert sum("coda" in str(warning.message) for warning in caught) == 1
    assert fused == 0 and all(torch.equal(got[key], want[key]) for key in want)
    with pytest.raises(RuntimeError, match=f"{part} is a .*Mish"):
        coda.patch(tiny(family), strict=True)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_of_transformers(name, monkeypatch):
    """Those of a model that is there are what they were, whatever comes into the table later."""
    model = tiny("llama", hidden_act=name)
    monkeypatch.setitem(ACT2FN, name, nn.Mish)
    assert run(coda.patch(model, strict=True), batch())[1] == 2


def test_eager_attention_is_the_modules_of_today(monkeypatch):
    model = coda.patch(tiny("mistral", attn_implementation="eager"), strict=True)
    eager, calls = mistral.eager_attention_forward, []

    def record(*args, **kwargs):
        calls.append(args[0].layer_idx)
        return eager(*args, **kwargs)

    monkeypatch.setattr(mistral, "eager_attention_forward", record)
    assert run(model, batch())[1] == 2 and calls == [0, 1]


def test_a_deep_copy_sees_it_too(monkeypatch):
    twin = copy.deepcopy(coda.patch(tiny("llama"), loss=False))
    layer = llama.LlamaDecoderLayer
    monkeypatch.setattr(layer, "forward", doubled(layer.forward))
    check_all_stock(twin, batch(), trained(tiny("llama"), batch()), layer.__name__)


def test_what_the_model_has_nothing_of_may_be_missing(monkeypatch):
    for name in ("MistralMLP", "apply_rotary_pos_emb", "rotate_half", "eager_attention_forward"):
        with monkeypatch.context() as missing:
            missing.delattr(mistral, name)
            coda.patch(tiny("llama"), strict=True)
            if name != "MistralMLP":  # without which there is no model
                with pytest.raises(RuntimeError, match=f"transformers .* has no .*{name}"):
                    coda.patch(tiny("mistral"))


def test_what_is_stock():
    """Decorated functions and inherited ones are; those of another module are not."""
    assert is_stock(llama.LlamaForCausalLM, "forward") and is_stock(llama.LlamaModel, "forward")
    assert is_stock(type("Inherits", (nn.Linear,), {}), "forward")

    class Other(nn.Linear):
        forward = nn.LayerNorm.forward

    assert not is_stock(Other, "forward")
    assert is_stock(llama.LlamaRotaryEmbedding, "forward", PACKAGES)


@pytest.mark.parametrize(
    "decorator",
    [torch.no_grad(), torch.autocast("cpu", torch.bfloat16), torch.compiler.disable()],
    ids=["no_grad", "autocast", "disable"],
)
def test_a_decorator_of_pytorch(decorator, monkeypatch):
    """On an MLP that shall not be trained, say."""
    model = coda.patch(tiny("llama"), loss=False)
    monkeypatch.setattr(llama.LlamaMLP, "forward", decorator(llama.LlamaMLP.forward))
    want = trained(tiny("llama"), batch())
    check_all_stock(model, batch(), want, "LlamaMLP")
    check_all_stock(coda.patch(tiny("llama"), loss=False), batch(), want, "LlamaMLP")
