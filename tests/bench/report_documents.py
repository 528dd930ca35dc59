"""Files of results for report_test.py: coda at 1 and every peer at a factor."""

GIB = 2**30

HEAD = {"commit": "abc123", "date": "2026-01-31", "machine": "a processor", "gpu": "a GPU"}
CPU = {**HEAD, "gpu": None, "torch": "7.8.9"}
MEASURED = {"rounds": 20, "clock_mhz": 1234.0, "power_w": 567.0}
REGIMES = ("random", "zeros")
PHASES = ("inference", "forward", "backward", "forward+backward")


def operations(factor: float) -> dict:
    ms = {
        "coda": 7.0,
        "coda operator": 1.0,
        "torch.mm": factor,
        "torch.compile": factor,
        "quack": factor,
    }
    sizes = {"M": 64, "N": 32, "K": 16, "tflops": 1.0}
    names = {"name": "F2", "operation": "linear_swiglu", "variant": "bf16"}
    results = [
        {"set": name, **names, **sizes, **MEASURED, "regime": regime, "ms": ms}
        for name in ("layer", "square", "chain")
        for regime in REGIMES
    ]
    return {**HEAD, "kind": "operations", "results": results}


def layer(factor: float, gpu: bool = True) -> dict:
    times = {"coda kept": 9.0, "coda package": 1.0, "torch.compile": factor, "GEMMs": factor}
    ms = {name: dict.fromkeys(PHASES, value) for name, value in times.items()}
    del ms["GEMMs"]["inference"]
    peaks = {"torch.compile": factor * GIB, "coda kept": 9 * GIB, "coda package": GIB}
    facts = {"hidden": 64, "tokens": 16, **MEASURED, "ms": ms, "peak_bytes": peaks if gpu else None}
    regimes = REGIMES if gpu else REGIMES[:1]
    results = [{**facts, "regime": regime} for regime in regimes]
    return {**(HEAD if gpu else CPU), "kind": "layer", "results": results}


def cross_entropy(factor: float) -> dict:
    halves = {"forward": factor / 2, "backward": factor / 2}
    ms = {"coda, with gradients": {"step": 1.0}, "torch.compile": halves, "Liger": halves}
    peaks = {name: (1 if name.startswith("coda") else factor) * GIB for name in ms}
    facts = {"hidden": 64, "vocabulary": 100, "tokens": 16, "ms": ms, "peak_bytes": peaks}
    results = [{**facts, **MEASURED, "regime": regime} for regime in REGIMES]
    return {**HEAD, "kind": "cross_entropy", "results": results}


def bench(operation: str, baseline: str, factor: float, gpu: bool) -> dict:
    facts = {"operation": operation, "variant": "bf16", "ports": [], "layout": "forward"}
    facts |= {"M": 64, "N": 32, "K": 16, "config": "some", "chosen": True, "tflops": 1.0, "ms": 1.0}
    facts |= {"baseline": baseline, "baseline_ms": factor, "usual_ms": factor, "gb_per_s": 1.0}
    unused = {**facts, "chosen": False, "ms": 99.0}
    kept = [facts, unused] if gpu and baseline == "cublas" else [facts]
    results = [{**one, **MEASURED, "regime": "random"} for one in kept]
    return {**(HEAD if gpu else CPU), "results": results}


def programs(factor: float) -> dict:
    results = bench("linear", "cublas", 1.0, True)["results"]
    regimes = [{**one, "regime": regime} for one in results for regime in REGIMES]
    own = [{**one, "operation": "gated", "ms": one["ms"] / factor} for one in regimes]
    return {**HEAD, "results": regimes + own}


def steps(factor: float, ours: str, gpu: bool) -> dict:
    facts = {"model": "tiny", "batch": 2, "sequence": 8, **MEASURED}
    results = []
    for regime in REGIMES:
        for name, time in ((ours, 1.0), ("compile", factor), ("Liger", factor)):
            one = {**facts, "contender": name, "regime": regime, "first_step_s": time}
            one |= {"forward_backward_ms": time, "step_ms": time, "tokens_per_second": 16 / time}
            results.append({**one, "peak_over_weights_bytes": time * GIB})
    bare = dict.fromkeys(REGIMES, factor) if gpu else {}
    return {**(HEAD if gpu else CPU), "ours": ours, "bare_ms": bare, "results": results}


def overhead(gpu: bool) -> dict:
    times = {"operator": 4.25, "recorded": 8.5, "kernel": 3.0}
    results = [{"operator": "linear", "microseconds": times}]
    return {**(HEAD if gpu else CPU), "kind": "overhead", "results": results}


def decode(factor: float, gpu: bool) -> dict:
    facts = {"hidden": 64, "dtype": "bf16", "cached": 8, **MEASURED}
    ms = {"stock": factor, "patched": 1.0, "default": 1.0}
    results = [{**facts, "tokens": tokens, "ms": dict(ms)} for tokens in (1, 2)]
    return {**(HEAD if gpu else CPU), "kind": "decode", "results": results}


def documents(factor: float) -> dict[str, dict]:
    return {
        "model_h200": steps(factor, "coda, compiled", True),
        "train_h200": steps(factor, "coda", True),
        "layer_h200": layer(factor),
        "operations_h200": operations(factor),
        "peers_h200": operations(factor),
        "cross_entropy_h200": cross_entropy(factor),
        "h200": bench("linear", "cublas", factor, True),
        "rows_h200": bench("adamw", "copy", factor, True),
        "programs_h200": programs(factor),
        "model_cpu": steps(factor, "coda", False),
        "train_cpu": steps(factor, "coda", False),
        "layer_cpu": layer(factor, gpu=False),
        "torch_cpu": bench("linear", "torch.mm", factor, False),
        "cpu": bench("linear", "openblas", factor, False),
        "decode_h200": decode(factor, True),
        "decode_cpu": decode(factor, False),
        "overhead_h200": overhead(True),
        "overhead_cpu": overhead(False),
    }
