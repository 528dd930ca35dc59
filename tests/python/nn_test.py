"""coda.nn against the unfused modules in fp64 and, for names and values, against transformers'."""

import pytest
import torch
import torch.nn.functional as F
import unfused_layer
from error_rule import check_errors
from tiny_models import tiny
from torch import Tensor

import coda

H, FFN, HEADS, KV, D, EPSILON = 96, 160, 4, 2, 24, 1e-5
NAMES = {
    "input_layernorm.weight": "gamma",
    "post_attention_layernorm.weight": "gamma2",
    "norm.weight": "gamma2",
}


def plain(name: str) -> str:
    """unfused_layer's name of a parameter: self_attn.q_proj.weight is q_weight."""
    short = name.split(".", 1)[1] if name.startswith(("self_attn.", "mlp.")) else name
    short = short.replace("_norm.weight", "_norm").replace("_proj.", "_")
    return NAMES.get(name, short)


def randomise(module: torch.nn.Module) -> torch.nn.Module:
    torch.manual_seed(5)
    for name, parameter in module.named_parameters():
        torch.nn.init.normal_(parameter, 1.0 if "norm" in name else 0.0, 0.15)
    return module


def check_module(module, x: Tensor, fused, unfused, dtype) -> None:
    """fused(x) and unfused(parameters, x), values and gradients, by the error rule."""
    leaves = {"x": x, **{plain(n): p.detach() for n, p in module.named_parameters()}}
    dout = torch.randn(x.shape, generator=torch.Generator().manual_seed(2)).to(dtype)

    def results(kind):
        inputs = {name: t.detach().to(kind).requires_grad_() for name, t in leaves.items()}
        out = unfused(inputs, inputs["x"])
        gradients = torch.autograd.grad(out, list(inputs.values()), dout.to(kind))
        return {"out": out.detach(), **dict(zip(inputs, gradients))}

    x.requires_grad_()
    out = fused(x)
    assert out.shape == x.shape and out.dtype == x.dtype
    wanted = {"x": x, **{plain(name): p for name, p in module.named_parameters()}}
    gradients = torch.autograd.grad(out, list(wanted.values()), dout)
    got = {"out": out.detach(), **dict(zip(wanted, gradients))}
    check_errors(got, results(dtype), results(torch.float64), contraction=FFN)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("activation", ["silu", "gelu_tanh"])
def test_residual_gated_mlp(dtype, activation):
    module = coda.nn.ResidualGatedMLP(H, FFN, epsilon=EPSILON, activation=activation, dtype=dtype)
    names = ["norm.weight", "gate_proj.weight", "up_proj.weight", "down_proj.weight"]
    assert list(module.state_dict()) == names

    def unfused(leaves, x):
        return unfused_layer.mlp(leaves, x, EPSILON, activation)

    check_module(randomise(module), torch.randn(3, 5, 7, H).to(dtype), module, unfused, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("options", [{}, {"attention_bias": True, "head_norm": True}], ids=str)
def test_decoder_layer(dtype, options):
    batch, tokens = 3, 21
    module = coda.nn.DecoderLayer(
        H, FFN, HEADS, kv_heads=KV, head_dim=D, epsilon=EPSILON, dtype=dtype, **options
    )
    cos, sin = coda.nn.rope_tables(tokens, D, dtype=dtype)
    positions = torch.arange(tokens).repeat(batch)

    def unfused(leaves, x):
        stream = x.reshape(-1, H)
        tables = (cos.to(x.dtype), sin.to(x.dtype), positions)
        heads = unfused_layer.attention_inputs(leaves, stream, tables, D, (EPSILON, EPSILON))
        q, k, v = (z.view(batch, tokens, -1, D).transpose(1, 2) for z in heads)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        y = y.transpose(1, 2).reshape(stream.shape[0], -1)
        return unfused_layer.attention_outputs(leaves, y, stream, EPSILON, "silu").view(x.shape)

    x = torch.randn(batch, tokens, H).to(dtype)
    check_module(randomise(module), x, lambda x: module(x, cos, sin), unfused, dtype)


def test_weights_of_a_transformers_layer():
    """A layer's state_dict loads as it is and gives the same result."""
    for family, options in (
        ("llama", {}),
        ("qwen2", {"attention_bias": True}),
        ("qwen3", {"head_norm": True}),
    ):
        stock = tiny(family, head_dim=D).model
        layer = stock.layers[0].eval()
        module = coda.nn.DecoderLayer(H, FFN, HEADS, kv_heads=KV, head_dim=D, **options)
        module.load_state_dict(layer.state_dict())
        x = torch.randn(2, 11, H)
        positions = torch.arange(11)[None] + 4
        embeddings = stock.rotary_emb(x, positions)
        theta = stock.rotary_emb.inv_freq[1].item() ** (-D / 2)
        tables = coda.nn.rope_tables(15, D, theta=theta)
        with torch.no_grad():
            got = module(x, *tables, positions.expand(2, -1))
            want = layer(x, position_embeddings=embeddings, position_ids=positions)
        # Until transformers 4.53 a layer gave a tuple.
        torch.testing.assert_close(got, want[0] if isinstance(want, tuple) else want)


def test_attention_of_ones_own():
    def attend(query, key, value):
        assert query.shape == (2, HEADS, 5, D) and key.shape == value.shape == (2, KV, 5, D)
        return torch.zeros_like(query)

    module = coda.nn.DecoderLayer(H, FFN, HEADS, kv_heads=KV, head_dim=D, attention=attend)
    x = torch.randn(2, 5, H)
    tables = coda.nn.rope_tables(5, D)
    mlp = coda.nn.ResidualGatedMLP(H, FFN)
    mlp.norm.weight = module.post_attention_layernorm.weight
    for name in ("gate_proj", "up_proj", "down_proj"):
        getattr(mlp, name).weight = module.mlp[name].weight
    torch.testing.assert_close(module(x, *tables), mlp(x))


def test_autocast_and_no_tokens():
    module = coda.nn.ResidualGatedMLP(H, FFN)
    with torch.autocast("cpu", torch.bfloat16):
        out = module(torch.randn(4, H))
    out.sum().backward()
    assert out.dtype == torch.float32 and module.up_proj.weight.grad.dtype == torch.float32
    assert module(torch.randn(2, 0, H)).shape == (2, 0, H)


def test_linear_cross_entropy():
    hidden, weight = torch.randn(6, H), torch.randn(50, H)
    target = torch.tensor([1, 49, -1, 0, 7, -1])
    loss = coda.nn.LinearCrossEntropy(ignore_index=-1, reduction="sum", label_smoothing=0.1)
    want = F.cross_entropy(
        hidden.double() @ weight.double().T, target, ignore_index=-1, reduction="sum",
        label_smoothing=0.1,
    )  # fmt: skip
    torch.testing.assert_close(loss(hidden, weight, target).double(), want)


BAD = {
    "hidden_size": (lambda: coda.nn.ResidualGatedMLP(0, 8), "hidden_size is 0"),
    "intermediate_size": (lambda: coda.nn.ResidualGatedMLP(8, -1), "intermediate_size is -1"),
    "size": (lambda: coda.nn.ResidualGatedMLP(8, 8.5), "intermediate_size is 8.5"),
    "activation": (
        lambda: coda.nn.ResidualGatedMLP(8, 8, activation="mish"),
        "is 'mish', expected",
    ),
    "recompute": (lambda: coda.nn.ResidualGatedMLP(8, 8, recompute="x"), "recompute is 'x'"),
    "heads": (lambda: coda.nn.DecoderLayer(8, 8, 0), "heads is 0"),
    "kv_heads": (lambda: coda.nn.DecoderLayer(8, 8, 4, kv_heads=3), "a divisor of heads, 4"),
    "head_dim": (lambda: coda.nn.DecoderLayer(9, 8, 3), "head_dim is 3, expected an even"),
    "reduction": (lambda: coda.nn.LinearCrossEntropy(reduction="max"), "reduction is 'max'"),
    "rows": (lambda: coda.nn.rope_tables(0, 8), "rows is 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    make, match = BAD[name]
    with pytest.raises(ValueError, match=match):
        make()
