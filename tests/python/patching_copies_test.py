"""Deep copies of patched models, which are patched, and pickled ones, which are stock."""

import copy
import io
import subprocess
import sys
import warnings

import pytest
import torch
from operator_calls import Calls
from tiny_models import batch, fused_layers, tiny, trained

import coda


def same(a: dict, b: dict) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_a_deep_copy_is_patched_and_its_own(family):
    model, inputs = coda.patch(tiny(family)), batch()
    want = trained(model, inputs)
    twin = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    with Calls() as calls:
        assert same(trained(twin, inputs), want)
    assert fused_layers(family, calls.names) == 2
    mlp = twin.base_model.get_submodule("h.0" if family == "gpt2" else "layers.0").mlp
    mlp.register_forward_hook(lambda *args: None)
    for copied, fused in ((model, 2), (twin, 1)):  # each looks at its own modules
        with warnings.catch_warnings(), Calls() as calls:
            warnings.simplefilter("ignore")
            trained(copied, inputs)
        assert fused_layers(family, calls.names) == fused


def test_a_deep_copy_sees_a_forward_that_somebody_replaced():
    model, inputs = coda.patch(tiny("llama")), batch()
    trained(model, inputs)
    twin = copy.deepcopy(model)
    down = twin.model.layers[0].mlp.down_proj
    forward = down.forward
    down.forward = lambda x: 2 * forward(x)
    with pytest.warns(UserWarning, match="the forward of down_proj was replaced"), Calls() as calls:
        got = trained(twin, inputs)
    assert fused_layers("llama", calls.names) == 1
    assert not same(got, trained(model, inputs))


def test_a_deep_copy_finds_attention_functions_that_come_later(monkeypatch):
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    model, inputs = copy.deepcopy(coda.patch(tiny("llama"), strict=True)), batch()
    sdpa, modules = ALL_ATTENTION_FUNCTIONS["sdpa"], []

    def record(module, *args, **options):
        modules.append(module)
        return sdpa(module, *args, **options)

    monkeypatch.setitem(ALL_ATTENTION_FUNCTIONS, "sdpa", record)
    model(**inputs)
    assert modules == [layer.self_attn for layer in model.model.layers]


def test_a_pickled_model_is_stock():
    model, inputs = coda.patch(tiny("llama")), batch()
    want = trained(model, inputs)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    again = torch.load(file, weights_only=False)
    assert same(trained(again, inputs), trained(tiny("llama"), inputs))
    assert same(trained(coda.unpatch(again), inputs), trained(tiny("llama"), inputs))
    file.seek(0)
    again = torch.load(file, weights_only=False)  # with what unpatch() took away
    assert same(trained(coda.patch(again), inputs), want)


def test_a_pickled_model_needs_no_coda(tmp_path):
    torch.save(coda.patch(tiny("llama")), tmp_path / "model.pt")
    program = "import sys, torch; sys.modules['coda'] = None\n"
    program += "model = torch.load(sys.argv[1], weights_only=False)\n"
    program += "print(model(input_ids=torch.arange(9)[None]).logits.shape[1])"
    command = [sys.executable, "-c", program, str(tmp_path / "model.pt")]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "9\n"
