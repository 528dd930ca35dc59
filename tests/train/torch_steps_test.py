"""Losses, gradients and training steps of the Llama family beside PyTorch's."""

import math

from torch_steps import Case, check_gradients, check_steps, check_threads, torch, transformers

SIZES = {
    "hidden_size": 96,
    "intermediate_size": 160,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "vocab_size": 211,
}

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


def case_of(seed: int, family: str, fields: dict, *how) -> Case:
    def make():
        return make_model(family, fields, seed)

    return Case(f"{family} {fields}", make, SIZES["vocab_size"], SIZES["intermediate_size"], *how)


def main() -> None:
    for number, case in enumerate(GRADIENT_CASES):
        check_gradients(number, case_of(number, *case))
    for number, case in enumerate(STEP_CASES, 100):
        check_steps(number, case_of(number, *case))
    check_threads(case_of(99, "Llama", {}, "bf16", 1, "activation", "kept"))


if __name__ == "__main__":
    main()
