"""transformers' LlamaForCausalLM in the forms that bench/patched_llama.py compares: as it is, with
Liger's kernels, and patched by coda; each also under torch.compile. All share the parameters.
"""

import copy
from collections.abc import Callable

import torch
from torch_model import EPSILON, THETA, Config
from transformers import AttentionInterface, LlamaConfig, LlamaForCausalLM
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.models.llama import modeling_llama

# Under torch.compile transformers gives "sdpa" a mask of T x T numbers, which keeps fast kernels
# from running. An attention of another name gets none, and is causal by itself.
ATTENTION = "causal_sdpa"
AttentionInterface.register(ATTENTION, sdpa_attention_forward)
REPLACED_BY_LIGER = ("apply_rotary_pos_emb", "LlamaRMSNorm", "LlamaMLP")
STOCK = {name: getattr(modeling_llama, name) for name in REPLACED_BY_LIGER}


def make_model(config: Config, device: str, dtype: torch.dtype) -> LlamaForCausalLM:
    settings = LlamaConfig(
        vocab_size=config.vocab,
        hidden_size=config.hidden,
        intermediate_size=config.ffn,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        num_key_value_heads=config.kv_heads,
        rms_norm_eps=EPSILON,
        rope_parameters={"rope_type": "default", "rope_theta": THETA},
        tie_word_embeddings=True,
        use_cache=False,
        attn_implementation=ATTENTION,
        dtype=dtype,
    )
    with torch.device(device):
        model = LlamaForCausalLM(settings)
    return model.to(dtype).train()


def sharing_copy(model: LlamaForCausalLM) -> LlamaForCausalLM:
    """Modules of its own, the same parameters."""
    return copy.deepcopy(model, {id(p): p for p in model.parameters()})


def liger_patched(model: LlamaForCausalLM) -> tuple[LlamaForCausalLM, dict]:
    """The model, and what Liger has replaced in transformers' module for all models."""
    from liger_kernel.transformers import apply_liger_kernel_to_llama

    patched = sharing_copy(model)
    apply_liger_kernel_to_llama(model=patched)
    replaced = {name: getattr(modeling_llama, name) for name in REPLACED_BY_LIGER}
    set_functions(STOCK)
    return patched, replaced


def set_functions(functions: dict) -> None:
    for name, value in functions.items():
        setattr(modeling_llama, name, value)


def contender(name: str, model: LlamaForCausalLM) -> Callable[[torch.Tensor], torch.Tensor]:
    """The mean loss of tokens [B, T], each predicting the next."""
    functions = STOCK
    set_functions(STOCK)  # coda.patch looks at them
    if name.startswith("Liger"):
        model, functions = liger_patched(model)
    elif name.startswith("coda"):
        import coda

        model = sharing_copy(model)
        coda.patch(model, recompute="nothing" if "nothing again" in name else "activation")
    run = torch.compile(model, dynamic=False) if "compile" in name else model

    def loss(tokens: torch.Tensor) -> torch.Tensor:
        set_functions(functions)
        return run(input_ids=tokens, labels=tokens).loss

    return loss
