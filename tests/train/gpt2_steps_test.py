"""Losses, gradients and training steps of GPT-2 beside PyTorch's, and its checkpoints' names."""

import math
from pathlib import Path

from torch_steps import (
    Case,
    check_gradients,
    check_steps,
    check_threads,
    draw_steps,
    load_file,
    run_coda,
    torch,
    transformers,
)

SIZES = {"n_embd": 96, "n_layer": 3, "n_head": 6, "n_positions": 40}
FEW, STOCK = 211, 50257  # tokens: rows of logits begin at no multiple of 16 bytes
NO_DROPOUT = {"embd_pdrop": 0.0, "resid_pdrop": 0.0, "attn_pdrop": 0.0}

# Fields beside the sizes; type, parts, what is recomputed.
GRADIENT_CASES = [
    ({}, "bf16", 1, "activation"),
    ({"n_inner": 200, "activation_function": "gelu"}, "bf16", 2, "nothing"),
    ({"tie_word_embeddings": False, "layer_norm_epsilon": 1e-2}, "bf16", 1, "block"),
    ({"vocab_size": STOCK, "n_layer": 1}, "bf16", 1, "activation"),
    ({}, "fp32", 2, "block"),
    ({"tie_word_embeddings": False, "n_inner": 90}, "fp32", 1, "nothing"),
    ({"activation_function": "relu"}, "fp32", 1, "activation"),
    ({"activation_function": "silu"}, "bf16", 1, "activation"),
]
STEP_CASES = [
    ({}, "fp32", 1, "activation"),
    ({}, "bf16", 2, "activation"),
]


def make_model(fields: dict, seed: int):
    """Weights that are numbers of bf16, none of them what it is by default; a stream whose mean
    is not zero."""
    torch.manual_seed(seed)
    config = transformers.GPT2Config(**{**SIZES, "vocab_size": FEW, **NO_DROPOUT, **fields})
    config._attn_implementation = "eager"
    model = transformers.GPT2LMHeadModel(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("ln_1.weight", "ln_2.weight", "ln_f.weight")):
                parameter.copy_(1 + 0.2 * torch.randn_like(parameter))
            elif name.endswith("bias"):
                parameter.copy_(0.1 * torch.randn_like(parameter))
            elif name.endswith("wpe.weight"):
                parameter.copy_(0.3 + 0.3 * torch.randn_like(parameter))
            else:  # [in, out], but tables are [tokens, h]
                fan = parameter.shape[1 if name.endswith(("wte.weight", "head.weight")) else 0]
                parameter.copy_(torch.randn_like(parameter) / math.sqrt(fan))
            parameter.copy_(parameter.bfloat16().float())
    return model


def case_of(seed: int, fields: dict, *how) -> Case:
    vocab_size = fields.get("vocab_size", FEW)
    widest = 4 * SIZES["n_embd"]
    return Case(f"GPT-2 {fields}", lambda: make_model(fields, seed), vocab_size, widest, *how)


def without_prefix(folder: Path) -> None:
    """Names and masks as the oldest stock checkpoints have them."""
    from safetensors.torch import save_file

    file = folder / "model.safetensors"
    tensors = {k.removeprefix("transformer."): v.clone() for k, v in load_file(file).items()}
    masks = torch.ones(1, 1, 40, 40, dtype=torch.bool).tril()
    tensors |= {f"h.{i}.attn.bias": masks.clone() for i in range(SIZES["n_layer"])}
    save_file(tensors, file, metadata={"format": "pt"})


def check_names() -> None:
    case = case_of(98, {}, "bf16", 1, "activation")
    batches = draw_steps(case, 1)
    lines, gradients, _ = run_coda(case, case.make(), batches, 0.0)
    other, others, _ = run_coda(case, case.make(), batches, 0.0, change=without_prefix)
    assert lines == other, "another loss without a prefix"
    assert all(torch.equal(gradients[name], others[name]) for name in gradients)


def main() -> None:
    for number, case in enumerate(GRADIENT_CASES):
        check_gradients(number, case_of(number, *case))
    for number, case in enumerate(STEP_CASES, 100):
        check_steps(number, case_of(number, *case))
    check_threads(case_of(99, {}, "bf16", 1, "activation"))
    check_names()


if __name__ == "__main__":
    main()
