"""Deep copies of patched models, which are patched, and pickled ones, which are stock."""

import copy
import io
import pickle
import subprocess
import sys
import warnings
from types import FunctionType, MethodType

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


def bind(function, module):
    return MethodType(function, module)


class ByValue(pickle.Pickler):
    """As cloudpickle and dill, which write a function that is not where its name says as it is."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.functions: list[FunctionType] = []

    def reducer_override(self, thing):
        bound = isinstance(thing, MethodType)
        return (bind, (thing.__func__, thing.__self__)) if bound else NotImplemented

    def persistent_id(self, thing):
        if not isinstance(thing, FunctionType) or thing.__module__ == thing.__globals__["__name__"]:
            return None
        self.functions.append(thing)
        return len(self.functions) - 1


def pickled_by_value(model):
    """Gives a function that loads it."""
    file = io.BytesIO()
    pickler = ByValue(file)
    pickler.dump(model)

    class Loading(pickle.Unpickler):
        def persistent_load(self, index):
            f = pickler.functions[index]
            home = dict(f.__globals__)
            return FunctionType(f.__code__, home, f.__name__, f.__defaults__, f.__closure__)

    assert pickler.functions
    return lambda: Loading(io.BytesIO(file.getvalue())).load()


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_a_model_that_is_pickled_by_value_is_stock(family):
    inputs, stock = batch(), trained(tiny(family), batch())
    model = coda.patch(tiny(family))
    want = trained(model, inputs)
    load = pickled_by_value(model)
    with Calls() as calls:
        again = load()
        assert same(trained(again, inputs), stock)
        assert same(trained(copy.deepcopy(again), inputs), stock)
        assert same(trained(coda.unpatch(again), inputs), stock)
    assert not calls.names and not any("forward" in vars(module) for module in again.modules())
    assert same(trained(coda.patch(load(), strict=True), inputs), want)


def test_somebody_elses_forward_in_a_pickled_model():
    """It is still theirs to take away."""
    model = pickled_by_value(coda.patch(tiny("llama")))()
    layer = model.model.layers[0]
    layer.forward = MethodType(lambda self, *args, **options: None, layer)
    for function in (coda.patch, coda.unpatch):
        with pytest.raises(RuntimeError, match="the forward of .*ayer.* was replaced by .*lambda"):
            function(model)


def test_a_pickled_model_needs_no_coda(tmp_path):
    torch.save(coda.patch(tiny("llama")), tmp_path / "model.pt")
    program = "import sys, torch; sys.modules['coda'] = None\n"
    program += "model = torch.load(sys.argv[1], weights_only=False)\n"
    program += "print(model(input_ids=torch.arange(9)[None]).logits.shape[1])"
    command = [sys.executable, "-c", program, str(tmp_path / "model.pt")]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "9\n"
