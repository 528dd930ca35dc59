"""Patched models in use: generation, saving, checkpointing, compiling, unpatching."""

import warnings

import pytest
import torch
import transformers
from operator_calls import Calls
from tiny_models import CONFIGS, batch, fused_layers, tiny, trained
from torch._dynamo.testing import CompileCounterWithBackend

import coda


def equal(a: dict, b: dict) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def generated(model, tokens=6, **options):
    prompt = batch(tokens=9, padded=4)
    with torch.no_grad():
        return model.eval().generate(
            input_ids=prompt["input_ids"],
            attention_mask=prompt["attention_mask"],
            max_new_tokens=tokens,
            min_new_tokens=tokens,
            do_sample=False,
            **options,
        )


@pytest.mark.parametrize("decode", ["coda", "stock"])
@pytest.mark.parametrize("family", CONFIGS)
def test_generation_token_for_token(family, decode):
    model = tiny(family)
    want = generated(model)
    coda.patch(model, strict=True, min_tokens=1 if decode == "coda" else 10)
    with Calls() as calls:
        assert torch.equal(generated(model), want)
    layers, passes = 2, 6 if decode == "coda" else 1
    assert fused_layers(family, calls.names) == layers * passes


@pytest.mark.parametrize(
    "options", [{"use_cache": False}, {"cache_implementation": "static"}], ids=str
)
@pytest.mark.parametrize("family", ["mistral", "gpt2"])
def test_caches(family, options):
    model = tiny(family, **({"sliding_window": 8} if family == "mistral" else {}))
    want = generated(model, **options)
    coda.patch(model, strict=True)
    assert torch.equal(generated(model, **options), want)


@pytest.mark.parametrize("family", ["qwen3", "gpt2"])
def test_saved_model_loads_in_stock_transformers(family, tmp_path):
    model, inputs = coda.patch(tiny(family, tie_word_embeddings=True)), batch()
    names = list(model.state_dict())
    model.save_pretrained(tmp_path)
    stock = transformers.AutoModelForCausalLM.from_pretrained(tmp_path).train()
    assert type(stock) is type(model) and list(stock.state_dict()) == names
    want = trained(tiny(family, tie_word_embeddings=True), inputs)
    assert equal(trained(stock, inputs), want)


@pytest.mark.parametrize("family", ["qwen2", "gpt2"])
def test_unpatch_restores_every_bit(family):
    model, inputs = tiny(family), batch(padded=3)
    attributes = {name: set(vars(module)) for name, module in model.named_modules()}
    want = trained(model, inputs)
    coda.patch(model)
    assert not equal(trained(model, inputs), want)  # coda sums in another order
    assert coda.unpatch(model) is model
    assert equal(trained(model, inputs), want)
    assert {name: set(vars(module)) for name, module in model.named_modules()} == attributes
    coda.unpatch(model)


def test_classes_and_parameters_stay():
    model = tiny("llama")
    before = {name: (type(module), id(module)) for name, module in model.named_modules()}
    parameters = {name: id(parameter) for name, parameter in model.named_parameters()}
    coda.patch(model)
    assert {name: (type(m), id(m)) for name, m in model.named_modules()} == before
    assert {name: id(parameter) for name, parameter in model.named_parameters()} == parameters


def test_patching_twice_takes_the_new_options():
    model, inputs = tiny("llama"), batch()
    coda.patch(model, min_tokens=10_000)
    want = trained(tiny("llama"), inputs)
    assert equal(trained(model, inputs), want)  # too few tokens
    coda.patch(model)
    with Calls() as calls:
        trained(model, inputs)
    assert calls.names.count("linear_rope") == 2


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("family", ["mistral", "gpt2"])
def test_gradient_checkpointing(family, reentrant):
    model, inputs = coda.patch(tiny(family, torch.bfloat16), strict=True), batch(padded=7)
    layer = model.base_model.get_submodule("h" if family == "gpt2" else "layers")[1]
    hook = layer.register_forward_pre_hook(lambda *_: None)  # so that nothing is handed to it
    want = trained(model, inputs, use_cache=False)
    hook.remove()
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    with Calls() as calls:
        got = trained(model, inputs, use_cache=False)
    assert equal(got, want)
    assert fused_layers(family, calls.names) == 4


def test_memory_can_be_estimated_without_tensors():
    """Fused under FakeTensorMode too: nothing of it runs."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    config = tiny("llama").config
    with FakeTensorMode(), Calls() as calls:
        stock = transformers.AutoModelForCausalLM.from_config(config).train()
        model = coda.patch(stock, strict=True)
        ids = torch.ones(2, 9, dtype=torch.int64)
        model(input_ids=ids, labels=ids).loss.backward()
    assert fused_layers("llama", calls.names) == 2


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_loss_arguments(family):
    """num_items_in_batch, shift_labels and ignore_index as ForCausalLMLoss takes them."""
    model, inputs = tiny(family), batch()
    shifted = torch.nn.functional.pad(inputs["labels"], (0, 1), value=7)[:, 1:].contiguous()
    for options in (
        {"num_items_in_batch": 50},
        {"num_items_in_batch": torch.tensor(31)},
        {"shift_labels": shifted, "ignore_index": 7},
        {"output_hidden_states": True},
    ):
        want = model(**inputs, **options)
        coda.patch(model, strict=True)
        got = model(**inputs, **options)
        coda.unpatch(model)
        assert got.logits is None and want.logits is not None
        torch.testing.assert_close(got.loss, want.loss)
        assert type(got) is type(want)
    assert len(got.hidden_states) == 3
    coda.patch(model, strict=True)
    assert isinstance(model(**inputs, return_dict=False), tuple)


def test_where_logits_are_wanted():
    model, inputs = tiny("qwen3"), batch()
    without = {name: tensor for name, tensor in inputs.items() if name != "labels"}
    want = model.eval()(**inputs).logits
    coda.patch(model)
    torch.testing.assert_close(model.eval()(**inputs).logits, want)
    torch.testing.assert_close(model.train()(**without).logits, want)
    got = model(**inputs, logits_to_keep=inputs["labels"].shape[1])
    torch.testing.assert_close(got.logits, want)
    assert coda.patch(model, loss=False)(**inputs).logits is not None


@pytest.mark.parametrize("family", CONFIGS)
def test_attention_is_called_as_by_stock_layers(family, monkeypatch):
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    stock, calls = ALL_ATTENTION_FUNCTIONS["sdpa"], []

    def record(module, query, key, value, mask, **options):
        shapes = [None if t is None else tuple(t.shape) for t in (query, key, value, mask)]
        calls.append((module.layer_idx, shapes, options))
        return stock(module, query, key, value, mask, **options)

    monkeypatch.setitem(ALL_ATTENTION_FUNCTIONS, "sdpa", record)
    sliding = {"sliding_window": 16, "use_sliding_window": True, "max_window_layers": 1}
    others = {"llama": {}, "gpt2": {"attn_pdrop": 0.25, "scale_attn_by_inverse_layer_idx": True}}
    model = tiny(family, attention_dropout=0.25, **others.get(family, sliding))
    inputs = batch(padded=3)
    model(**inputs, num_items_in_batch=9)
    coda.patch(model, strict=True)(**inputs, num_items_in_batch=9)
    assert len(calls) == 4
    for (index, shapes, options), got in zip(calls[:2], calls[2:]):
        assert got[:2] == (index, shapes) and got[2].keys() == options.keys()
        for name, option in options.items():
            same = torch.equal if isinstance(option, torch.Tensor) else lambda a, b: a == b
            assert same(got[2][name], option), name
        assert options["dropout"] == 0.25


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_attention_that_the_registry_does_not_list(family):
    """Transformers 5 takes eager where a config names none."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    if not hasattr(ALL_ATTENTION_FUNCTIONS, "get_interface"):
        pytest.skip("transformers 4 looks attention up in the registry alone")
    model, inputs = tiny(family).eval(), batch()
    model.config._attn_implementation = None
    want = model(**inputs).logits
    coda.patch(model, strict=True)
    torch.testing.assert_close(model(**inputs).logits, want)


def test_models_without_a_head():
    inputs = batch()
    del inputs["labels"]
    model = tiny("qwen2").model.eval()
    with torch.inference_mode():
        want = model(**inputs).last_hidden_state
        coda.patch(model, strict=True)
        with Calls() as calls:
            got = model(**inputs).last_hidden_state
    torch.testing.assert_close(got, want)
    assert calls.names.count("linear_rope") == 2


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_position_ids(family):
    model, inputs = tiny(family).eval(), batch()
    positions = torch.stack((torch.arange(65) + 7, torch.arange(65).flip(0)))
    want = model(**inputs, position_ids=positions).logits
    coda.patch(model, strict=True)
    torch.testing.assert_close(model(**inputs, position_ids=positions).logits, want)


def test_hidden_states_leave_no_layer_stock():
    """transformers leaves hooks behind output_hidden_states; they are not the user's."""
    model, inputs = coda.patch(tiny("llama"), strict=True), batch()
    hidden = model(**inputs, output_hidden_states=True).hidden_states
    assert len(hidden) == 3
    with Calls() as calls:
        trained(model, inputs)
    assert calls.names.count("linear_rope") == 2


def test_hooks_of_recorders_are_remembered():
    """Looked at once, not in every call; hooks that come later are seen."""
    model, inputs = coda.patch(tiny("llama"), strict=True), batch()
    model(**inputs, output_hidden_states=True, output_attentions=False)
    trained(model, inputs)
    layer = model.model.layers[1]
    watch = layer._coda_patch.watch
    found = watch.stock
    assert found is not None and watch.unusual(layer) is None and watch.stock is found
    layer.self_attn.register_forward_hook(lambda *_: None)
    assert watch.unusual(layer) == "self_attn has a forward hook" and watch.stock is None


def test_recorders_that_the_config_wakes():
    """They stay behind the first call, and record once the config asks for attention weights."""
    model, inputs = coda.patch(tiny("llama", attn_implementation="eager")), batch()
    model(**inputs, output_hidden_states=True)
    trained(model, inputs)
    model.config.output_attentions = True
    with pytest.warns(UserWarning, match="self_attn"), Calls() as calls:
        outputs = model(**inputs)
    assert len(outputs.attentions) == 2 and "linear_rope" not in calls.names


@pytest.mark.parametrize("family", ["qwen3", "gpt2"])
def test_compiled_without_graph_breaks_or_recompiling(family):
    model = coda.patch(tiny(family), strict=True)
    counter = CompileCounterWithBackend("aot_eager")
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend=counter)
    graphs = []
    for tokens in (33, 70, 41):
        inputs = batch(tokens=tokens)
        want = trained(model, inputs)
        got = trained(compiled, inputs)
        graphs.append(counter.frame_count)
        for name, tensor in want.items():
            other = got[name if name == "loss" else f"_orig_mod.{name}"]
            torch.testing.assert_close(other, tensor, msg=lambda text, n=name: f"{n}: {text}")
    assert graphs == graphs[:1] * 3


def test_no_warnings_in_ordinary_use():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="coda")
        model = coda.patch(tiny("qwen2", torch.bfloat16))
        trained(model, batch())
        generated(model)
