"""RoPE of patched models where cos and sin are not those that transformers makes."""

import pytest
import torch
from operator_calls import Calls
from tiny_models import batch, fused_layers, tiny, trained
from torch import nn

import coda


class Wrapped(nn.Module):
    """A rotary embedding of one's own around the stock one."""

    def __init__(self, stock, change):
        super().__init__()
        self.stock, self.change = stock, change

    def forward(self, *args, **kwargs):
        return self.change(*self.stock(*args, **kwargs))


def other_halves(cos, sin):
    """As of a model that rotates the halves by angles of their own."""
    scale = torch.linspace(0.5, 1, cos.shape[-1])
    return cos * scale, sin * scale


def with_rotary(change):
    model = tiny("llama")
    model.model.rotary_emb = Wrapped(model.model.rotary_emb, change)
    return model


def test_halves_that_differ_run_stock():
    inputs = batch()
    want = trained(with_rotary(other_halves), inputs)
    model = coda.patch(with_rotary(other_halves))
    with pytest.warns(UserWarning, match="their halves differ"), Calls() as calls:
        got = trained(model, inputs)
    assert fused_layers("llama", calls.names) == 0
    torch.testing.assert_close(got, want)
    with pytest.raises(RuntimeError, match="their halves differ"):
        trained(coda.patch(with_rotary(other_halves), strict=True), inputs)


def test_equal_halves_of_another_module_run_fused():
    inputs = batch()
    want = trained(with_rotary(lambda cos, sin: (cos * 2, sin * 2)), inputs)
    model = coda.patch(with_rotary(lambda cos, sin: (cos * 2, sin * 2)), strict=True)
    with Calls() as calls:
        got = trained(model, inputs)
    assert fused_layers("llama", calls.names) == 2
    for name in want:
        torch.testing.assert_close(got[name], want[name], rtol=1e-4, atol=1e-5)


def test_stock_tables_that_a_hook_changes():
    model, inputs = tiny("qwen3"), batch()

    def change(_, args, tables):
        tables[0][..., :3] = 0.5

    model.model.rotary_emb.register_forward_hook(change)
    want = trained(model, inputs)
    with pytest.warns(UserWarning, match="their halves differ"):
        torch.testing.assert_close(trained(coda.patch(model), inputs), want)


def test_compiled_tables_of_another_module_run_stock():
    """Nothing can be compared where a graph is recorded."""
    inputs = batch()
    torch._dynamo.reset()
    model = coda.patch(with_rotary(other_halves))
    with pytest.warns(UserWarning, match="cannot be compared here"):
        got = torch.compile(model, backend="aot_eager", fullgraph=True)(**inputs).loss
    torch.testing.assert_close(got, with_rotary(other_halves)(**inputs).loss)


def test_layers_that_are_compiled_one_by_one():
    model, inputs = coda.patch(tiny("llama"), strict=True), batch()
    want = trained(model, inputs)
    torch._dynamo.reset()
    for layer in model.model.layers:
        layer.compile(backend="aot_eager", fullgraph=True)
    got = trained(model, inputs)
    for name in want:
        torch.testing.assert_close(got[name], want[name], rtol=1e-4, atol=1e-5)


def test_learned_rotation():
    """cos and sin with a gradient, which linear_rope does not give."""

    def learned():
        torch.manual_seed(3)
        factor = nn.Parameter(torch.rand(16).repeat(2) + 0.5)
        return with_rotary(lambda cos, sin: (cos * factor, sin * factor)), factor

    inputs = batch()
    model, factor = learned()
    trained(model, inputs)
    want = factor.grad
    model, factor = learned()
    with pytest.warns(UserWarning, match="wants a gradient of cos and sin"):
        trained(coda.patch(model), inputs)
    torch.testing.assert_close(factor.grad, want)


def test_one_row_for_all_tokens():
    """Stock layers broadcast it."""
    model, hidden = tiny("llama").eval(), torch.randn(2, 7, 96)
    tables = tuple(table[:, 5:6] for table in model.model.rotary_emb(hidden, torch.arange(7)[None]))
    layer = model.model.layers[0]
    want = layer(hidden, position_embeddings=tables)
    coda.patch(model)
    match = "cos and sin are of 1 tokens, hidden states of 7"
    with pytest.warns(UserWarning, match=match), Calls() as calls:
        got = layer(hidden, position_embeddings=tables)
    assert calls.names == []
    torch.testing.assert_close(got, want, rtol=0, atol=0)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_tables_that_are_filled_again(mode):
    """A loop of one's own that keeps the same tensors for cos and sin."""
    model = tiny("llama").eval()
    hidden = torch.randn(2, 7, 96)

    def runs():
        outputs = []
        for start in (0, 100):
            new = model.model.rotary_emb(hidden, torch.arange(start, start + 7)[None])
            for table, values in zip(kept, new):
                table.copy_(values)
            outputs.append(model.model.layers[0](hidden, position_embeddings=tuple(kept)))
        return outputs

    with mode():
        kept = [torch.empty(1, 7, 32) for _ in range(2)]
        want = runs()
        coda.patch(model, strict=True)
        for got, wanted in zip(runs(), want):
            torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)
