"""A language model's head beside PyTorch, as cases.py has the others."""

import torch
import torch.nn.functional as F
from cases import Case, Maker, factor, parts, rstd_of, squares_of, wide


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
