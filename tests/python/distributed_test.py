"""Patched models over one to four processes: DDP and FSDP2 train as one process without them does.
On the CPU with gloo; on one GPU, with a process of its own, with nccl.

The exact result is a model in fp64 in this process, on the whole batch, with formulas of its own;
the error of the patched model is bounded by that of the stock one, spread in the same way.
"""

import os
import subprocess
import sys
from pathlib import Path

import distributed_worker as worker
import error_rule
import pytest
import torch
import torch.distributed.checkpoint as dcp
import torch.nn.functional as F
from torch import Tensor, nn

LIMIT = 600  # seconds for all ways of one number of processes, should they hang


GROUPS = {
    "1 process": ("cpu", 1),
    "2 processes": ("cpu", 2),
    "4 processes": ("cpu", 4),
    "one GPU": ("cuda", 1),
}


@pytest.fixture(scope="module", params=GROUPS.values(), ids=GROUPS)
def trained(request, tmp_path_factory) -> tuple[Path, dict]:
    device, processes = request.param
    folder = tmp_path_factory.mktemp(f"{device}_{processes}")
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    command = [sys.executable, worker.__file__]
    running = [
        subprocess.Popen(
            [*command, device, str(rank), str(processes), str(folder)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(processes)
    ]
    try:
        outputs = [process.communicate(timeout=LIMIT)[0] for process in running]
    finally:
        for process in running:
            process.kill()
    for process, output in zip(running, outputs):
        assert process.returncode == 0, output
    return folder, torch.load(folder / "results.pt")


@pytest.fixture(scope="module")
def exact() -> dict[str, Tensor]:
    """Losses, norms and weights of one process in fp64."""
    model = worker.make_model()
    parameters = {name: nn.Parameter(p.detach().double()) for name, p in model.named_parameters()}
    optimizer = torch.optim.SGD(parameters.values(), **worker.SGD)
    losses, norms = [], []
    for batch in worker.global_batches():
        loss = exact_loss(parameters, batch, model.config.rms_norm_eps)
        loss.backward()
        losses.append(loss.detach())
        norms.append(nn.utils.clip_grad_norm_(parameters.values(), worker.CLIP))
        optimizer.step()
        optimizer.zero_grad()
    values = {name: p.detach() for name, p in parameters.items()}
    return dict(losses=torch.stack(losses), norms=torch.stack(norms), **values)


def exact_loss(p: dict[str, nn.Parameter], tokens: Tensor, epsilon: float) -> Tensor:
    """A LLaMA of worker.SIZES on tokens [B, T], each position predicting the next token."""
    heads, kv_heads = (worker.SIZES[f"num_{kind}_heads"] for kind in ("attention", "key_value"))
    d = worker.SIZES["hidden_size"] // heads
    angles = torch.arange(tokens.shape[1])[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / d)
    turn = torch.polar(torch.ones_like(angles, dtype=torch.float64), angles.double())

    def norm(x: Tensor, name: str) -> Tensor:
        return x / (x.square().mean(-1, keepdim=True) + epsilon).sqrt() * p[f"{name}.weight"]

    def project(x: Tensor, name: str, count: int, rotated: bool = True) -> Tensor:
        """[B, heads, T, d]"""
        z = (x @ p[f"{name}.weight"].T).unflatten(-1, (count, d)).transpose(1, 2)
        if rotated:
            z = torch.complex(z[..., : d // 2], z[..., d // 2 :]) * turn
            z = torch.cat((z.real, z.imag), -1)
        return z.repeat_interleave(heads // count, 1)

    embedding = p["model.embed_tokens.weight"]
    x = embedding[tokens]
    for i in range(worker.SIZES["num_hidden_layers"]):
        at = f"model.layers.{i}"
        n = norm(x, f"{at}.input_layernorm")
        q, k = (
            project(n, f"{at}.self_attn.{name}_proj", count)
            for name, count in (("q", heads), ("k", kv_heads))
        )
        v = project(n, f"{at}.self_attn.v_proj", kv_heads, rotated=False)
        scores = q @ k.mT / d**0.5
        hidden = torch.ones_like(scores, dtype=torch.bool).triu(1)
        y = scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v
        x = x + y.transpose(1, 2).flatten(2) @ p[f"{at}.self_attn.o_proj.weight"].T
        n = norm(x, f"{at}.post_attention_layernorm")
        gate, up = (n @ p[f"{at}.mlp.{name}_proj.weight"].T for name in ("gate", "up"))
        x = x + (F.silu(gate) * up) @ p[f"{at}.mlp.down_proj.weight"].T
    z = norm(x, "model.norm")[:, :-1] @ embedding.T
    return (z.logsumexp(-1) - z.gather(-1, tokens[:, 1:, None])[..., 0]).mean()


@pytest.mark.parametrize("way", worker.WAYS)
def test_trains_as_one_process(trained, exact, way):
    stock, fused = (trained[1][way][kind] for kind in ("stock", "fused"))
    assert fused.keys() == exact.keys()
    tokens = worker.BATCH * worker.TOKENS
    floors = error_rule.floor_of_a_loss("losses", stock, exact, tokens)
    error_rule.check_errors(fused, stock, exact, contraction=tokens, floors=floors)


def test_layers_see_plain_tensors(trained):
    calls = trained[1]["calls"]
    assert {"linear_rope", "linear_swiglu", "linear_cross_entropy"} <= calls["names"]
    assert not calls["unusual"]


def test_strict_looks_at_shards_when_they_are_whole(trained):
    """And at once at everything else."""
    refused = "layers.1 cannot run as coda programs: up_proj has a forward hook"
    assert refused in trained[1]["refusal"]


def test_checkpoint(trained):
    """What was saved is what is loaded, and training goes on in the same way."""
    results = trained[1]["checkpoint"]
    for one, other in (("saved", "loaded"), ("after", "after_loading")):
        assert results[one].keys() == results[other].keys()
        for name, value in results[one].items():
            assert torch.equal(value, results[other][name]), name
    changed = [not torch.equal(results["saved"][n], results["after"][n]) for n in results["saved"]]
    assert all(changed)


def test_checkpoint_in_a_stock_model(trained):
    """One process without a group reads it into a model that coda has not touched."""
    folder, results = trained
    model = worker.make_model(seed=5)
    state = {"model": model.state_dict()}
    dcp.load(state, checkpoint_id=folder / "checkpoint", no_dist=True)
    model.load_state_dict(state["model"])
    for name, value in results["checkpoint"]["saved"].items():
        assert torch.equal(model.get_parameter(name), value), name
