"""The forward of a patched model's last norm, the one behind its layers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coda.patching.conditions import Options, Patched
from coda.patching.families import Family
from coda.patching.parts import Watch, is_stock

NAME = "norm"  # in transformers' …Model; no other norm is called so


def patched_norm(name: str, norm: nn.Module, options: Options) -> Patched:
    """What patch() leaves beside it. Hooks and parametrisations work on it as on the stock one."""
    return Patched(norm, name, Watch(()), options)


def fused(norm: Any, hidden_states: Tensor) -> Tensor:
    """On a GPU one operator of PyTorch's, where transformers has six for each direction, and one
    rounding where it has two. On the CPU it is made of others, and slower than stock."""
    # Autocast would compute in fp32 and leave it at that, where stock gives back the type it got.
    with torch.autocast(hidden_states.device.type, enabled=False):
        return F.rms_norm(hidden_states, norm.weight.shape, norm.weight, norm.variance_epsilon)


def make_forward(family: Family) -> Callable[..., Any]:
    """The function that takes the place of the norm's forward."""
    stock = family.norm.forward if is_stock(family.norm, "forward") else None

    @functools.wraps(family.norm.forward)
    def forward(self: Any, hidden_states: Tensor) -> Any:
        now = type(self).forward
        taken = hidden_states.is_cuda and hidden_states.dtype == self.weight.dtype
        taken = taken and self._coda_patch is not None  # Patched
        return fused(self, hidden_states) if taken and now is stock else now(self, hidden_states)

    return forward
