"""Patched models of every family against fp64, beside stock ones in the same types."""

import re
from collections import defaultdict

import pytest
import torch
from error_rule import check_errors, floor_of_a_loss
from tiny_models import CONFIGS, batch, exact, gradients, tiny
from torch import Tensor

import coda

CONTRACTION = 211
DRAWS = 4


class Pool:
    """Results of several draws, every one over the exact one's RMS, those of all layers together:
    the largest error among the 32 numbers of one vector says little."""

    def __init__(self) -> None:
        self.parts: dict[str, list[Tensor]] = defaultdict(list)

    def add(self, results: dict[str, Tensor], truth: dict[str, Tensor]) -> None:
        for name, result in results.items():
            size = truth[name].square().mean().sqrt()
            anywhere = re.sub(r"(layers|h)\.\d+", r"\1", name)
            self.parts[anywhere].append((result.double() / size).flatten())

    def tensors(self) -> dict[str, Tensor]:
        return {name: torch.cat(parts) for name, parts in self.parts.items()}


def step(model, inputs, autocast: bool) -> dict[str, Tensor]:
    with torch.autocast(model.device.type, torch.bfloat16, enabled=autocast):
        loss = model(**inputs).loss
    return gradients(model, loss)


def check_family(
    device,
    family,
    dtype=torch.float32,
    autocast=False,
    padded=0,
    patch=None,
    change=None,
    **options,
):
    """The error rule, for the loss and every gradient. change: of a model, before anything."""
    pools = got, stock, want = Pool(), Pool(), Pool()
    for seed in range(DRAWS):
        model = tiny(family, dtype, seed, device, **options)
        if change is not None:
            change(model)
        inputs = batch(padded=padded, seed=seed, device=device)
        truth = exact(model, inputs)
        want.add(truth, truth)
        stock.add(step(model, inputs, autocast), truth)
        coda.patch(model, strict=True, **(patch or {}))
        mine = step(model, inputs, autocast)
        assert {name: t.dtype for name, t in mine.items() if name != "loss"} == {
            name: p.dtype for name, p in model.named_parameters()
        }
        got.add(mine, truth)
    got, stock, want = (pool.tensors() for pool in pools)
    floors = floor_of_a_loss("loss", stock, want, inputs["labels"].numel())
    check_errors(got, stock, want, CONTRACTION, floors)


@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["fp32", "bf16"])
@pytest.mark.parametrize("family", CONFIGS)
def test_loss_and_gradients(device, family, dtype, tied):
    if device == "cuda" and dtype == torch.float32:
        pytest.skip("on a GPU coda computes in bf16")
    check_family(device, family, dtype, padded=11 if tied else 0, tie_word_embeddings=tied)


@pytest.mark.parametrize("family", CONFIGS)
def test_autocast(device, family):
    check_family(device, family, autocast=True, padded=5)


OPTIONS = {
    "biases": ("llama", {"attention_bias": True}),
    "one kv head": ("llama", {"num_key_value_heads": 1}),
    "no groups": ("qwen3", {"num_key_value_heads": 4}),
    "gelu": ("mistral", {"hidden_act": "gelu_pytorch_tanh"}),
    "sliding": ("mistral", {"sliding_window": 16}),
    "some sliding": (
        "qwen2",
        {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 1},
    ),
    "yarn": (
        "llama",
        {"rope_parameters": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 10000.0}},
    ),
    "eager": ("qwen3", {"attn_implementation": "eager", "attention_bias": True}),
    "gpt2, eager": ("gpt2", {"attn_implementation": "eager"}),
    "gpt2, gelu": ("gpt2", {"activation_function": "gelu"}),
    "gpt2, relu": ("gpt2", {"activation_function": "relu", "n_inner": None}),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options(device, name):
    family, options = OPTIONS[name]
    check_family(device, family, torch.bfloat16, padded=3, **options)


@pytest.mark.parametrize("recompute", ["nothing", "block"])
@pytest.mark.parametrize("family", ["qwen3", "gpt2"])
def test_recompute(device, family, recompute):
    check_family(device, family, torch.bfloat16, patch={"recompute": recompute})
