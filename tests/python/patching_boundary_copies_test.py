"""Copies of hidden states and of models, some of whose layers: what is handed on stays behind."""

import copy
import io

import torch
from operator_calls import Calls
from patching_boundary_test import LAYERS, layers_of, model_of, passes, states
from tiny_models import batch, tiny

import coda


def test_nothing_goes_into_a_file_with_hidden_states():
    """Of a loop of one's own over some of the layers, which nobody takes it from."""
    model = model_of("llama").base_model
    x = torch.randn(2, 9, model.config.hidden_size)
    with torch.no_grad():
        tables = model.rotary_emb(x, torch.arange(9)[None])
        hidden = states(model.layers[0](x, position_embeddings=tables))
    assert hidden._coda_norm_inputs is not None
    file = io.BytesIO()
    torch.save(hidden, file)
    assert file.tell() < hidden.nbytes + 4000
    file.seek(0)
    assert torch.equal(torch.load(file), hidden)


def test_the_last_layer_that_runs_hands_nothing_on():
    """Layers behind it stand there all the same."""
    model, inputs = model_of("llama"), batch()
    model.config.num_hidden_layers = LAYERS - 1
    with Calls() as calls:
        hidden = model(**inputs, output_hidden_states=True).hidden_states
    assert len(hidden) == LAYERS and calls.names.count("linear_rope") == LAYERS - 1
    last = layers_of(model)[LAYERS - 2]
    assert last._coda_patch.next_layer() is None


def test_copies():
    model, inputs = model_of("mistral"), batch()
    twin = copy.deepcopy(model)
    alone = copy.deepcopy(layers_of(model)[0])
    del model
    assert passes(twin, inputs)[0] == 1
    assert alone._coda_patch.place is None and alone._coda_patch.next_layer() is None


def test_a_model_of_many_layers_can_be_copied():
    sizes = {"hidden_size": 16, "intermediate_size": 16, "head_dim": 4}
    model = coda.patch(tiny("llama", num_hidden_layers=200, **sizes))
    assert len(layers_of(copy.deepcopy(model))) == 200
