"""Steps of training on this repository's own text, patched and stock."""

import statistics
from pathlib import Path

import pytest
import torch
from tiny_models import tiny

import coda

TOKENS, SEQUENCES = 64, 4


def corpus() -> torch.Tensor:
    """The licence as bytes, a vocabulary of 128: text that no change to the project changes."""
    return torch.tensor(list((Path(__file__).parents[2] / "LICENSE").read_bytes()))


def losses(family: str, steps: int, text: torch.Tensor, patched: bool, seed: int) -> list[float]:
    """Of every step; the seed decides weights, not the order of the text."""
    model = tiny(family, seed=seed, vocab_size=128, hidden_size=64, intermediate_size=128)
    if patched:
        coda.patch(model, strict=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    draw = torch.Generator().manual_seed(0)
    found = []
    for _ in range(steps):
        starts = torch.randint(len(text) - TOKENS, (SEQUENCES,), generator=draw)
        ids = torch.stack([text[start : start + TOKENS] for start in starts])
        loss = model(input_ids=ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize(("family", "steps"), [("llama", 100), ("gpt2", 20)])
def test_loss_curve_within_the_spread_of_seeds(family, steps):
    text = corpus()
    stock = [losses(family, steps, text, patched=False, seed=seed) for seed in range(3)]
    patched = losses(family, steps, text, patched=True, seed=0)
    assert patched[-1] < 0.75 * patched[0]  # it learns
    for step, (mine, *others) in enumerate(zip(patched, *stock)):
        spread = statistics.stdev(others)
        assert abs(mine - others[0]) <= spread, f"step {step}: {mine} beside {others}"
