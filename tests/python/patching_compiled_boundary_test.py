"""Nothing is handed from layer to layer in compiled models."""

import pytest
import torch
from patching_boundary_test import LAYERS, close, layers_of, model_of, passes_over_x, states
from tiny_models import batch, tiny, trained
from torch._dynamo.testing import CompileCounterWithBackend
from torch.fx import GraphModule

import coda


@pytest.mark.parametrize("family", ["qwen3", "gpt2"])
def test_compiled(family):
    """Every layer makes its own: dynamo does not see who changes a tensor between two."""
    model, inputs = model_of(family), batch()
    want = trained(model, inputs)
    counter = CompileCounterWithBackend("aot_eager")
    torch._dynamo.reset()
    got = trained(torch.compile(model, fullgraph=True, backend=counter), inputs)
    close({name.removeprefix("_orig_mod."): tensor for name, tensor in got.items()}, want)
    names = [
        str(node.target).removeprefix("coda.").removesuffix(".default")
        for graph in counter.graphs
        for module in graph.modules()
        if isinstance(module, GraphModule)
        for node in module.graph.nodes
    ]
    assert passes_over_x(family, names) == LAYERS


def test_a_compiled_loop_that_changes_hidden_states():
    model, inputs = tiny("llama", num_hidden_layers=LAYERS).eval(), batch()

    def run(hidden, embeddings):
        for layer in layers_of(model):
            hidden = states(layer(hidden, position_embeddings=embeddings))
            hidden.mul_(1.5)
        return hidden

    def embedded():
        hidden = model.get_input_embeddings()(inputs["input_ids"])
        return hidden, model.model.rotary_emb(hidden, torch.arange(hidden.shape[1])[None])

    with torch.no_grad():
        want = run(*embedded())
        coda.patch(model, strict=True)
        torch._dynamo.reset()
        compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(*embedded()), want, rtol=1e-4, atol=1e-5)


def test_an_eager_layer_hands_nothing_to_a_compiled_one():
    """It would not be taken, and live as long as the hidden states."""
    model = model_of("llama")
    torch._dynamo.reset()
    layers_of(model)[1].compile(backend="aot_eager")
    outputs = model(**batch(), output_hidden_states=True)
    for hidden in outputs.hidden_states:
        assert getattr(hidden, "_coda_norm_inputs", None) is None
