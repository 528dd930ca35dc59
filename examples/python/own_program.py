"""An operator of one's own: runs, has gradients, and agrees with plain PyTorch."""

import torch

import coda


@coda.program
def gated(acc, up, scale: coda.PerRow, bias: coda.PerColumn):
    g = acc * scale + bias
    return coda.store(out=coda.silu(g) * up), coda.row_sum(norm=g * g)


x, weight = torch.randn(100, 96, requires_grad=True), torch.randn(128, 96, requires_grad=True)
up, scale, bias = torch.randn(100, 128), torch.rand(100), torch.randn(128, requires_grad=True)
y, norm = gated(x, weight, up=up, scale=scale, bias=bias)
mine = torch.autograd.grad(y.square().sum() + norm.sum(), (x, weight, bias))

g = (x @ weight.t()) * scale[:, None] + bias
y, norm = torch.nn.functional.silu(g) * up, (g * g).sum(1)
for a, b in zip(mine, torch.autograd.grad(y.square().sum() + norm.sum(), (x, weight, bias))):
    torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3)
print(gated, "agrees with PyTorch; its gradients:", gated.derived_source, sep="\n")
