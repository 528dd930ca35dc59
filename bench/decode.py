"""A forward pass with few tokens: transformers' Llama patched by coda beside the stock one.

    python bench/decode.py --json decode_h200.json
    python bench/decode.py --device cpu --json decode_cpu.json

One sequence of 1 to 256 tokens without gradients, alone or behind a cache of 1024 tokens, through
two layers and a head so small that it hides nothing. `patched` runs as coda programs whatever the
number of tokens (min_tokens=1), `default` as coda.patch makes it by itself. Contenders share
parameters and take turns (race.py). The least number of tokens from which `patched` keeps to 0.98
of stock's speed in every case is what the default of min_tokens should be (Options.few in
python/coda/patching/conditions.py); with the right one `default` keeps to it everywhere.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable

import arguments
import torch  # before libcoda, so that both use one OpenMP runtime
from capi import Coda
from decode_speed import least_of, verdict
from machine import PowerMeter, check_one_openmp, keep_memory, write_results
from race import Contender, race
from stock_llama import sharing_copy
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

import coda

FFN = {512: 1536, 1024: 2816, 2048: 5632}
TOKENS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
CACHED = (0, 1024)
DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}
TYPES = {"cuda": ("bf16",), "cpu": ("bf16", "fp32")}
LAYERS, HEAD_DIM, VOCABULARY = 2, 64, 1024
CPU_TURN_MS = 10.0  # calls are short, and the clock's steps and neighbours' noise are not
Forward = Callable[[], torch.Tensor]


def make_models(h: int, device: str, dtype: torch.dtype) -> dict[str, LlamaForCausalLM]:
    """Of one set of parameters."""
    heads = h // HEAD_DIM
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=h,
        intermediate_size=FFN[h],
        num_hidden_layers=LAYERS,
        num_attention_heads=heads,
        num_key_value_heads=heads // 4,
        attn_implementation="sdpa",
    )
    torch.manual_seed(0)
    with torch.device(device):
        stock = LlamaForCausalLM(config).to(dtype).eval()
    patched = coda.patch(sharing_copy(stock), min_tokens=1, strict=True)
    return {"stock": stock, "patched": patched, "default": coda.patch(sharing_copy(stock))}


def make_forward(model: LlamaForCausalLM, tokens: torch.Tensor, before: torch.Tensor) -> Forward:
    """Logits of tokens [1, n] behind those of `before`, which lie in a cache."""
    if before.numel() == 0:
        return lambda: model(input_ids=tokens, use_cache=False).logits
    cache = DynamicCache()
    model(input_ids=before, past_key_values=cache, use_cache=True)
    kept = [(layer, layer.keys, layer.values) for layer in cache.layers]

    def forward() -> torch.Tensor:
        for layer, keys, values in kept:  # a pass has added to them
            layer.keys, layer.values = keys, values
        return model(input_ids=tokens, past_key_values=cache, use_cache=True).logits

    return forward


def check(forwards: dict[str, Forward], what: str) -> None:
    """Roundings in bf16 stay below a twentieth."""
    exact = forwards["stock"]().float()
    for name, forward in forwards.items():
        if not (forward().float() - exact).norm() <= 0.05 * exact.norm():
            raise SystemExit(f"{name}, {what}: logits are far from stock's: not timed")


def calls_in_a_turn(forward: Forward, device: str) -> int:
    """On a GPU race.py repeats."""
    if device == "cuda":
        return 1
    forward()
    begin = time.perf_counter()
    forward()
    return max(1, math.ceil(CPU_TURN_MS / 1e3 / (time.perf_counter() - begin)))


def repeated(forward: Forward, calls: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(calls):
            forward()

    return run


def measure(models: dict, device: str, count: int, cached: int, rounds: int) -> dict:
    ids = torch.randint(VOCABULARY, (1, cached + count), device=device)
    before, tokens = ids[:, :cached], ids[:, cached:]
    forwards = {name: make_forward(model, tokens, before) for name, model in models.items()}
    check(forwards, f"{count} tokens behind {cached}")
    calls = calls_in_a_turn(forwards["stock"], device)
    racers = [
        Contender(name, {"forward": repeated(forward, calls)}) for name, forward in forwards.items()
    ]
    with PowerMeter() as meter:
        race(racers, rounds, device)
    ms = {racer.name: racer.medians()["forward"] / calls for racer in racers}
    return {"tokens": count, "cached": cached, "rounds": rounds, "ms": ms, **meter.reading()}


def print_summary(results: list[dict]) -> None:
    """Speed over stock, of all sizes, types and caches together: the least."""
    counts = least_of(results, "patched")
    print(f"\n{'least over stock':18}" + "".join(f"{n:>8}" for n in counts))
    for name in ("patched", "default"):
        cells = "".join(f"{value:8.3f}" for value in least_of(results, name).values())
        print(f"{name:18}{cells}")
    print(verdict(results))
    least = min(least_of(results, "default").values())
    print(f"With the default of min_tokens the least is {least:.3f}.")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Few tokens: patched and stock Llama")
    parser.add_argument("--device", type=arguments.device, choices=TYPES, default="cuda")
    parser.add_argument("--hidden", type=int, nargs="+", choices=FFN, default=list(FFN))
    parser.add_argument("--tokens", type=arguments.count, nargs="+", default=TOKENS)
    parser.add_argument("--cached", type=arguments.count_or_none, nargs="+", default=CACHED)
    parser.add_argument("--rounds", type=arguments.count, default=20)
    parser.add_argument("--threads", type=arguments.count, default=2, help="on the CPU")
    parser.add_argument("--json", type=arguments.result_file, metavar="FILE")
    return parser.parse_args()


@torch.no_grad()
def main() -> int:
    a = parsed()
    if a.device == "cpu":
        torch.set_num_threads(a.threads)
        keep_memory()
    results = []
    print(
        f"{'h':>5} {'type':5}{'cached':>7}{'tokens':>7}{'stock ms':>10}{'patched':>9}{'default':>9}"
    )
    for h in a.hidden:
        for dtype in TYPES[a.device]:
            models = make_models(h, a.device, DTYPES[dtype])
            for cached in a.cached:
                for count in sorted(a.tokens):
                    facts = {"hidden": h, "dtype": dtype}
                    r = facts | measure(models, a.device, count, cached, a.rounds)
                    results.append(r)
                    ms = r["ms"]
                    over = "".join(f"{ms['stock'] / ms[k]:9.3f}" for k in ("patched", "default"))
                    print(f"{h:5} {dtype:5}{cached:7}{count:7}{ms['stock']:10.3f}{over}")
    if a.device == "cpu":
        check_one_openmp()
    document = write_results(a.json, Coda(a.device), results, kind="decode")
    print(f"\n{document['gpu'] or document['machine']}; commit {document['commit']}")
    print_summary(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
