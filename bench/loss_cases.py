"""A language model's head beside PyTorch, loss and gradients, as cases.py has the others."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from capi import Coda
from cases import Case, Maker, factor, parts, rstd_of, squares_of, wide
from loss_steps import prepare_way

ROWS, COLUMNS = 128, 512  # of a chunk


@dataclass
class Terms:
    """What a loss may have beside the cross-entropy."""

    soft_cap: float = 0.0  # ẑ = c·tanh(z/c)
    z_loss: float = 0.0  # λ·lse²
    smoothing: float = 0.0  # of the labels, α

    def capped(self, z: torch.Tensor) -> torch.Tensor:
        return self.soft_cap * torch.tanh(z / self.soft_cap) if self.soft_cap else z

    def of_logits(self, z: torch.Tensor, target: torch.Tensor, reduction: str) -> torch.Tensor:
        """The loss as a framework computes it, of logits in fp32 at least."""
        capped = self.capped(z)
        labels = dict(label_smoothing=self.smoothing, reduction=reduction)
        squares = torch.logsumexp(capped, 1).square()
        more = squares.mean() if reduction == "mean" else squares.sum()
        return F.cross_entropy(capped, target, **labels) + self.z_loss * more

    @property
    def name(self) -> str:
        return "soft-cap, z-loss, smoothing" if self.soft_cap else ""


ALL_TERMS = Terms(soft_cap=3.0, z_loss=0.1, smoothing=0.1)


def loss_case(make: Maker, M: int, vocabulary: int, h: int, normed: bool = False) -> Case:
    """linear_cross_entropy: what the loss is finished from; here finished in fp64. normed: with the
    row factor of a norm."""
    a, w = make.activation(M, h), make.weight(vocabulary, h)
    target = torch.randint(vocabulary, (M,), device=make.device)
    sums = make.partials(parts(vocabulary, 128), 4 * M)
    squares = squares_of(a) if normed else None

    def coda(run):
        ports = dict(target=target, sums=sums, **(factor(h, squares) if normed else {}))
        run("linear_cross_entropy", make.type, a, w, **ports)
        high, exps, _, at_target = sums.double().view(-1, M, 4).unbind(2)
        lse = torch.logsumexp(high + exps.log(), 0)
        return dict(lse=lse, loss=lse - at_target.sum(0))

    def function(v):
        z = wide(v["a"] @ v["w"].t())
        if normed:
            z = z * rstd_of(squares, h)
        lse = torch.logsumexp(z, 1)
        return dict(lse=lse, loss=lse - z.gather(1, target[:, None])[:, 0])

    def usual(v):
        return dict(loss=F.cross_entropy(v["a"] @ v["w"].t(), target))

    inputs, flops = dict(a=a, w=w), 2.0 * M * vocabulary * h
    return Case("linear_cross_entropy", make.type, inputs, function, coda, (a, w.t()), usual, flops)


def logit_gradient(make: Maker, M: int, vocabulary: int, h: int, terms: Terms) -> Case:
    """linear_cross_entropy_backward behind a norm: r·dz, and the row sums of z·dz for the norm."""
    a, w = make.activation(M, h), make.weight(vocabulary, h)
    target = torch.randint(vocabulary, (M,), device=make.device)
    squares = squares_of(a)
    exact = terms.capped(a.double() * rstd_of(squares, h) @ w.double().t())
    lse = torch.logsumexp(exact, 1).float()
    out, dots = make.empty(M, vocabulary), make.partials(parts(vocabulary, 128), M)

    def coda(run):
        ports = dict(target=target, lse=lse, soft_cap=terms.soft_cap, z_loss=terms.z_loss)
        ports |= dict(on_target=1 - terms.smoothing, elsewhere=terms.smoothing / vocabulary)
        ports |= dict(out=out, dots=dots, **factor(h, squares))
        run("linear_cross_entropy_backward", make.type, a, w, **ports)
        return dict(out=out, dots=dots.sum(0))

    def function(v):
        r, dtype = rstd_of(v["squares"], h), v["a"].dtype
        z = wide((wide(v["a"]) * r).to(dtype) @ v["w"].t())
        dz = torch.func.grad(lambda z: terms.of_logits(z, target, "sum"))(z)
        return dict(out=(dz * r).to(dtype), dots=(z * dz).sum(1))

    inputs = dict(a=a, w=w, squares=squares)
    named = ("linear_cross_entropy_backward", make.type)
    options = ", ".join(filter(None, ("behind a norm", terms.name)))
    return Case(*named, inputs, function, coda, (a, w.t()), options=options)


def loss_gradients(
    make: Maker, coda: Coda, M: int, vocabulary: int, h: int, way: str, terms: Terms
) -> Case:
    """Gradients of the mean loss in one of coda's three ways, all its steps together."""
    x, w = make.activation(M, h), make.weight(vocabulary, h)
    target = torch.randint(vocabulary, (M,), device=make.device)

    def run_steps(_):
        given = (x, w, target, ROWS, COLUMNS)
        phases, made = prepare_way(coda, way, *given, **vars(terms))
        for step in phases.values():
            step()
        return dict(dx=made["dx"], dweight=made["dweight"])

    def function(v):
        def loss(x, w):
            return terms.of_logits(wide(x @ w.t()), target, "mean")

        dx, dweight = torch.func.grad(loss, argnums=(0, 1))(v["x"], v["w"])
        return dict(dx=dx, dweight=dweight)

    named = ("linear_cross_entropy_backward", make.type)
    options = ", ".join(filter(None, (way, terms.name)))
    return Case(*named, dict(x=x, w=w), function, run_steps, (x, w.t()), options=options)
