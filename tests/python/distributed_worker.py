"""One process of tests/python/distributed_test.py: trains a small model in every way it asks for.

    python distributed_worker.py DEVICE RANK PROCESSES FOLDER

DEVICE is cpu (gloo) or cuda (nccl, a GPU per process). Rank 0 leaves FOLDER/results.pt.
"""

import contextlib
import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    fully_shard,
)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

import coda

STEPS, BATCH, TOKENS, CLIP = 3, 8, 24, 0.5
SGD = dict(lr=0.3, momentum=0.9)
# Heads and the number of tokens of a micro-batch are the smallest that run fused on a GPU.
SIZES = dict(hidden_size=128, intermediate_size=112, num_hidden_layers=2, num_attention_heads=2,
             num_key_value_heads=1, vocab_size=200, max_position_embeddings=64)  # fmt: skip


@dataclass(frozen=True)
class Way:
    """How a model is spread over the processes."""

    # "ddp", "fsdp" or "hsdp": shards in a row of processes, copies in a column; "fsdp1": the older
    # FSDP, or "fsdp1, flat", whose parameters the optimizer sees as one of each group.
    wrapper: str
    bf16: bool = False  # in the layers, on a GPU always; weights and sums of gradients stay fp32
    micro_batches: int = 1  # whose gradients are added up before processes exchange them
    patch_last: bool = False  # after sharding
    checkpointed: bool = False  # layers run again in backward, between FSDP's hooks


WAYS = {
    "ddp": Way("ddp"),
    "ddp, accumulated": Way("ddp", micro_batches=2),
    "ddp, bf16": Way("ddp", bf16=True),
    "fsdp": Way("fsdp"),
    "fsdp, patched last": Way("fsdp", patch_last=True),
    "fsdp, accumulated": Way("fsdp", micro_batches=2),
    "fsdp, bf16": Way("fsdp", bf16=True),
    "hsdp, bf16, accumulated": Way("hsdp", bf16=True, micro_batches=2),
    "fsdp1": Way("fsdp1", checkpointed=True),
    "fsdp1, flat, patched last": Way("fsdp1, flat", patch_last=True, checkpointed=True),
}


def device() -> torch.device:
    return torch.device("cuda" if dist.get_backend() == "nccl" else "cpu")


def in_bf16(way: Way) -> bool:
    return way.bf16 or device().type == "cuda"


def make_model(seed: int = 0) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(**SIZES, tie_word_embeddings=True))


def global_batches() -> Tensor:
    """[STEPS, BATCH, TOKENS], the same in every process."""
    generator = torch.Generator().manual_seed(11)
    return torch.randint(SIZES["vocab_size"], (STEPS, BATCH, TOKENS), generator=generator)


def spread(model: LlamaForCausalLM, way: Way, fused: bool) -> nn.Module:
    if way.checkpointed:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    if fused and not way.patch_last:
        coda.patch(model, strict=True)
    wrapped: nn.Module = model
    if way.wrapper == "ddp":
        wrapped = DistributedDataParallel(model)
    elif way.wrapper.startswith("fsdp1"):
        wrapped = spread_by_fsdp1(model, way)
    else:
        policy = MixedPrecisionPolicy()
        if in_bf16(way):
            policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        processes = dist.get_world_size()
        shape, names = ((processes,), ("shard",))
        if way.wrapper == "hsdp":
            copies = min(2, processes)
            shape, names = (copies, processes // copies), ("replicate", "shard")
        mesh = init_device_mesh(device().type, shape, mesh_dim_names=names)
        for layer in model.model.layers:
            fully_shard(layer, mesh=mesh, mp_policy=policy)
        fully_shard(model, mesh=mesh, mp_policy=policy)  # tied embedding and head, final norm
    if fused and way.patch_last:
        coda.patch(wrapped, strict=True)
    return wrapped


def spread_by_fsdp1(model: LlamaForCausalLM, way: Way) -> nn.Module:
    policy = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    return FullyShardedDataParallel(
        model,
        auto_wrap_policy=ModuleWrapPolicy({LlamaDecoderLayer}),
        mixed_precision=policy if in_bf16(way) else None,
        use_orig_params=way.wrapper == "fsdp1",
        device_id=device(),
    )


@contextlib.contextmanager
def exchange(model: nn.Module, wanted: bool):
    """Whether backward adds gradients up over processes."""
    if isinstance(model, DistributedDataParallel):
        with contextlib.nullcontext() if wanted else model.no_sync():
            yield
    elif isinstance(model, FullyShardedDataParallel):
        yield
    else:
        model.set_requires_gradient_sync(wanted)
        yield


def step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: Tensor, way: Way) -> tuple:
    """One step on this process's share of a batch; gives the loss and the gradients' norm."""
    losses = []
    share = batch.chunk(dist.get_world_size())[dist.get_rank()].to(device())
    cast = way.wrapper == "ddp" and in_bf16(way)  # which FSDP2 does by its policy
    for i, tokens in enumerate(share.chunk(way.micro_batches)):
        with exchange(model, wanted=i == way.micro_batches - 1):
            with torch.autocast(device().type, torch.bfloat16, enabled=cast):
                loss = model(input_ids=tokens, labels=tokens).loss / way.micro_batches
            loss.backward()
        losses.append(loss.detach())
    loss = torch.stack(losses).sum()
    dist.all_reduce(loss)
    own = isinstance(model, FullyShardedDataParallel)  # it alone knows of the other shards
    clip = model.clip_grad_norm_ if own else partial(nn.utils.clip_grad_norm_, model.parameters())
    norm = clip(CLIP)
    optimizer.step()
    optimizer.zero_grad()
    return full(loss / dist.get_world_size()), full(norm)


def full(tensor: Tensor) -> Tensor:
    """On the CPU."""
    whole = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
    return whole.detach().clone().cpu()


def weights(model: nn.Module) -> dict[str, Tensor]:
    whole: Any = contextlib.nullcontext()
    if isinstance(model, FullyShardedDataParallel):
        whole = FullyShardedDataParallel.summon_full_params(model, writeback=False)
    with whole:
        named = {name: full(value) for name, value in model.named_parameters()}
    for wrapper in ("module.", "_fsdp_wrapped_module."):
        named = {name.replace(wrapper, ""): value for name, value in named.items()}
    return named


def train(way: Way, fused: bool) -> tuple[nn.Module, torch.optim.Optimizer, dict[str, Any]]:
    model = spread(make_model().to(device()), way, fused)
    optimizer = torch.optim.SGD(model.parameters(), **SGD)
    model.train()
    made = [step(model, optimizer, batch, way) for batch in global_batches()]
    losses, norms = (torch.stack(values) for values in zip(*made))
    return model, optimizer, dict(losses=losses, norms=norms, **weights(model))


class CodaCalls(TorchDispatchMode):
    """Operators of coda that run, and what is not a plain tensor among their arguments."""

    def __init__(self):
        super().__init__()
        self.names: set[str] = set()
        self.unusual: set[str] = set()

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        if function.namespace == "coda":
            self.names.add(function._opname)
            for leaf in tree_leaves((arguments, options)):
                if isinstance(leaf, Tensor) and type(leaf) not in (Tensor, nn.Parameter):
                    self.unusual.add(type(leaf).__name__)
        return function(*arguments, **(options or {}))


def save_and_load(folder: Path) -> dict[str, Any]:
    """A checkpoint is written, read into another model, and both take the same step."""
    way = WAYS["fsdp"]
    model, optimizer, _ = train(way, fused=True)
    state = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))
    dcp.save(state, checkpoint_id=folder)
    saved = weights(model)
    other = spread(make_model(seed=5).to(device()), way, fused=True)
    other_optimizer = torch.optim.SGD(other.parameters(), **SGD)
    state = dict(zip(("model", "optimizer"), get_state_dict(other, other_optimizer)))
    dcp.load(state, checkpoint_id=folder)
    set_state_dict(
        other,
        other_optimizer,
        model_state_dict=state["model"],
        optim_state_dict=state["optimizer"],
    )
    loaded = weights(other)
    batch = global_batches()[0]
    for one, its_optimizer in ((model, optimizer), (other, other_optimizer)):
        one.train()
        step(one, its_optimizer, batch, way)
    return dict(saved=saved, loaded=loaded, after=weights(model), after_loading=weights(other))


def count_calls() -> CodaCalls:
    model = spread(make_model().to(device()), WAYS["fsdp"], fused=True).train()
    tokens = global_batches()[0].to(device())
    with CodaCalls() as calls:
        model(input_ids=tokens, labels=tokens).loss.backward()
    return calls


def refusal() -> str:
    """Of a sharded model with a hook, whose weights alone are no reason before it runs."""
    model = spread(make_model().to(device()), WAYS["fsdp"], fused=False)
    model.model.layers[1].mlp.up_proj.register_forward_hook(lambda *_: None)
    try:
        coda.patch(model, strict=True)
    except RuntimeError as error:
        return str(error)
    return ""


def start(kind: str, rank: int, processes: int, folder: Path) -> None:
    torch.set_num_threads(1)
    place = dict(init_method=f"file://{folder}/store", rank=rank, world_size=processes)
    if kind == "cuda":
        gpu = torch.device("cuda", rank)
        torch.cuda.set_device(gpu)
        dist.init_process_group("nccl", device_id=gpu, **place)
    else:
        dist.init_process_group("gloo", **place)


def main() -> None:
    kind, rank, processes, folder = sys.argv[1], *map(int, sys.argv[2:4]), Path(sys.argv[4])
    start(kind, rank, processes, folder)
    results: dict[str, Any] = {}
    for name, way in WAYS.items():
        results[name] = dict(stock=train(way, fused=False)[2], fused=train(way, fused=True)[2])
    results["checkpoint"] = save_and_load(folder / "checkpoint")
    results["refusal"] = refusal()
    calls = count_calls()
    results["calls"] = dict(names=calls.names, unusual=calls.unusual)
    if rank == 0:
        torch.save(results, folder / "results.pt")
    dist.destroy_process_group()
    # FSDP2 holds on to the group, and with it gloo's threads. One that lets go of its last tensor
    # while the interpreter ends would abort the process.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
