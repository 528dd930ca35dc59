"""Others' ways to run a case, where they are installed.

quack fuses GEMMs too: its fastest of five tile configurations takes part. Liger and FlashInfer have
operators that follow a GEMM, which is torch.mm here. A way's result is what `CHECKED` names among
those of the case; one that is far from PyTorch's does not take part.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator

import torch
from cases import Case, rstd_of
from torch_layer import EPSILON, HEAD_DIM

Way = Callable[[], torch.Tensor]
CHECKED = {
    "linear": "out",
    "linear_residual_norm": "out",
    "linear_swiglu": "out",
    "linear_rope": "q",
    "linear_swiglu_backward": "out",
}


def interleaved(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Columns of both in turn, which is how quack takes gate and up."""
    return torch.stack((first, second), dim=-1).flatten(1)


def quack_ways(case: Case, normed: bool) -> Iterator[Way]:
    import quack.gemm_interface as quack
    from quack.gemm_config import GemmConfig

    v = case.inputs
    a, b = case.gemm
    configs = [
        GemmConfig(128, n, pingpong=True, is_dynamic_persistent=False) for n in (128, 160, 192)
    ]
    configs += [
        GemmConfig(m, n, pingpong=False, is_dynamic_persistent=False)
        for m, n in ((256, 128), (128, 256))
    ]
    rstd = rstd_of(v["squares"], a.shape[1])[:, 0].contiguous() if "squares" in v else None
    out = a.new_empty(a.shape[0], b.shape[1])
    if case.operation == "linear_residual_norm":
        raw = torch.empty_like(out)
        options = dict(C=v["x"], norm_weight=v["gamma"], eps=EPSILON, out=out, premult_out=raw)

        def run(config):
            quack.gemm_rms(a, b, **options, tuned=False, config=config)
            return raw
    elif case.operation == "linear_swiglu":
        gate, up = v["w"].chunk(2)
        mixed = torch.stack((gate, up), 1).flatten(0, 1).t()  # [K, 2F]
        after = a.new_empty(a.shape[0], len(gate))
        options = dict(rstd=rstd, activation="swiglu", preact_out=out, postact_out=after)

        def run(config):
            quack.gemm_norm_act(a, mixed, **options, tuned=False, config=config)
            return after
    elif case.operation == "linear_swiglu_backward":
        before, dx = interleaved(v["gate"], v["up"]), a.new_empty(len(a), 2 * b.shape[1])
        options = dict(activation="swiglu", dx_out=dx, postact_out=out, colvec_reduce=True)

        def run(config):
            quack.gemm_dact(
                a, b, before, **options, dynamic_scheduler=False, tuned=False, config=config
            )
            return out
    elif case.operation == "linear" and normed:

        def run(config):
            quack.gemm_norm_act(a, b, rstd=rstd, postact_out=out, tuned=False, config=config)
            return out
    else:
        return
    for config in configs:
        yield lambda config=config: run(config)


def liger_ways(case: Case, normed: bool) -> Iterator[Way]:
    from liger_kernel.ops.fused_add_rms_norm import LigerFusedAddRMSNormFunction
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction
    from liger_kernel.ops.rope import LigerRopeFunction
    from liger_kernel.ops.swiglu import LigerFusedGateUpSiLUMulFunction

    v = case.inputs
    ones = torch.ones_like(v["a"][0])

    def given():
        return LigerRMSNormFunction.apply(v["a"], ones, EPSILON) if normed else v["a"]

    if case.operation == "linear" and normed:
        yield lambda: given() @ v["w"].t()
    if case.operation == "linear_residual_norm":
        norm = (v["x"], v["gamma"], EPSILON)
        yield lambda: LigerFusedAddRMSNormFunction.apply(v["a"] @ v["w"].t(), *norm)[1]
    if case.operation == "linear_swiglu":
        yield lambda: LigerFusedGateUpSiLUMulFunction.apply(given() @ v["w"].t())
    if case.operation == "linear_rope":
        weights = v["w"].chunk(3)
        angles = (torch.cat((v[name], v[name]), -1).transpose(0, 1) for name in ("cos", "sin"))
        cos, sin = (one.to(v["a"].dtype) for one in angles)  # [1, M, d]

        def rotated():
            x = given()
            q, k, _ = (x @ w.t() for w in weights)
            heads = [t.view(1, len(t), -1, HEAD_DIM).transpose(1, 2) for t in (q, k)]
            LigerRopeFunction.apply(*heads, cos, sin)
            return q  # in place

        yield rotated


def flashinfer_ways(case: Case, normed: bool) -> Iterator[Way]:
    import flashinfer

    v = case.inputs
    ones = torch.ones_like(v["a"][0])
    if case.operation == "linear_swiglu":

        def swiglu():
            x = flashinfer.rmsnorm(v["a"], ones, EPSILON) if normed else v["a"]
            return flashinfer.silu_and_mul(x @ v["w"].t())

        yield swiglu
    if case.operation == "linear_residual_norm":
        stream = v["x"].clone()  # grows from call to call

        def residual_norm():
            y = v["a"] @ v["w"].t()
            flashinfer.fused_add_rmsnorm(y, stream, v["gamma"], EPSILON)
            return stream

        yield residual_norm


PEERS = {"quack": quack_ways, "Liger": liger_ways, "FlashInfer": flashinfer_ways}


def loss_peers() -> dict[str, Callable]:
    """Mean loss of a head: of x [M, h], weight [V, h] and target [M]."""
    found: dict[str, Callable] = {}
    with contextlib.suppress(ImportError):
        from liger_kernel.ops.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction

        found["Liger"] = lambda x, w, t: LigerFusedLinearCrossEntropyFunction.apply(x, w, t)[0]
    with contextlib.suppress(ImportError):
        from quack.linear_cross_entropy import chunked_linear_cross_entropy

        found["quack"] = chunked_linear_cross_entropy
    return found


def quick_ms(way: Way) -> float:
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    for event in events:
        event.record()
        for _ in range(8):
            way()
    torch.cuda.synchronize()
    return events[0].elapsed_time(events[1])


def close(result: torch.Tensor, expected: torch.Tensor) -> bool:
    """Rounding in bf16, and a row factor that differs a little from 1, stay below a twentieth."""
    distance = (result.float() - expected.float()).norm()
    return bool(distance <= 0.05 * expected.float().norm())


def peers_of(case: Case, normed: bool) -> dict[str, Way]:
    """The fastest way of each peer that has one. normed: the case stands behind a norm."""
    found: dict[str, Way] = {}
    if case.operation not in CHECKED:
        return found
    expected = case.usual(case.inputs)[CHECKED[case.operation]]
    for name, ways_of in PEERS.items():
        ways, problem = [], None
        try:
            for way in ways_of(case, normed):
                if close(way(), expected):
                    ways.append(way)
                else:
                    problem = "its result is wrong"
        except ImportError:
            continue
        except Exception as raised:  # a compiler's, say: the others can still be compared
            problem = f"{type(raised).__name__}: {str(raised)[:200]}"
        if problem:
            print(f"{name}, {case.operation}: {problem}", file=sys.stderr)
        if ways:
            found[name] = min(ways, key=quick_ms) if len(ways) > 1 else ways[0]
    return found
