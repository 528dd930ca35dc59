"""Trains a causal language model with coda's programs, sharded by FSDP2.

    torchrun --nproc-per-node 8 examples/train_fsdp.py --model DIR --data text.txt --out runs/mine

DIR holds a transformers model (Llama, Mistral, Qwen2, Qwen3, GPT-2 without dropout) with its
tokenizer; `--model tiny` is a small random Llama on bytes, for which two processes on a CPU are
enough. Parameters are bf16 where they are computed with, fp32 in the optimizer; gradients are added
up in fp32. Run again with the same --out, on any number of processes, it goes on from the last
checkpoint; at the end --export writes a folder like DIR, which stock transformers reads. Over
several machines give torchrun --nnodes and --rdzv-endpoint, and put --out on a file system that all
of them see.
"""

import argparse
import math
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, LlamaConfig

import coda

TINY = dict(vocab_size=256, hidden_size=128, intermediate_size=256, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True)  # fmt: skip


def whole(least: int) -> Callable[[str], int]:
    """A whole number of an option."""

    def parse(text: str) -> int:
        if not text.removeprefix("-").isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(
                f"expected a whole number of at least {least}, got {text!r}"
            )
        return int(text)

    return parse


def real(text: str, zero: bool = False) -> float:
    """A number above 0 of an option; zero: or 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and (value > 0 or (zero and value == 0))):
        kind = "of 0 or more" if zero else "above 0"
        raise argparse.ArgumentTypeError(f"expected a number {kind}, got {text!r}")
    return value


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Training with coda and FSDP2")
    add = parser.add_argument
    add("--model", required=True, help="a folder of transformers, or `tiny`")
    add("--data", type=Path, required=True, help="a text file")
    add("--out", type=Path, required=True, help="where checkpoints go, and come from")
    add("--export", type=Path, metavar="DIR", help="where the trained model goes in the end")
    add("--steps", type=whole(1), default=1000)
    add("--tokens", type=whole(2), default=1024, help="of a sequence")
    add("--batch", type=whole(1), default=1, help="sequences of a process at a time")
    add("--accumulate", type=whole(1), default=1, help="batches of a process in a step")
    add("--lr", type=real, default=3e-4)
    add("--warmup", type=whole(0), default=20, help="steps until the learning rate is reached")
    add("--weight-decay", type=lambda text: real(text, zero=True), default=0.1)
    add("--clip", type=real, default=1.0, help="largest norm of the gradients")
    add("--checkpoint-every", type=whole(1), default=200, metavar="STEPS")
    add("--keep", type=whole(1), default=2, help="checkpoints that are left in --out")
    add("--recompute", choices=("nothing", "activation", "block"), default="activation")
    add("--seed", type=whole(0), default=0)
    arguments = parser.parse_args()
    if arguments.model != "tiny" and not Path(arguments.model, "config.json").is_file():
        parser.error(f"--model: expected `tiny` or a folder with config.json: {arguments.model}")
    if not arguments.data.is_file():
        parser.error(f"--data: expected a file: {arguments.data}")
    export = arguments.export
    if export and export.exists() and not (export / "config.json").is_file():
        parser.error(f"--export: expected no folder, or one with an earlier model: {export}")
    if export and arguments.out.resolve().is_relative_to(export.resolve()):
        parser.error(f"--export: expected a folder without --out, as it is replaced: {export}")
    return arguments


def start() -> torch.device:
    """The process group, and this process's device."""
    if not torch.cuda.is_available():
        dist.init_process_group("gloo")
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    return device


def read_tokens(arguments: argparse.Namespace) -> Tensor:
    """[n]: bytes for the tiny model, else what the model's tokenizer makes of the text."""
    if arguments.model == "tiny":
        return torch.frombuffer(bytearray(arguments.data.read_bytes()), dtype=torch.uint8).long()
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    text = arguments.data.read_text(encoding="utf-8")
    return torch.tensor(tokenizer(text, add_special_tokens=False)["input_ids"])


def load_model(arguments: argparse.Namespace, device: torch.device) -> nn.Module:
    """Rank 0 reads it; each process gets its share of every parameter, in fp32."""
    tiny = arguments.model == "tiny"
    config = LlamaConfig(**TINY) if tiny else AutoConfig.from_pretrained(arguments.model)
    if arguments.tokens > getattr(config, "n_positions", arguments.tokens):  # GPT-2's table
        raise SystemExit(f"--tokens: expected at most {config.n_positions} for this model")
    if dist.get_rank() == 0:
        torch.manual_seed(arguments.seed)
        if tiny:
            model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        else:
            model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32)
    else:
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    state = model.state_dict() if dist.get_rank() == 0 else {}
    buffers = [buffer.clone() for buffer in model.buffers()]
    coda.patch(model, recompute=arguments.recompute)
    shard(model, device)
    model.to_empty(device=device)
    model.tie_weights()
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(model, state, options=options)
    for buffer, value in zip(model.buffers(), buffers):  # rotary frequencies: in no state_dict
        if dist.get_rank() == 0:
            buffer.copy_(value)
        dist.broadcast(buffer, 0)
    return model.train()


def shard(model: Any, device: torch.device) -> None:
    """A group of parameters per layer; embedding, final norm and head make up the root's."""
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    (layers,) = (one for one in model.base_model.children() if isinstance(one, nn.ModuleList))
    for layer in layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)


def make_optimizer(model: nn.Module, arguments: argparse.Namespace) -> torch.optim.AdamW:
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() <= 1]
    groups = [
        {"params": matrices, "weight_decay": arguments.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=arguments.lr, betas=(0.9, 0.95))


def learning_rate(step: int, arguments: argparse.Namespace) -> float:
    """Up in a line, then down by a cosine to a tenth. step: from 0."""
    if step < arguments.warmup:
        return arguments.lr * (step + 1) / arguments.warmup
    done = (step - arguments.warmup) / max(1, arguments.steps - arguments.warmup)
    return arguments.lr * (0.55 + 0.45 * math.cos(math.pi * done))


def draw_batches(tokens: Tensor, step: int, arguments: argparse.Namespace) -> Tensor:
    """[accumulate, batch, tokens] of this process: a step's batches follow from its number."""
    shape = (arguments.accumulate, dist.get_world_size(), arguments.batch)
    generator = torch.Generator().manual_seed(arguments.seed * 1_000_003 + step)
    begins = torch.randint(len(tokens) - arguments.tokens + 1, shape, generator=generator)
    begins = begins[:, dist.get_rank(), :, None]
    return tokens[begins + torch.arange(arguments.tokens)]


def train_step(model: Any, optimizer: torch.optim.Optimizer, batches: Tensor, clip: float) -> tuple:
    """The mean loss over all processes, and the norm of the whole gradient."""
    total = torch.zeros((), device=batches.device)
    for i, batch in enumerate(batches):
        model.set_requires_gradient_sync(i == len(batches) - 1)
        loss = model(input_ids=batch, labels=batch).loss / len(batches)
        loss.backward()
        total += loss.detach()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    optimizer.zero_grad()
    dist.all_reduce(total)
    return total / dist.get_world_size(), norm.full_tensor() if isinstance(norm, DTensor) else norm


def checkpoints(folder: Path) -> list[Path]:
    """Whole ones, the oldest first: the metadata is written last."""
    return sorted(path.parent for path in folder.glob("step_*/.metadata"))


def save(model: nn.Module, optimizer: Any, step: int, arguments: argparse.Namespace) -> None:
    weights, moments = get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": moments, "step": step}
    dcp.save(state, checkpoint_id=arguments.out / f"step_{step:08}")
    if dist.get_rank() == 0:
        for old in checkpoints(arguments.out)[: -arguments.keep]:
            shutil.rmtree(old)
    dist.barrier()


def resume(model: nn.Module, optimizer: Any, arguments: argparse.Namespace) -> int:
    """Steps that the last checkpoint has behind it; 0 where there is none."""
    found = checkpoints(arguments.out)
    if not found:
        return 0
    weights, moments = get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": moments, "step": 0}
    dcp.load(state, checkpoint_id=found[-1])
    set_state_dict(
        model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
    )
    return state["step"]


def export(model: Any, arguments: argparse.Namespace) -> None:
    """The weights, in fp32, as transformers reads them: the folder is there as a whole or not."""
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    state = get_model_state_dict(model, options=options)  # on rank 0
    if dist.get_rank() == 0:
        with torch.device("meta"):
            stock = AutoModelForCausalLM.from_config(model.config, dtype=torch.float32)
        stock.load_state_dict(state, assign=True)
        stock.tie_weights()
        target = arguments.export
        part, old = (target.with_name(f".{target.name}.{kind}") for kind in ("part", "old"))
        for left in (part, old):  # by a run that was stopped here
            shutil.rmtree(left, ignore_errors=True)
        stock.save_pretrained(part)
        if arguments.model != "tiny":
            AutoTokenizer.from_pretrained(arguments.model).save_pretrained(part)
            settings = Path(arguments.model, "generation_config.json")
            if settings.is_file():
                shutil.copy(settings, part)
        if target.exists():
            target.rename(old)
        part.rename(target)
        shutil.rmtree(old, ignore_errors=True)
        print(f"the model is in {target}", flush=True)
    dist.barrier()


def main() -> None:
    arguments = parse_arguments()
    device = start()
    tokens = read_tokens(arguments)
    if len(tokens) < arguments.tokens:
        raise SystemExit(
            f"--data: expected at least {arguments.tokens} tokens (--tokens), got {len(tokens)}"
        )
    model = load_model(arguments, device)
    optimizer = make_optimizer(model, arguments)
    first = resume(model, optimizer, arguments)
    if dist.get_rank() == 0 and first:
        print(f"goes on after step {first}", flush=True)
    begin = time.perf_counter()
    for step in range(first, arguments.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, arguments)
        batches = draw_batches(tokens, step, arguments).to(device)
        loss, norm = train_step(model, optimizer, batches, arguments.clip)
        if dist.get_rank() == 0:
            text = f"step {step + 1}: loss {loss:.4f}, norm {norm:.3f}"  # waits for the step
            now = time.perf_counter()
            speed = batches.numel() * dist.get_world_size() / (now - begin)
            begin = now
            print(f"{text}, {speed:.0f} tokens/s", flush=True)
        if (step + 1) % arguments.checkpoint_every == 0 or step + 1 == arguments.steps:
            save(model, optimizer, step + 1, arguments)
    if arguments.export:
        export(model, arguments)
    dist.destroy_process_group()
    if device.type == "cpu":
        # FSDP2 holds on to the group, and with it gloo's threads. One that lets go of its last
        # tensor while the interpreter ends would abort the process.
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
