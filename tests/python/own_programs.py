"""Programs that the tests of @coda.program share, each with its formula in plain PyTorch: few,
since each is compiled."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import error_rule
import torch
import torch.nn.functional as F
from torch import Tensor

import coda


@coda.program
def gated(acc, up, scale: coda.PerRow, bias: coda.PerColumn):
    g = acc * scale + bias
    return coda.store(out=coda.silu(g) * up), coda.row_sum(norm=g * g)


def gated_formula(acc: Tensor, up: Tensor, scale: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
    g = acc * scale[:, None] + bias
    return F.silu(g) * up, wide(g * g).sum(1)


@coda.program(recompute=True)
def glu(gate, up: coda.Accumulator, bias: coda.PerColumn):
    return coda.store(out=coda.sigmoid(gate + bias) * up)


def glu_formula(gate: Tensor, up: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
    return (torch.sigmoid(gate + bias) * up,)


@coda.program
def extremes(acc, first: coda.PerRow, *, second: coda.PerColumn):
    z = coda.tanh(acc * 0.5) * first + second
    return coda.row_max(top=z), coda.row_log_sum_exp(lse=2.0 * z), coda.column_max(peak=-z)


def extremes_formula(acc: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, ...]:
    z = wide(torch.tanh(acc * 0.5) * first[:, None] + second)
    return z.amax(1), torch.logsumexp(2.0 * z, 1), (-z).amax(0)


@coda.program
def huber(acc, target, delta: coda.Scalar = 1.0, weight_decay: coda.Scalar = 0.5):
    r = acc - target
    size = abs(r)
    inside = (size < delta) & ~(r == 0.0)
    loss = coda.where(inside, 0.5 * r**2, delta * (size - 0.5 * delta))
    return (
        coda.column_sum(by_column=loss + weight_decay * coda.exp(-size)),
        coda.store(loss=loss, dtype=torch.float32),
    )


def huber_formula(acc: Tensor, target: Tensor, delta: Any, weight_decay: Any) -> tuple[Tensor, ...]:
    r = acc - target
    loss = torch.where(r.abs() < delta, 0.5 * r**2, delta * (r.abs() - 0.5 * delta))
    return wide(loss + weight_decay * torch.exp(-r.abs())).sum(0), wide(loss)


@coda.program
def entropy(acc, target: coda.IntegerPerRow):
    z = coda.clamp(acc, -4.0, 4.0)
    chosen = coda.where(coda.column_index() == target, z, 0.0)
    return coda.row_log_sum_exp(lse=z), coda.row_sum(picked=chosen)


def entropy_formula(acc: Tensor, target: Tensor) -> tuple[Tensor, ...]:
    z = wide(acc.clamp(-4.0, 4.0))
    return torch.logsumexp(z, 1), z.gather(1, target[:, None])[:, 0]


@coda.program
def residual(acc, x1, gain: coda.PerColumn):
    return coda.store(out=x1 + acc * gain), coda.row_sum(total=acc + x1)


def residual_formula(acc: Tensor, x1: Tensor, gain: Tensor) -> tuple[Tensor, ...]:
    return x1 + acc * gain, wide(acc + x1).sum(1)


@coda.program
def activations(acc, other, bias: coda.PerColumn):
    a = acc + bias
    curved = coda.gelu(a) + coda.relu(other) * coda.gelu_tanh(a)
    bounded = coda.maximum(coda.minimum(a, other), -1.0) / coda.sqrt(1.0 + other**2)
    return coda.store(curved=curved), coda.store(bounded=bounded)


def activations_formula(acc: Tensor, other: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
    a = acc + bias
    curved = F.gelu(a) + F.relu(other) * F.gelu(a, approximate="tanh")
    low = torch.full_like(a, -1.0)
    return curved, torch.maximum(torch.minimum(a, other), low) / torch.sqrt(1.0 + other**2)


@coda.program
def positions(acc, start: coda.IntegerPerRow):
    distance = coda.to_float(coda.column_index() - start - coda.row_index())
    return coda.store(out=coda.where(distance > 0.0, acc * coda.exp(-0.1 * distance), 0.0))


def positions_formula(acc: Tensor, start: Tensor) -> tuple[Tensor, ...]:
    rows, columns = (torch.arange(n, device=acc.device) for n in acc.shape)
    distance = (columns[None] - start[:, None] - rows[:, None]).to(acc.device, acc.dtype)
    return (torch.where(distance > 0, acc * torch.exp(-0.1 * distance), 0.0),)


@coda.program
def soft_cap(acc, cap: coda.Scalar, slope: coda.PerRow):
    capped = cap * coda.tanh(acc * coda.rsqrt(1.0 + slope * slope) / cap)
    return coda.store(out=coda.log(1.0 + coda.exp(capped)) + coda.floor(acc) * 0.0)


def soft_cap_formula(acc: Tensor, cap: Any, slope: Tensor) -> tuple[Tensor, ...]:
    root = torch.rsqrt(1.0 + slope * slope)[:, None]
    return (torch.log(1.0 + torch.exp(cap * torch.tanh(acc * root / cap))),)


@coda.program
def pair_sums(first, second: coda.Accumulator, scale: coda.PerRow):
    product = first * second * scale
    return (
        coda.store(out=product),
        coda.column_sum(columns=coda.erf(first)),
        coda.row_sum(rows=second * scale),
    )


def pair_sums_formula(first: Tensor, second: Tensor, scale: Tensor) -> tuple[Tensor, ...]:
    s = scale[:, None]
    return first * second * s, wide(torch.erf(first)).sum(0), wide(second * s).sum(1)


def wide(value: Tensor) -> Tensor:
    """What reductions add up: fp32 at least."""
    return value if value.dtype == torch.float64 else value.float()


@dataclass(frozen=True)
class Case:
    """A program with its formula; shapes of arguments by name: "MN", "M", "N", "" (a tensor of one
    element), "index" (of columns) or a number."""

    program: Any
    formula: Callable[..., tuple[Tensor, ...]]
    shapes: dict[str, Any]
    accumulators: int = 1

    @property
    def name(self) -> str:
        return self.program.__name__

    def draw(self, seed: int, M: int, N: int, K: int, dtype: torch.dtype, device: str) -> dict:
        generator = torch.Generator().manual_seed(seed)
        sizes = {"MN": (M, N), "M": (M,), "N": (N,), "": ()}
        drawn: dict[str, Any] = {"x": torch.randn(M, K, generator=generator)}
        for i in range(self.accumulators):
            drawn[f"weight{i}"] = torch.randn(N, K, generator=generator) * max(K, 1) ** -0.5
        for name, shape in self.shapes.items():
            if shape == "index":
                drawn[name] = torch.randint(max(N, 1), (M,), generator=generator).to(device)
            elif isinstance(shape, str):
                drawn[name] = torch.randn(sizes[shape], generator=generator)
                drawn[name] = drawn[name].abs() + 0.5 if shape == "" else drawn[name]
            else:
                drawn[name] = shape
        return {
            name: value.to(device, torch.float32 if value.dim() == 0 else dtype)
            if isinstance(value, Tensor) and value.is_floating_point()
            else value
            for name, value in drawn.items()
        }

    def call(self, drawn: dict) -> tuple[Tensor, ...]:
        """The program."""
        weights = [drawn[f"weight{i}"] for i in range(self.accumulators)]
        result = self.program(drawn["x"], *weights, **{name: drawn[name] for name in self.shapes})
        return result if isinstance(result, tuple) else (result,)

    def unfused(self, drawn: dict) -> tuple[Tensor, ...]:
        """Stock PyTorch in the types of what was drawn."""
        accumulators = [F.linear(drawn["x"], drawn[f"weight{i}"]) for i in range(self.accumulators)]
        return self.formula(*accumulators, **{name: drawn[name] for name in self.shapes})


CASES = [
    Case(gated, gated_formula, {"up": "MN", "scale": "M", "bias": "N"}),
    Case(glu, glu_formula, {"bias": "N"}, accumulators=2),
    Case(extremes, extremes_formula, {"first": "M", "second": "N"}),
    Case(huber, huber_formula, {"target": "MN", "delta": 0.75, "weight_decay": ""}),
    Case(entropy, entropy_formula, {"target": "index"}),
    Case(residual, residual_formula, {"x1": "MN", "gain": "N"}),
    Case(activations, activations_formula, {"other": "MN", "bias": "N"}),
    Case(positions, positions_formula, {"start": "index"}),
    Case(soft_cap, soft_cap_formula, {"cap": "", "slope": "M"}),
    Case(pair_sums, pair_sums_formula, {"scale": "M"}, accumulators=2),
]


def gradients(outputs: tuple[Tensor, ...], leaves: dict[str, Tensor], seed: int) -> dict:
    """Of a weighted sum of all outputs."""
    generator = torch.Generator().manual_seed(seed)
    weights = [torch.randn(output.shape, generator=generator) for output in outputs]
    weights = [w.to(o.device, o.dtype) for w, o in zip(weights, outputs)]
    made = torch.autograd.grad(outputs, list(leaves.values()), weights, allow_unused=True)
    return {f"d{name}": g for (name, _), g in zip(leaves.items(), made) if g is not None}


def results(case: Case, run: Any, drawn: dict, seed: int, dtype: torch.dtype | None = None) -> dict:
    """Outputs and gradients, by name; dtype: that everything is converted to first."""
    arguments = dict(drawn)
    for name, value in drawn.items():
        if isinstance(value, Tensor) and value.is_floating_point():
            arguments[name] = value.detach().to(dtype or value.dtype).requires_grad_()
    leaves = {n: v for n, v in arguments.items() if isinstance(v, Tensor) and v.requires_grad}
    outputs = run(arguments)
    named = dict(zip(case.program.graph.names(), outputs))
    return {n: v.detach() for n, v in {**named, **gradients(outputs, leaves, seed)}.items()}


def check(
    case: Case, M: int, N: int, K: int, dtype: torch.dtype, device: str, seed: int = 0
) -> None:
    drawn = case.draw(seed, M, N, K, dtype, device)
    made = results(case, case.call, drawn, seed)
    draws: dict[str, list[error_rule.Draw]] = {}
    for i in range(4):
        again = case.draw(seed + i, M, N, K, dtype, device)
        stock = results(case, case.unfused, again, seed + i)
        exact = results(case, case.unfused, again, seed + i, torch.float64)
        for name, value in exact.items():
            draws.setdefault(name, []).append(
                error_rule.Draw(stock[name].to(made[name].dtype), value)
            )
    assert set(made) == set(draws)
    for name, result in made.items():
        error_rule.check(f"{case.name} {name}, M N K {M} {N} {K}", result, draws[name], K)
