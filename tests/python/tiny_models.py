"""Small random models of every family that coda.patch covers, and their exact results."""

import copy

import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn

CONFIGS = {
    "llama": transformers.LlamaConfig,
    "mistral": transformers.MistralConfig,
    "qwen2": transformers.Qwen2Config,
    "qwen3": transformers.Qwen3Config,
    "gpt2": transformers.GPT2Config,
}
SIZES = {
    "vocab_size": 211,
    "hidden_size": 96,
    "intermediate_size": 160,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
# Dropout, which GPT-2's config asks for, runs stock.
GPT2 = {"n_inner": 160, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}


def tiny(
    family: str,
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
    device: str = "cpu",
    **options,
) -> nn.Module:
    """A model in training mode. Norms' weights and biases are not what they are initialised to."""
    torch.manual_seed(seed)
    head_dim = 64 if device == "cuda" else 32  # GPU kernels begin at 64
    own = GPT2 if family == "gpt2" else {"head_dim": head_dim}
    config = CONFIGS[family](**{**SIZES, **own, **options})
    model = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(0, 0.3)
            elif "norm" in name or ".ln_" in name:
                parameter.normal_(1, 0.2)
            else:
                parameter.mul_(3)  # so that a layer changes what it gets
    return model.to(device, dtype).train()


def fused_layers(family: str, names: list[str]) -> float:
    """How many layers ran as coda programs, by the operators that ran."""
    return names.count("linear_activation") / 2 if family == "gpt2" else names.count("linear_rope")


def batch(
    sequences: int = 2, tokens: int = 65, padded: int = 0, seed: int = 1, device: str = "cpu"
) -> dict[str, Tensor]:
    """Tokens with labels; the first `padded` tokens of the first sequence are padding."""
    draw = torch.Generator().manual_seed(seed)
    ids = torch.randint(3, SIZES["vocab_size"], (sequences, tokens), generator=draw)
    mask = torch.ones_like(ids)
    mask[0, :padded] = 0
    labels = ids.masked_fill(mask == 0, -100)
    inputs = {"input_ids": ids, "attention_mask": mask, "labels": labels}
    return {name: tensor.to(device) for name, tensor in inputs.items()}


def gradients(model: nn.Module, loss: Tensor) -> dict[str, Tensor]:
    """The loss and the gradients of all parameters, by name."""
    model.zero_grad()
    loss.backward()
    named = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    return {"loss": loss.detach(), **named}


def trained(model: nn.Module, inputs: dict[str, Tensor], **options) -> dict[str, Tensor]:
    return gradients(model, model(**inputs, **options).loss)


def exact(model: nn.Module, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """In fp64; transformers' own norms and loss would go through fp32."""
    model = copy.deepcopy(model).double()
    model.config._attn_implementation = "sdpa"  # eager takes its softmax in fp32
    for parent in list(model.modules()):
        for name, child in parent.named_children():
            if type(child).__name__.endswith("RMSNorm"):
                norm = nn.RMSNorm(child.weight.shape[0], eps=child.variance_epsilon)
                norm.weight = child.weight
                setattr(parent, name, norm)
    inputs = dict(inputs)
    labels = inputs.pop("labels")
    logits = model(**inputs).logits[:, :-1]
    return gradients(model, F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten()))
