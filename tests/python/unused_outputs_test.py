"""Outputs that nobody used have no gradients, and their makers none to give."""

from typing import Any

import layer_test
import torch
from cases import all_cases
from registration_test import OPS, leaves
from torch import Tensor

from coda import layer


class Unused(torch.autograd.Function):
    """Hands outputs on, and no gradients back, as DDP does with outputs that nobody used."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(tensor.clone() for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, ...]:
        return (None,) * len(gradients)


def test_operators(device: str) -> None:
    for case in all_cases(torch.bfloat16, device, 9, 64, 64):
        inputs = leaves(case)
        made = getattr(OPS, case.operator)(**inputs)
        outputs = made if isinstance(made, tuple) else (made,)
        used = Unused.apply(*(out for out in outputs if out is not None and out.requires_grad))
        sum(out.float().sum() for out in used).backward()
        assert all(x.grad is None for x in inputs.values() if isinstance(x, Tensor)), case.operator


def test_a_layer() -> None:
    problem = layer_test.Problem()
    names = ("o_weight", "gamma2", "gate_weight", "up_weight", "down_weight")
    out, made = layer.attention_outputs(
        torch.randn(70, 64),
        problem.x,
        *(problem.parameters[name] for name in names),
        epsilon=layer_test.EPSILONS[0],
        next_gamma=problem.parameters["gamma"],
    )
    assert made is not None
    Unused.apply(out)[0].sum().backward()
    assert problem.x.grad is None
    assert all(parameter.grad is None for parameter in problem.parameters.values())
