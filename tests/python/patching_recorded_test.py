"""Patched models that torch.jit.trace and torch.export record."""

import pytest
import torch
import torch.nn.functional as F
from tiny_models import batch, gradients, tiny, trained

import coda


@pytest.mark.parametrize("family", ["llama", "gpt2"])
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore:.*torch.jit")
def test_torch_jit_trace(family):
    model, ids = tiny(family, use_cache=False).base_model.eval(), batch()["input_ids"]
    model.config.return_dict = False
    (want,) = model(ids)
    coda.patch(model)
    with pytest.warns(UserWarning, match="runs stock: torch.jit.trace records it") as caught:
        traced = torch.jit.trace(model, ids, check_trace=False)
    assert sum("coda" in str(warning.message) for warning in caught) == 1
    assert "coda::" not in str(traced.inlined_graph)
    torch.testing.assert_close(traced(ids)[0], want)


def exported(model, ids):
    program = torch.export.export(model, (), {"input_ids": ids, "use_cache": False}, strict=False)
    return program.module(), "torch.ops.coda" in program.graph_module.code


def test_exported_with_gradients():
    """Of a block's operators, which are what is exported, not all have one."""
    model, ids = tiny("gpt2").eval(), batch()["input_ids"]
    want = trained(model, batch())
    coda.patch(model)
    with pytest.warns(UserWarning, match=r"torch.export records it.*torch\.no_grad"):
        module, fused = exported(model, ids)
    assert not fused
    logits = module(input_ids=ids, use_cache=False).logits
    loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    got = gradients(module, loss)
    assert got.keys() <= want.keys() and len(got) > 20
    for name in got:
        torch.testing.assert_close(got[name], want[name], rtol=1e-4, atol=1e-5)


def test_exported_without_gradients():
    model, ids = tiny("gpt2").eval(), batch()["input_ids"]
    with torch.no_grad():
        want = model(input_ids=ids).logits
        module, fused = exported(coda.patch(model, strict=True), ids)
        assert fused
        torch.testing.assert_close(module(input_ids=ids, use_cache=False).logits, want)
