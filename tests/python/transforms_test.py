"""torch.func and forward-mode differentiation: operators, which have neither, say so where a result
would be wrong, and patched layers run stock."""

import pytest
import torch
import torch.autograd.forward_ad as forward_ad
from operator_calls import Calls
from tiny_models import batch, tiny
from torch.func import functional_call, grad, jvp, vmap

import coda

OPS = torch.ops.coda
X, WEIGHT = torch.ones(4, 64), torch.ones(8, 64)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: OPS.linear(x, WEIGHT),
        lambda x: OPS.linear(X, WEIGHT, None, None, 0.0, 0, x[:, :8]),
        lambda x: OPS.linear_weight_grad([x], X),
        lambda x: coda.linear_cross_entropy(x, WEIGHT, torch.arange(4)),
    ],
)
def test_operators_lose_no_tangent(function):
    with pytest.raises(RuntimeError, match="coda::linear.* has no forward-mode derivative.*use"):
        jvp(function, (X,), (X,))
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match="no forward-mode derivative"):
        function(forward_ad.make_dual(X, X))


def test_operators_beside_tangents():
    out, tangent = jvp(lambda x: OPS.linear(X, WEIGHT) * x[:, :8], (X,), (X,))
    assert torch.equal(out, torch.full((4, 8), 64.0)) and torch.equal(tangent, out)


@pytest.mark.parametrize("transform", [grad, lambda f: vmap(grad(lambda row: f(row[None])))])
def test_operators_have_no_gradient_in_transforms(transform):
    with pytest.raises(RuntimeError, match="coda::linear has no gradient inside of torch.func"):
        transform(lambda x: OPS.linear(x, WEIGHT).sum())(X)


def test_operators_map_over_samples():
    rows = torch.arange(256.0).reshape(4, 64) % 7
    assert torch.equal(vmap(lambda row: OPS.linear(row[None], WEIGHT))(rows)[:, 0], rows @ WEIGHT.T)


def gradients_of_sequences(model, inputs):
    """Of every parameter, [sequences, ...]."""
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}

    def loss(parameters, ids):
        return functional_call(model, parameters, (), {"input_ids": ids, "labels": ids}).loss

    def of_one(ids):
        return grad(loss)(parameters, ids[None])

    return vmap(of_one, randomness="different")(inputs["input_ids"])


def logits_of_sequences(model, inputs):
    def of_one(ids):
        return model(input_ids=ids[None]).logits

    with torch.no_grad():
        return {"logits": vmap(of_one)(inputs["input_ids"])}


def tangents(model, inputs):
    embeddings = model.get_input_embeddings()(inputs["input_ids"]).detach()
    with forward_ad.dual_level(), torch.no_grad():
        dual = forward_ad.make_dual(embeddings, torch.ones_like(embeddings))
        logits = model(inputs_embeds=dual).logits
        return {"tangent": forward_ad.unpack_dual(logits).tangent}


@pytest.mark.parametrize(
    ("family", "run"),
    [  # vmap takes no GPT-2 of transformers, which reads a value of a tensor
        ("qwen3", gradients_of_sequences),
        ("qwen3", logits_of_sequences),
        ("qwen3", tangents),
        ("gpt2", tangents),
    ],
)
def test_patched_models_run_stock_in_transforms(family, run):
    # SDPA has no forward-mode derivative.
    model = tiny(family, attn_implementation="eager" if run is tangents else "sdpa")
    inputs = batch(tokens=9)
    want = run(model, inputs)
    coda.patch(model)
    with pytest.warns(UserWarning, match="transformed by torch.func") as caught, Calls() as calls:
        got = run(model, inputs)
    assert sum("coda" in str(warning.message) for warning in caught) == 1
    assert calls.names == []
    for name, tensor in want.items():
        assert torch.equal(got[name], tensor), name
    with pytest.raises(RuntimeError, match="transformed by torch.func"):
        run(coda.patch(model, strict=True), inputs)
