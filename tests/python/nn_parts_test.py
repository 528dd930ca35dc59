"""What is done to the parts of coda.nn's modules, which they do not call, is an error and not lost;
what is done to the modules themselves, or is no part of them, works."""

import copy
import io
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrize, prune

import coda

H, FFN, HEADS, TOKENS = 32, 64, 2, 5


class Scaled(nn.Linear):
    def forward(self, x):
        return 100 * super().forward(x)


def layer(**options) -> nn.Module:
    return coda.nn.DecoderLayer(H, FFN, HEADS, **options)


def mlp() -> nn.Module:
    return coda.nn.ResidualGatedMLP(H, FFN)


def run(module: nn.Module) -> torch.Tensor:
    x = torch.randn(2, TOKENS, H, generator=torch.Generator().manual_seed(3))
    decoder = isinstance(module, coda.nn.DecoderLayer)
    return module(x, *coda.nn.rope_tables(TOKENS, H // HEADS)) if decoder else module(x)


def with_lora(module: nn.Module) -> nn.Module:
    peft = pytest.importorskip("peft")
    return peft.inject_adapter_in_model(peft.LoraConfig(target_modules=["gate_proj"]), module)


def ignore(*_):
    return None


CHANGES: dict[str, tuple[Callable, str]] = {
    "hook": (lambda m: m.mlp["up_proj"].register_forward_hook(ignore), "up_proj has a forward"),
    "hook of a group": (lambda m: m.mlp.register_forward_pre_hook(ignore), "mlp has a forward"),
    "backward hook": (
        lambda m: m.self_attn["q_proj"].register_full_backward_hook(ignore),
        "q_proj has a backward hook",
    ),
    "hook of a norm": (
        lambda m: m.input_layernorm.register_forward_hook(ignore),
        "input_layernorm has a forward hook",
    ),
    "another class": (
        lambda m: m.mlp.update({"down_proj": Scaled(FFN, H, bias=False)}),
        "down_proj is a .*Scaled, not a torch.nn.*Linear",
    ),
    "LoRA": (with_lora, "gate_proj is a peft.tuners.lora.layer.Linear, not"),
    "bias": (
        lambda m: setattr(m.mlp["gate_proj"], "bias", nn.Parameter(torch.ones(FFN))),
        "gate_proj has a bias",
    ),
    "forward": (
        lambda m: setattr(m.self_attn["o_proj"], "forward", ignore),
        "the forward of o_proj was replaced",
    ),
    "pruning": (
        lambda m: prune.random_unstructured(m.mlp["up_proj"], "weight", 0.3),
        "up_proj has a forward hook",
    ),
    "parametrisation": (
        lambda m: parametrize.register_parametrization(m.mlp["up_proj"], "weight", nn.Tanh()),
        "up_proj is a torch.nn.utils.parametrize.ParametrizedLinear",
    ),
    "sparse": (
        lambda m: setattr(
            m.mlp["up_proj"],
            "weight",
            nn.Parameter(m.mlp["up_proj"].weight.detach().to_sparse_csr(), requires_grad=False),
        ),
        "up_proj.weight is a Parameter of torch.sparse_csr",
    ),
    "missing": (lambda m: m.mlp.pop("up_proj"), "up_proj is a .*NoneType"),
    "epsilons": (lambda m: setattr(m.self_attn["q_norm"], "eps", 0.1), "q_norm is 0.1 and of k_n"),
}


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_done_to_a_part(change, used):
    """Before the first call, or after it, which found the parts as they were made."""
    apply, reason = CHANGES[change]
    module = layer(head_norm=True)
    if used:
        run(module)
    apply(module)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=rf"coda\.nn.*{reason}"):
            run(module)


@pytest.mark.filterwarnings("ignore:.*torch.ao.quantization", "ignore:torch.quantize_per_tensor")
def test_quantised():
    quantised = torch.ao.quantization.quantize_dynamic(mlp(), {nn.Linear})
    with pytest.raises(RuntimeError, match="ResidualGatedMLP: gate_proj is a .*quantized"):
        run(quantised)


def test_a_hook_that_is_gone():
    module = mlp()
    want = run(module)
    handle = module.up_proj.register_forward_hook(ignore)
    with pytest.raises(RuntimeError, match="ResidualGatedMLP: up_proj has a forward hook"):
        run(module)
    handle.remove()
    assert torch.equal(run(module), want)


def test_another_part_of_the_same_class():
    module, seen = mlp(), []
    module.up_proj = nn.Linear(H, FFN, bias=False)
    module.register_forward_hook(lambda *_: seen.append(1))
    got = run(module).detach()
    x = torch.randn(2, TOKENS, H, generator=torch.Generator().manual_seed(3))
    n = module.norm(x)
    want = x + module.down_proj(F.silu(module.gate_proj(n)) * module.up_proj(n))
    torch.testing.assert_close(got, want.detach())
    assert seen


def test_epsilon_is_the_norms_own():
    module, other = mlp(), coda.nn.ResidualGatedMLP(H, FFN, epsilon=0.5)
    other.load_state_dict(module.state_dict())
    module.norm.eps = 0.5
    assert torch.equal(run(module), run(other))


def test_attention_is_called():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.Identity())

        def forward(self, query, key, value):
            return self.inner(query)

    module, seen = layer(attention=Attention()), []
    module.attention.inner[0].register_forward_hook(lambda *_: seen.append(1))
    run(module)
    assert seen


@pytest.mark.parametrize("make", [layer, mlp])
def test_copies_look_at_their_own_parts(make):
    module, file = make(), io.BytesIO()
    want = run(module)
    torch.save(module, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    assert loaded._watch.stock is None  # what was found of the parts is in no file
    for twin in (copy.deepcopy(module), loaded, module._replicate_for_data_parallel()):
        for name, child in module.named_children():
            twin.add_module(name, copy.deepcopy(child))
        assert torch.equal(run(twin), want)
        part = twin.post_attention_layernorm if make is layer else twin.norm
        part.register_forward_hook(ignore)
        with pytest.raises(RuntimeError, match="norm has a forward hook"):
            run(twin)
        assert torch.equal(run(module), want)


def test_compiled():
    module = nn.Sequential(mlp(), mlp())
    want = run(module)
    torch._dynamo.reset()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(run(compiled), want)
    module[1].down_proj = Scaled(FFN, H, bias=False)
    with pytest.raises(RuntimeError, match=r"down_proj is a .*Scaled, not"):
        run(compiled)


def test_more_tokens_than_rows():
    """Without positions; those that are given are the operator's to look at."""
    module, x = layer(), torch.randn(2, 9, H)
    cos, sin = coda.nn.rope_tables(8, H // HEADS)
    message = "DecoderLayer: cos and sin have 8 rows, expected at least 9, one for each token of x"
    with pytest.raises(ValueError, match=message):
        module(x, cos, sin)
    assert module(x, cos, sin, torch.arange(9).clamp(max=7).expand(2, 9)).shape == x.shape
    assert module(x[:, :8], cos, sin).shape == (2, 8, H)
