"""Checkpoints beside `transformers` and `safetensors`: each reads what the other wrote.

A tiny model of every family goes from `save_pretrained` through checkpoint_rewrite, which reads and
writes it, and back: same names, shapes and bytes, configuration, frequencies and logits.
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
    from safetensors.torch import load_file, save_file
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

if int(transformers.__version__.split(".")[0]) < 5:
    print(f"skipped: transformers {transformers.__version__} calls some fields otherwise")
    sys.exit(77)

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = Path(os.environ.get("CODA_TEST_PROGRAMS", ROOT / "build/tests"))
REWRITE = PROGRAMS / "checkpoint_rewrite"

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

SIZES = {
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 131,
}
GPT2_SIZES = {"n_embd": 48, "n_layer": 2, "n_head": 4, "n_positions": 64, "vocab_size": 131}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
LINEAR = {"rope_type": "linear", "factor": 2.5}

# Family, fields beside the sizes, type of the weights, shards.
CASES = [
    ("Llama", {}, torch.float32, False),
    ("Llama", {"rope_parameters": {**LLAMA3, "rope_theta": 5e5}}, torch.bfloat16, True),
    ("Llama", {"rope_scaling": LLAMA3, "rope_theta": 5e5, "head_dim": 32}, torch.float16, False),
    ("Llama", {"attention_bias": True, "tie_word_embeddings": True}, torch.bfloat16, False),
    ("Llama", {"rope_parameters": {**LINEAR, "rope_theta": 1e4}}, torch.bfloat16, False),
    ("Mistral", {"sliding_window": None}, torch.bfloat16, False),
    (
        "Mistral",
        {"sliding_window": None, "head_dim": 16, "rms_norm_eps": 1e-5},
        torch.float32,
        True,
    ),
    ("Mistral", {"sliding_window": 96, "max_position_embeddings": 64}, torch.bfloat16, False),
    ("Llama", {"pad_token_id": 3, "initializer_range": 0.05}, torch.bfloat16, False),
    ("Qwen2", {"rope_theta": 1e6}, torch.bfloat16, True),
    ("Qwen2", {"tie_word_embeddings": True, "rope_scaling": LINEAR}, torch.float32, False),
    ("Qwen3", {"head_dim": 32, "eos_token_id": [3, 4]}, torch.bfloat16, False),
    ("Qwen3", {"attention_bias": True, "tie_word_embeddings": True}, torch.bfloat16, True),
    ("GPT2", {"bos_token_id": 130, "eos_token_id": 130}, torch.float32, False),
    (
        "GPT2",
        {"n_inner": 72, "activation_function": "relu", "attn_pdrop": 0.25, "eos_token_id": [3, 4]},
        torch.bfloat16,
        True,
    ),
    ("GPT2", {"tie_word_embeddings": False, "layer_norm_epsilon": 1e-3}, torch.float16, False),
]
TYPES = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}

# What the two configurations must agree on.
FIELDS = [
    *SIZES,
    "model_type",
    "architectures",
    "head_dim",
    "hidden_act",
    "max_position_embeddings",
    "rms_norm_eps",
    "rope_parameters",
    "tie_word_embeddings",
    "attention_bias",
    "attention_dropout",
    "mlp_bias",
    "sliding_window",
    "use_sliding_window",
    "layer_types",
    "bos_token_id",
    "eos_token_id",
    "pad_token_id",
    "initializer_range",
    "dtype",
    "n_inner",
    "activation_function",
    "layer_norm_epsilon",
    "embd_pdrop",
    "resid_pdrop",
    "attn_pdrop",
    "scale_attn_weights",
    "scale_attn_by_inverse_layer_idx",
    "reorder_and_upcast_attn",
    "add_cross_attention",
]


def make_model(family: str, fields: dict, dtype: torch.dtype) -> torch.nn.Module:
    torch.manual_seed(7)
    sizes = GPT2_SIZES if family == "GPT2" else SIZES
    config = getattr(transformers, f"{family}Config")(**sizes, **json.loads(json.dumps(fields)))
    kind = "GPT2LMHeadModel" if family == "GPT2" else f"{family}ForCausalLM"
    model = getattr(transformers, kind)(config)
    for parameter in model.parameters():  # norms and biases too, which start as ones and zeros
        # Not model.to(dtype), which would round the frequencies.
        parameter.data = torch.empty_like(parameter).normal_(0, 0.2).to(dtype)
    return model.eval()


def rewrite(source: Path, target: Path) -> dict:
    command = [REWRITE, source, target]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def raw(tensor: torch.Tensor) -> bytes:
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def load_shards(folder: Path) -> dict[str, torch.Tensor]:
    tensors = {}
    for path in sorted(folder.glob("*.safetensors")):
        tensors.update(load_file(path))
    return tensors


def exact_frequencies(rope: dict, head_dim: int) -> list[float]:
    """In fp64, from the wavelengths."""
    frequencies = []
    for i in range(head_dim // 2):
        value = math.exp(-2 * i / head_dim * math.log(rope["rope_theta"]))
        wave = 2 * math.pi / value
        if rope["rope_type"] == "linear":
            value /= rope["factor"]
        if rope["rope_type"] == "llama3":
            low, high = rope["low_freq_factor"], rope["high_freq_factor"]
            smooth = (rope["original_max_position_embeddings"] / wave - low) / (high - low)
            smooth = min(max(smooth, 0), 1)
            value = (1 - smooth) * value / rope["factor"] + smooth * value
        frequencies.append(value)
    return frequencies


def check_frequencies(found: list[float], model: torch.nn.Module) -> None:
    rotary = model.model.rotary_emb
    rope = model.config.rope_parameters
    assert rotary.attention_scaling == 1.0
    theirs = rotary.inv_freq.tolist()
    assert len(found) == len(theirs)
    exact = exact_frequencies(rope, 2 * len(found))
    # Theirs are computed in fp32: every step rounds, and the exponent's rounding is multiplied by
    # log(theta). Of a llama3 mixture, (1 - s) f / factor + s f, that error goes into s as well, and
    # where s is small the sum is smaller than s's error by the factor.
    bound = (math.log(rope["rope_theta"]) + 8) * 2**-24
    if rope["rope_type"] == "llama3":
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        bound *= 1 + rope["factor"] * high / (high - low)
    for ours, other, true in zip(found, theirs, exact, strict=True):
        assert abs(ours - true) <= 2**-24 * true * 1.001, (ours, true)
        assert abs(ours - other) <= bound * true, (ours, other)


def check_config(source: Path, target: Path) -> None:
    given = transformers.AutoConfig.from_pretrained(source)
    written = transformers.AutoConfig.from_pretrained(target)
    for field in FIELDS:
        expected, got = getattr(given, field, None), getattr(written, field, None)
        if field == "head_dim" and expected is None and given.model_type != "gpt2":  # implied
            expected = SIZES["hidden_size"] // SIZES["num_attention_heads"]
        assert got == expected, f"{field}: {got}, expected {expected}"


def check_case(folder: Path, family: str, fields: dict, dtype: torch.dtype, shards: bool) -> None:
    model = make_model(family, fields, dtype)
    source, target = folder / "source", folder / "target"
    model.save_pretrained(source, max_shard_size="20KB" if shards else "1GB")
    assert (len(list(source.glob("*.safetensors"))) > 1) == shards
    found = rewrite(source, target)

    expected = load_shards(source)
    assert set(found["tensors"]) == set(expected)
    for name, tensor in expected.items():
        assert found["tensors"][name]["shape"] == list(tensor.shape), name
        assert found["tensors"][name]["dtype"] == TYPES[tensor.dtype], name
    written = load_file(target / "model.safetensors")
    assert {name: raw(tensor) for name, tensor in written.items()} == {
        name: raw(tensor) for name, tensor in expected.items()
    }
    save_file(expected, folder / "theirs.safetensors", metadata={"format": "pt"})
    theirs = (folder / "theirs.safetensors").read_bytes()
    assert (target / "model.safetensors").read_bytes() == theirs, "not the bytes of safetensors"

    if family != "GPT2":
        check_frequencies(found["inverse_frequencies"], model)
    check_config(source, target)
    tokens = torch.arange(90).reshape(2, 45) % SIZES["vocab_size"]
    loaded = transformers.AutoModelForCausalLM.from_pretrained(target, dtype=dtype).eval()
    with torch.no_grad():
        assert torch.equal(loaded(tokens).logits, model(tokens).logits)


def main() -> int:
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            check_case(Path(folder), *case)
        print("good:", *case)
    return 0


if __name__ == "__main__":
    sys.exit(main())
