"""A model's losses, gradients and training steps beside PyTorch's, for the tests here.

The yardstick is fp64: a tensor's gradient may be off by twice what PyTorch's is in the same
precision, and so may a training run's losses. PyTorch rounds after every operator there, as the
unfused computation does.
"""

import dataclasses
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

try:
    import torch
    import transformers
    from safetensors.torch import load_file
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = Path(os.environ.get("CODA_TEST_PROGRAMS", ROOT / "build/tests"))

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
torch.set_num_threads(2)

BATCH, SEQUENCE = 4, 37
BETAS, EPSILON, DECAY, MAX_NORM = (0.9, 0.95), 1e-8, 0.1, 1.0
TYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}
STEPS, RATE = 30, 3e-3


@dataclasses.dataclass
class Case:
    name: str
    make: Callable[[], torch.nn.Module]  # the same weights every time, numbers of bf16
    vocab_size: int
    widest: int  # contraction of a GEMM
    dtype: str
    parts: int
    recompute: str
    fold: str = "rule"

    def __str__(self) -> str:
        how = f"parts {self.parts} recompute {self.recompute} fold {self.fold}"
        return f"{self.name} {self.dtype} {how}"


def loss_of(model, tokens, targets):
    logits = model(tokens).logits
    logits = logits if logits.dtype == torch.float64 else logits.float()
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def backward(model, parts) -> float:
    """Gradients of the mean over the parts, which is returned."""
    total = 0.0
    for tokens, targets in parts:
        loss = loss_of(model, tokens, targets) / len(parts)
        loss.backward()
        total += loss.item()
    return total


def draw_steps(case: Case, steps: int):
    rows = BATCH // case.parts
    return [
        [
            tuple(torch.randint(0, case.vocab_size, (rows, SEQUENCE)) for _ in range(2))
            for _ in range(case.parts)
        ]
        for _ in range(steps)
    ]


def run_coda(case: Case, model, batches, rate: float, threads: int = 2, change=None):
    """Losses and norms of all steps, gradients of the first, the model that transformers loads.

    change(folder): done to what transformers saved.
    """
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        model.to(TYPES[case.dtype]).save_pretrained(folder)
        model.float()
        if change is not None:
            change(folder)
        flat = [x.flatten() for parts in batches for part in parts for x in part]
        torch.cat(flat).numpy().tofile(folder / "tokens")
        options = {
            "batch": BATCH,
            "parts": len(batches[0]),
            "sequence": SEQUENCE,
            "dtype": case.dtype,
            "recompute": case.recompute,
            "fold": case.fold,
            "decay": DECAY,
            "max_norm": MAX_NORM,
            "steps": len(batches),
            "rate": rate,
            "threads": threads,
        }
        out = folder / "out"
        out.mkdir()
        done = subprocess.run(
            [PROGRAMS / "train_steps", folder, folder / "tokens", out, json.dumps(options)],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        lines = [[float(x) for x in line.split()] for line in done.stdout.splitlines()]
        gradients = {k: v.clone() for k, v in load_file(out / "gradients.safetensors").items()}
        again = type(model).from_pretrained(out, dtype=torch.float32)
        return lines, gradients, again


def gradients_of(model) -> dict:
    return {name: p.grad.double() for name, p in model.named_parameters()}


def errors(got: dict, exact: dict) -> dict:
    """By tensor: root of the mean square, and largest, over the root of the mean square."""
    result = {}
    for name, value in exact.items():
        size = value.square().mean().sqrt()
        off = (got[name].double() - value).abs()
        result[name] = (off.square().mean().sqrt() / size, off.max() / size)
    return result


def check_gradients(number: int, case: Case) -> None:
    torch.manual_seed(number)
    batches = draw_steps(case, 1)
    exact_model = case.make().double()
    exact_loss = backward(exact_model, batches[0])
    exact = gradients_of(exact_model)
    plain_model = case.make().to(TYPES[case.dtype])
    plain_loss = backward(plain_model, batches[0])
    plain = errors(gradients_of(plain_model), exact)

    lines, gradients, _ = run_coda(case, case.make(), batches, rate=0.0)
    assert set(gradients) == set(exact), set(gradients) ^ set(exact)
    found = errors(gradients, exact)
    rounding = 2.0**-24 * math.sqrt(case.widest)  # of a sum, relative to it
    for name, value in exact.items():
        sizes = 1, value.abs().max() / value.square().mean().sqrt()
        kinds = zip(("rms", "max"), found[name], plain[name], sizes, strict=True)
        for kind, got, allowed, size in kinds:
            assert got <= 2 * allowed + rounding * size, (
                f"{case}: gradient of {name}: {kind} error {got:.3g}, PyTorch's {allowed:.3g}"
            )
    off, allowed = abs(lines[0][0] - exact_loss), abs(plain_loss - exact_loss)
    # A sum of few numbers may be close to the exact one by chance: a rounding of every logit.
    unit = {"bf16": 2.0**-8, "fp32": 2.0**-20}[case.dtype]
    assert off <= 2 * allowed + unit, f"{case}: loss off by {off:.3g}, PyTorch's by {allowed:.3g}"
    # The gradients have been compared; their norm is a sum over them, rounded once or twice.
    norm = math.sqrt(sum(g.double().square().sum().item() for g in gradients.values()))
    assert abs(lines[0][1] - norm) <= 2.0**-22 * norm, f"{case}: norm {lines[0][1]}, not {norm}"
    print(f"{case}: loss {lines[0][0]:.6f}, exact {exact_loss:.6f}")


def torch_losses(case: Case, batches, dtype):
    """AdamW on fp32 (or fp64) weights; the model computes with them rounded to dtype."""
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    model = case.make().to(dtype)
    masters = [p.detach().to(wide, copy=True).requires_grad_() for p in model.parameters()]
    decays = [p.dim() > 1 for p in masters]
    groups = [
        {
            "params": [m for m, d in zip(masters, decays, strict=True) if d == decay],
            "weight_decay": DECAY * decay,
        }
        for decay in (True, False)
    ]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=BETAS, eps=EPSILON)
    losses = []
    for parts in batches:
        model.zero_grad()
        losses.append(backward(model, parts))
        for master, parameter in zip(masters, model.parameters(), strict=True):
            master.grad = parameter.grad.to(wide)
        torch.nn.utils.clip_grad_norm_(masters, MAX_NORM)
        optimizer.step()
        with torch.no_grad():
            for master, parameter in zip(masters, model.parameters(), strict=True):
                parameter.copy_(master)
    return losses


def check_steps(number: int, case: Case) -> None:
    what = f"{case}: {STEPS} steps"
    torch.manual_seed(number)
    one = draw_steps(case, 1)
    batches = one * STEPS  # the same batch, so that the loss falls far
    exact = torch_losses(case, batches, torch.float64)
    plain = torch_losses(case, batches, TYPES[case.dtype])
    lines, _, trained = run_coda(case, case.make(), batches, RATE)
    losses = [loss for loss, _ in lines]
    off = max(abs(a - b) for a, b in zip(losses, exact, strict=True))
    allowed = max(abs(a - b) for a, b in zip(plain, exact, strict=True))
    # AdamW's first step goes up or down by its rate however small a gradient is: what rounding
    # does to those near zero differs from seed to seed, in PyTorch's fp32 from 3e-7 to 6e-6.
    chance = 2.0**-17
    assert off <= 2 * allowed + chance, (
        f"{what}: losses off by {off:.3g}, PyTorch's by {allowed:.3g}"
    )
    assert exact[-1] < 0.6 * exact[0], f"{what}: {exact[0]:.3f} to {exact[-1]:.3f} is no training"

    # What was written is the model that trained: transformers gives its next loss.
    lines, _, _ = run_coda(case, trained, one, rate=0.0)
    loss = backward(trained.to(TYPES[case.dtype]), one[0])
    assert abs(lines[0][0] - loss) <= 2.0**-6 * loss, (
        f"{what}: then {lines[0][0]:.5f}, transformers says {loss:.5f}"
    )
    print(
        f"{what}: {losses[0]:.4f} to {losses[-1]:.4f}, off by {off:.2g}, PyTorch's by {allowed:.2g}"
    )


def check_threads(case: Case) -> None:
    batches = draw_steps(case, 3)
    runs = [run_coda(case, case.make(), batches, RATE, n) for n in (1, 2, 3)]
    for lines, gradients, _ in runs[1:]:
        assert lines == runs[0][0], "losses depend on the number of threads"
        for name, value in gradients.items():
            assert torch.equal(value, runs[0][1][name]), f"{name} depends on the number of threads"
