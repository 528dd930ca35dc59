"""The layer without attention as coda's operations (F1-F4 forward, B0-B7 backward), each a
function.

The norms' weights are kept beside the weights (`kept`: producers store x⊙γ too) or folded into them
(`folded`: W' = W⊙γ, made once per update of the weights by `fold`).
"""

from collections.abc import Callable
from types import SimpleNamespace

import torch
from capi import NAMES, Coda, contraction, halves, pair, rows
from torch_layer import EPSILON, Rotation, Shape, Tensors


def parts(width: int) -> int:
    return (width + 63) // 64


class Recorder:
    """Makes calls, and keeps them, with their tensors, to be repeated."""

    def __init__(self, coda: Coda):
        self.coda, self.calls = coda, []

    def run(self, *call, **arguments) -> None:
        self.calls.append(self.coda.prepare(*call, **arguments))
        self.calls[-1]()

    def replay(self) -> Callable[[], None]:
        calls, self.calls = self.calls, []

        def repeat() -> None:
            for call in calls:
                call()

        return repeat


class CodaLayer:
    """`run` is called like Coda.run for every operation; tensors are allocated when needed."""

    def __init__(self, run: Callable, shape: Shape, t: Tensors, rotation: Rotation, folded: bool):
        self.run, self.shape, self.t, self.rotation, self.folded = run, shape, t, rotation, folded
        self.type = NAMES[t.x.dtype]
        self.form = f"{'folded' if folded else 'kept'}-{self.type}"
        self.gate_up, self.qkv = t.gate_up, t.qkv  # or, folded, with the norm's weight
        if folded:
            self.gate_up, self.qkv = torch.empty_like(t.gate_up), torch.empty_like(t.qkv)
            self.fold()

    def new(self, *size, dtype=None) -> torch.Tensor:
        return torch.empty(*size, dtype=dtype or self.t.x.dtype, device=self.t.x.device)

    def partials(self, count: int, columns: int) -> torch.Tensor:
        return self.new(count, columns, dtype=torch.float32)

    def row_factor(self, squares: torch.Tensor) -> dict:
        width = float(self.shape.hidden)
        return dict(rstd=squares, rstd__width=width, rstd__epsilon=EPSILON)

    def fold(self) -> None:
        for weight, gamma, out in (
            (self.t.gate_up, self.t.gamma1, self.gate_up),
            (self.t.qkv, self.t.gamma2, self.qkv),
        ):
            self.run("fold_norm_weight", self.type, None, None, weight=weight, gamma=gamma, out=out)

    def halves_of_qkv(self, weight: torch.Tensor) -> tuple:
        return weight.split(self.shape.widths)

    # Forward

    def residual_norm(self, a, weight, residual, gamma) -> SimpleNamespace:
        """F1, F3: the stream, what the next GEMM reads, and the partial sums of squares."""
        s = SimpleNamespace(x=torch.empty_like(residual), squares=None)
        s.squares = self.partials(parts(self.shape.hidden), self.shape.tokens)
        s.scaled = s.x if self.folded else torch.empty_like(residual)
        kept = {} if self.folded else dict(gamma=gamma, scaled=s.scaled)
        ports = dict(residual=residual, out=s.x, squares=s.squares, **kept)
        self.run("linear_residual_norm", self.form, a, weight, **ports)
        return s

    def swiglu(self, s: SimpleNamespace, keep: bool) -> SimpleNamespace:
        """F2"""
        M, ffn = self.shape.tokens, self.shape.ffn
        g = SimpleNamespace(gate=None, up=None, out=self.new(M, ffn))
        if keep:
            g.gate, g.up = self.new(M, ffn), self.new(M, ffn)
        weights = pair(self.gate_up[:ffn], self.gate_up[ffn:])
        ports = dict(gate=g.gate, up=g.up, out=g.out, **self.row_factor(s.squares))
        self.run("linear_swiglu", self.type, s.scaled, weights, **ports)
        return g

    def rope(self, s: SimpleNamespace) -> SimpleNamespace:
        """F4"""
        q, k, v = (self.new(self.shape.tokens, n) for n in self.shape.widths)
        weights = halves(self.shape.head_dim, *self.halves_of_qkv(self.qkv))
        angles = dict(inv_freq=self.rotation.inv_freq, positions=self.rotation.positions)
        ports = dict(out=(q, k, v), **angles, **self.row_factor(s.squares))
        self.run("linear_rope", self.type, s.scaled, weights, **ports)
        return SimpleNamespace(q=q, k=k, v=v)

    def forward(self, keep: bool = True) -> SimpleNamespace:
        t = self.t
        one = self.residual_norm(t.y, t.wo, t.x, t.gamma1)
        mlp = self.swiglu(one, keep)
        two = self.residual_norm(mlp.out, t.wd, one.x, t.gamma2)
        mlp.out = None  # computed again in backward
        return SimpleNamespace(one=one, mlp=mlp, two=two, heads=self.rope(two))

    # Backward

    def rope_backward(self, saved: SimpleNamespace, dq, dk, dv) -> SimpleNamespace:
        """B0: gradients before the rotation, times the row factor, and the row sums of z·dz."""
        z = SimpleNamespace(parts=tuple(self.new(self.shape.tokens, n) for n in self.shape.widths))
        z.dots = self.partials(self.shape.heads + 2 * self.shape.kv_heads, self.shape.tokens)
        h = saved.heads
        values = dict(q=h.q, k=h.k, v=h.v, dq=dq, dk=dk, dv=dv)
        outputs = dict(zip(("dzq", "dzk", "dzv"), z.parts), sums=z.dots)
        angles = dict(inv_freq=self.rotation.inv_freq, positions=self.rotation.positions)
        factor = self.row_factor(saved.two.squares)
        ports = dict(**values, **angles, **outputs, **factor, head_dim=self.shape.head_dim)
        self.run("rope_backward", self.type, None, None, **ports)
        return z

    def norm_backward(self, dz: tuple, weights: tuple, s, dots, dx_in, gamma) -> SimpleNamespace:
        """B1, B5"""
        n = SimpleNamespace(dx=torch.empty_like(s.x), dgamma=None)
        kept = {}
        if not self.folded:
            n.dgamma = self.partials(parts(self.shape.tokens), self.shape.hidden)
            kept = dict(gamma=gamma, dgamma=n.dgamma)
        mean = dict(dots=dots, dots__width=float(self.shape.hidden))
        ports = dict(x=s.x, dx_in=dx_in, dx=n.dx, **mean, **kept, **self.row_factor(s.squares))
        a, b = contraction(*dz), contraction(*(w.t() for w in weights))
        self.run("linear_norm_backward", self.form, a, b, **ports)
        return n

    def swiglu_backward(self, dx, saved: SimpleNamespace) -> SimpleNamespace:
        """B3: overwrites gate and up, which nobody reads after it."""
        M, ffn, mlp = self.shape.tokens, self.shape.ffn, saved.mlp
        g = SimpleNamespace(parts=(mlp.gate, mlp.up), out=self.new(M, ffn))
        g.dots = self.partials(parts(ffn), M)
        ports = dict(gate=mlp.gate, up=mlp.up, dgate=mlp.gate, dup=mlp.up, out=g.out, dots=g.dots)
        factor = self.row_factor(saved.one.squares)
        self.run("linear_swiglu_backward", self.type, dx, self.t.wd.t(), **ports, **factor)
        return g

    def weight_grad(self, dz: tuple, x, weight, gamma=None) -> SimpleNamespace:
        """B2, B4, B6, B7: of weights stacked like dz."""
        w = SimpleNamespace(dw=torch.empty_like(weight), dgamma=None)
        variant, folded = self.type, {}
        if self.folded and gamma is not None:
            variant = self.form
            w.dgamma = self.partials(sum(parts(one.shape[1]) for one in dz), weight.shape[1])
            folded = dict(weight=weight, gamma=gamma, dgamma=w.dgamma)
        a = rows(*(one.t() for one in dz))
        self.run("linear_weight_grad", variant, a, x.t(), out=w.dw, **folded)
        return w

    def finish_columns(self, partials: torch.Tensor) -> torch.Tensor:
        out = self.new(partials.shape[1])
        self.run("finish_columns", self.type, None, None, partials=partials, out=out)
        return out

    def backward(self, saved: SimpleNamespace, incoming: tuple) -> Tensors:
        t, ffn = self.t, self.shape.ffn
        dx2_in, *dqkv = incoming
        z = self.rope_backward(saved, *dqkv)
        qkv = self.halves_of_qkv(self.qkv)
        b1 = self.norm_backward(z.parts, qkv, saved.two, z.dots, dx2_in, t.gamma2)
        b2 = self.weight_grad(z.parts, saved.two.scaled, t.qkv, t.gamma2)
        b3 = self.swiglu_backward(b1.dx, saved)
        b4 = self.weight_grad((b1.dx,), b3.out, t.wd)
        gate_up = self.gate_up[:ffn], self.gate_up[ffn:]
        b5 = self.norm_backward(b3.parts, gate_up, saved.one, b3.dots, b1.dx, t.gamma1)
        b6 = self.weight_grad(b3.parts, saved.one.scaled, t.gate_up, t.gamma1)
        dy = torch.empty_like(t.y)
        self.run("linear", self.type, b5.dx, t.wo.t(), out=dy)
        b7 = self.weight_grad((b5.dx,), t.y, t.wo)
        dgamma1 = self.finish_columns(b6.dgamma if self.folded else b5.dgamma)
        dgamma2 = self.finish_columns(b2.dgamma if self.folded else b1.dgamma)
        return Tensors(dy, b5.dx, b7.dw, b6.dw, b4.dw, b2.dw, dgamma1, dgamma2)
