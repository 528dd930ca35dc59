"""Losses, gradients and training steps beside PyTorch's, from the same weights and tokens.

The yardstick is fp64: a tensor's gradient may be off by twice what PyTorch's is in the same
precision, and so may a training run's losses. PyTorch rounds after every operator there, as the
unfused computation does.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
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

SIZES = {
    "hidden_size": 96,
    "intermediate_size": 160,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "vocab_size": 211,
}
BATCH, SEQUENCE = 4, 37
BETAS, EPSILON, DECAY, MAX_NORM = (0.9, 0.95), 1e-8, 0.1, 1.0
TYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}

# Family and its fields; type, parts, what is recomputed, whether norms are folded.
GRADIENT_CASES = [
    ("Llama", {}, "bf16", 1, "activation", "kept"),
    ("Llama", {}, "bf16", 1, "activation", "folded"),
    ("Llama", {"tie_word_embeddings": True}, "bf16", 2, "nothing", "kept"),
    ("Llama", {"tie_word_embeddings": True}, "fp32", 2, "block", "folded"),
    ("Llama", {}, "bf16", 1, "block", "kept"),
    ("Mistral", {"sliding_window": None}, "fp32", 1, "nothing", "kept"),
    ("Qwen2", {}, "bf16", 1, "activation", "kept"),
    ("Qwen2", {}, "fp32", 2, "nothing", "folded"),
    ("Qwen3", {}, "bf16", 1, "activation", "folded"),
    ("Qwen3", {"tie_word_embeddings": True}, "fp32", 1, "block", "kept"),
]
STEP_CASES = [
    ("Llama", {"tie_word_embeddings": True}, "fp32", 1, "activation", "folded"),
    ("Llama", {}, "bf16", 2, "activation", "kept"),
    ("Qwen3", {}, "bf16", 1, "activation", "folded"),
]
STEPS, RATE = 30, 3e-3


def make_model(family: str, fields: dict, seed: int):
    """Weights that are numbers of bf16, none of them what it is by default."""
    torch.manual_seed(seed)
    config = getattr(transformers, family + "Config")(**SIZES, **fields)
    config._attn_implementation = "eager"
    model = getattr(transformers, family + "ForCausalLM")(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("norm.weight"):
                parameter.copy_(1 + 0.2 * torch.randn_like(parameter))
            elif name.endswith("bias"):
                parameter.copy_(0.1 * torch.randn_like(parameter))
            else:
                parameter.copy_(torch.randn_like(parameter) / math.sqrt(parameter.shape[1]))
            parameter.copy_(parameter.bfloat16().float())
    return model


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


def draw_steps(steps: int, parts: int):
    rows = BATCH // parts
    return [
        [
            tuple(torch.randint(0, SIZES["vocab_size"], (rows, SEQUENCE)) for _ in range(2))
            for _ in range(parts)
        ]
        for _ in range(steps)
    ]


def run_coda(model, batches, dtype: str, recompute: str, fold: str, rate: float, threads: int = 2):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        model.to(TYPES[dtype]).save_pretrained(folder)
        model.float()
        flat = [x.flatten() for parts in batches for part in parts for x in part]
        torch.cat(flat).numpy().tofile(folder / "tokens")
        options = {
            "batch": BATCH,
            "parts": len(batches[0]),
            "sequence": SEQUENCE,
            "dtype": dtype,
            "recompute": recompute,
            "fold": fold,
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


def check_gradients(number: int, family, fields, dtype, parts, recompute, fold) -> None:
    what = f"{family} {fields} {dtype} parts {parts} recompute {recompute} fold {fold}"
    model = make_model(family, fields, seed=number)
    batches = draw_steps(1, parts)
    exact_model = make_model(family, fields, seed=number).double()
    exact_loss = backward(exact_model, batches[0])
    exact = gradients_of(exact_model)
    plain_model = make_model(family, fields, seed=number).to(TYPES[dtype])
    plain_loss = backward(plain_model, batches[0])
    plain = errors(gradients_of(plain_model), exact)

    lines, gradients, _ = run_coda(model, batches, dtype, recompute, fold, rate=0.0)
    found = errors(gradients, exact)
    assert set(gradients) == set(exact), set(gradients) ^ set(exact)
    rounding = 2.0**-24 * math.sqrt(SIZES["intermediate_size"])
    for name in exact:
        for kind, got, allowed in zip(("rms", "max"), found[name], plain[name], strict=True):
            assert got <= 2 * allowed + rounding, (
                f"{what}: gradient of {name}: {kind} error {got:.3g}, PyTorch's {allowed:.3g}"
            )
    off, allowed = abs(lines[0][0] - exact_loss), abs(plain_loss - exact_loss)
    # A sum of few numbers may be close to the exact one by chance: a rounding of every logit.
    unit = {"bf16": 2.0**-8, "fp32": 2.0**-20}[dtype]
    assert off <= 2 * allowed + unit, f"{what}: loss off by {off:.3g}, PyTorch's by {allowed:.3g}"
    norm = math.sqrt(sum(g.square().sum().item() for g in exact.values()))
    plain_norm = math.sqrt(sum(g.square().sum().item() for g in gradients_of(plain_model).values()))
    off = abs(lines[0][1] - norm)
    assert off <= 2 * abs(plain_norm - norm) + norm * unit / 8, f"{what}: gradient norm {off}"
    print(f"{what}: loss {lines[0][0]:.6f}, exact {exact_loss:.6f}")


def torch_losses(family, fields, number: int, batches, dtype):
    """AdamW on fp32 (or fp64) weights; the model computes with them rounded to dtype."""
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    model = make_model(family, fields, seed=number).to(dtype)
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
    return losses, model


def check_steps(number: int, family, fields, dtype, parts, recompute, fold) -> None:
    what = f"{family} {fields} {dtype}: {STEPS} steps"
    torch.manual_seed(number)
    one = draw_steps(1, parts)
    batches = one * STEPS  # the same batch, so that the loss falls far
    exact, _ = torch_losses(family, fields, number, batches, torch.float64)
    plain, _ = torch_losses(family, fields, number, batches, TYPES[dtype])
    model = make_model(family, fields, seed=number)
    lines, _, trained = run_coda(model, batches, dtype, recompute, fold, RATE)
    losses = [loss for loss, _ in lines]
    off = max(abs(a - b) for a, b in zip(losses, exact, strict=True))
    allowed = max(abs(a - b) for a, b in zip(plain, exact, strict=True))
    assert off <= 2 * allowed, f"{what}: losses off by {off:.3g}, PyTorch's by {allowed:.3g}"
    assert exact[-1] < 0.6 * exact[0], f"{what}: {exact[0]:.3f} to {exact[-1]:.3f} is no training"

    # What was written is the model that trained: transformers gives its next loss.
    lines, _, _ = run_coda(trained, one, dtype, recompute, fold, rate=0.0)
    loss = backward(trained.to(TYPES[dtype]), one[0])
    assert abs(lines[0][0] - loss) <= 2.0**-6 * loss, (
        f"{what}: then {lines[0][0]:.5f}, transformers says {loss:.5f}"
    )
    print(
        f"{what}: {losses[0]:.4f} to {losses[-1]:.4f}, off by {off:.2g}, PyTorch's by {allowed:.2g}"
    )


def check_threads() -> None:
    model = make_model("Llama", {}, seed=99)
    batches = draw_steps(3, 1)
    runs = [run_coda(model, batches, "bf16", "activation", "kept", RATE, n) for n in (1, 2, 3)]
    for lines, gradients, _ in runs[1:]:
        assert lines == runs[0][0], "losses depend on the number of threads"
        for name, value in gradients.items():
            assert torch.equal(value, runs[0][1][name]), f"{name} depends on the number of threads"


def main() -> None:
    torch.set_num_threads(2)
    for number, case in enumerate(GRADIENT_CASES):
        check_gradients(number, *case)
    for number, case in enumerate(STEP_CASES):
        check_steps(100 + number, *case)
    check_threads()


if __name__ == "__main__":
    main()
