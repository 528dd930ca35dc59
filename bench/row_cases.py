"""The operations without a GEMM beside PyTorch, as cases.py has the others."""

import torch
from cases import Case, Maker, parts, wide


def embedding_norm(make: Maker, M: int, h: int, vocabulary: int) -> Case:
    table, gamma = make.normal(vocabulary, h), make.gamma(h)
    tokens = torch.randint(vocabulary, (M,), device=make.device)
    out, scaled, squares = make.empty(M, h), make.empty(M, h), make.partials(parts(h), M)

    def coda(run):
        ports = dict(table=table, tokens=tokens, gamma=gamma)
        ports |= dict(out=out, scaled=scaled, squares=squares)
        run("embedding_norm", make.type, None, None, **ports)
        return dict(out=out, scaled=scaled, squares=squares.sum(0))

    def function(v):
        x = v["table"][tokens]
        return dict(out=x, scaled=x * v["gamma"], squares=wide(x).square().sum(1))

    inputs = dict(table=table, gamma=gamma)
    return Case("embedding_norm", make.type, inputs, function, coda, None)


def norm_inputs(make: Maker, M: int, h: int) -> Case:
    x, gamma = make.normal(M, h), make.gamma(h)
    scaled, squares = make.empty(M, h), make.partials(parts(h), M)

    def coda(run):
        run("norm_inputs", make.type, None, None, x=x, gamma=gamma, scaled=scaled, squares=squares)
        return dict(scaled=scaled, squares=squares.sum(0))

    def function(v):
        return dict(scaled=v["x"] * v["gamma"], squares=wide(v["x"]).square().sum(1))

    return Case("norm_inputs", make.type, dict(x=x, gamma=gamma), function, coda, None)


def embedding_positions(make: Maker, M: int, h: int, vocabulary: int) -> Case:
    table, places, out = make.normal(vocabulary, h), make.normal(M, h), make.empty(M, h)
    tokens = torch.randint(vocabulary, (M,), device=make.device)
    positions = torch.randperm(M, device=make.device)

    def coda(run):
        ports = dict(table=table, tokens=tokens, positions_table=places, positions=positions)
        run("embedding_positions", make.type, None, None, **ports, out=out)
        return dict(out=out)

    def function(v):
        return dict(out=v["table"][tokens] + v["places"][positions])

    inputs = dict(table=table, places=places)
    return Case("embedding_positions", make.type, inputs, function, coda, None)


def embedding_backward(make: Maker, M: int, h: int, vocabulary: int) -> Case:
    dx, out = make.normal(M, h), make.empty(vocabulary, h)
    tokens = torch.randint(vocabulary, (M,), device=make.device)

    def coda(run):
        run("embedding_backward", make.type, None, None, dx=dx, tokens=tokens, out=out)
        return dict(out=out)

    def function(v):
        start = torch.zeros(vocabulary, h, dtype=v["dx"].dtype, device=make.device)
        return dict(out=start.index_add(0, tokens, v["dx"]))

    return Case("embedding_backward", make.type, dict(dx=dx), function, coda, None)


def fold_norm_weight(make: Maker, N: int, K: int) -> Case:
    weight, gamma, out = make.weight(N, K), make.gamma(K), make.empty(N, K)

    def coda(run):
        run("fold_norm_weight", make.type, None, None, weight=weight, gamma=gamma, out=out)
        return dict(out=out)

    def function(v):
        return dict(out=v["weight"] * v["gamma"])

    inputs = dict(weight=weight, gamma=gamma)
    return Case("fold_norm_weight", make.type, inputs, function, coda, None)


def scale_gradient(make: Maker, N: int, K: int) -> Case:
    gradient, out = torch.randn(N, K, device=make.device), make.empty(N, K)
    factor = torch.tensor(0.37, device=make.device)
    variant = "fp32" if make.type == "fp32" else f"fp32-{make.type}"

    def coda(run):
        run("scale_gradient", variant, None, None, gradient=gradient, factor=factor, out=out)
        return dict(out=out)

    def function(v):
        scaled = v["gradient"] * v["factor"]
        return dict(out=scaled if scaled.element_size() > 4 else scaled.to(make.dtype))

    inputs = dict(gradient=gradient, factor=factor)
    return Case("scale_gradient", variant, inputs, function, coda, None)


def finish_columns(make: Maker, count: int, N: int) -> Case:
    partials, out = torch.randn(count, N, device=make.device), make.empty(N)

    def coda(run):
        run("finish_columns", make.type, None, None, partials=partials, out=out)
        return dict(out=out)

    def function(v):
        sums = v["partials"].sum(0)
        return dict(out=sums if sums.element_size() > 4 else sums.to(make.dtype))

    return Case("finish_columns", make.type, dict(partials=partials), function, coda, None)


def square_sums(make: Maker, N: int, K: int) -> Case:
    x = torch.randn(N, K, device=make.device)
    sums = make.partials(1, N)

    def coda(run):
        run("square_sums", "fp32", None, None, x=x, sums=sums)
        return dict(sums=sums[0])

    def function(v):
        return dict(sums=v["x"].square().sum(1))

    return Case("square_sums", "fp32", dict(x=x), function, coda, None)


def clip_factor(make: Maker, count: int) -> Case:
    squares = torch.rand(count, device=make.device)
    norm, factor = make.partials(1, 1), make.partials(1, 1)
    max_norm = 0.1 * count**0.5

    def coda(run):
        ports = dict(squares=squares, norm=norm, factor=factor, max_norm=max_norm)
        run("clip_factor", "fp32", None, None, **ports)
        return dict(norm=norm[0], factor=factor[0])

    def function(v):
        total = v["squares"].sum().sqrt().reshape(1)
        return dict(norm=total, factor=(max_norm / (total + 1e-6)).clamp(max=1.0))

    return Case("clip_factor", "fp32", dict(squares=squares), function, coda, None)


def adamw(make: Maker, N: int, K: int) -> Case:
    master, m, gradient = (torch.randn(N, K, device=make.device) for _ in range(3))
    v = torch.rand(N, K, device=make.device)
    inputs = dict(master=master, m=m, v=v, gradient=gradient, gamma=make.gamma(K))
    beta1, beta2, epsilon, decay, lr, step = 0.9, 0.95, 1e-8, 0.1, 1e-3, 100
    c1, c2 = 1 / (1 - beta1**step), 1 / (1 - beta2**step)

    def coda(run):
        state = {name: inputs[name].clone() for name in ("master", "m", "v")}
        outputs = dict(weight=make.empty(N, K), folded=make.empty(N, K))
        rates = torch.tensor([lr, c1, c2], device=make.device)
        ports = dict(gradient=gradient, gamma=inputs["gamma"], rates=rates, beta1=beta1)
        ports |= dict(beta2=beta2, epsilon=epsilon, decay=decay)
        run("adamw", make.type, None, None, **state, **ports, **outputs)
        return state | outputs

    def function(v):  # as torch.optim.AdamW computes
        g = v["gradient"]
        m = v["m"].lerp(g, 1 - beta1)
        squares = (v["v"] * beta2).addcmul(g, g, value=1 - beta2)
        below = squares.sqrt() * c2**0.5 + epsilon
        new = (v["master"] * (1 - lr * decay)).addcdiv(m, below, value=-lr * c1)
        weight = new if new.element_size() > 4 else new.to(make.dtype)
        folded = weight * v["gamma"]
        return dict(master=new, m=m, v=squares, weight=weight, folded=folded)

    return Case("adamw", make.type, inputs, function, coda, None)
