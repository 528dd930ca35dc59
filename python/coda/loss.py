"""linear_cross_entropy: the loss of a language model's head without its logits."""

import math
import sys

import torch
import torch.nn.functional as F
from torch import Tensor

NAME = "linear_cross_entropy"
REDUCTIONS = ("mean", "sum", "none")


def linear_cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    target: Tensor,
    *,
    bias: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    z_loss: float = 0.0,
    label_smoothing: float = 0.0,
    softcap: float = 0.0,
    chunk: int | None = None,
) -> Tensor:
    """Cross-entropy of z = hidden weightᵀ + bias, as F.cross_entropy has it, without z's memory.

    For mean and sum the gradients that are needed are made together with the loss, `chunk` tokens
    at a time, and backward only multiplies them; for none, backward makes z again. The weight's
    gradient is added up in fp32 and rounded once.

    Args:
        hidden: [..., h], bf16; on the CPU also fp32. Copied where its tokens are not evenly apart.
        weight: [V, h], of hidden's type and device. Copied where its rows are not contiguous.
        target: [...], int64: classes from 0 to V - 1, or ignore_index. Another number is an error
            on the CPU; on a GPU, where the host does not wait to look, the loss is NaN.
        bias: [V], of hidden's type; taken as one more column of the weight, which is copied.
        ignore_index: tokens of this target count for nothing.
        reduction: "mean" over the tokens that count, "sum" or "none".
        z_loss: λ of λ·lse², added to each token's loss; lse: the log-sum-exp of z.
        label_smoothing: from 0 to below 1, as in F.cross_entropy.
        softcap: c > 0 takes c·tanh(z/c) for z; 0: none.
        chunk: tokens whose logits exist at a time; None: as many as have 2³⁰ logits.

    Returns:
        The loss in fp32: [], or target's shape for reduction "none". The mean over no tokens is
        NaN; its gradients are zero.

    Under autocast to bf16 hidden, weight and bias are converted first.
    """
    check_tensors(hidden, weight, target, bias)
    check_numbers(ignore_index, reduction, z_loss, label_smoothing, softcap, chunk)
    kind = hidden.device.type
    if torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
        hidden, weight = hidden.to(dtype), weight.to(dtype)
        bias = None if bias is None else bias.to(dtype)
    check_types(hidden, weight, bias)
    x = hidden.reshape(target.numel(), hidden.shape[-1])  # [M, h]
    if bias is not None:
        x, weight = with_bias(x, weight, bias)
    now = torch.is_grad_enabled() and reduction != "none"
    loss = torch.ops.coda.linear_cross_entropy(
        x,
        weight,
        target.reshape(-1),
        ignore_index,
        reduction,
        z_loss,
        label_smoothing,
        softcap,
        chunk or 0,
        make_dx=now and x.requires_grad,
        make_dweight=now and weight.requires_grad,
    )[0]
    return loss.view(target.shape) if reduction == "none" else loss


def with_bias(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """[x, 1, 0] and [weight, bias, 0]: as wide as the GPU's loads ask for, a multiple of 8."""
    more = 8 - x.shape[1] % 8
    ones = F.pad(x.new_ones(x.shape[0], 1), (0, more - 1))
    return torch.cat((x, ones), 1), torch.cat((weight, F.pad(bias[:, None], (0, more - 1))), 1)


def check_tensors(hidden: Tensor, weight: Tensor, target: Tensor, bias: Tensor | None) -> None:
    tensors = {"hidden": hidden, "weight": weight, "target": target, "bias": bias}
    for name, tensor in tensors.items():
        if tensor is None and name == "bias":
            continue
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{NAME}: {name}: expected a torch.Tensor, got {type(tensor).__name__}")
        if is_dtensor(tensor):
            raise TypeError(
                f"{NAME}: {name}: expected a plain tensor, got a DTensor: call it where the "
                "parameters are unsharded, or pass full_tensor()"
            )
        if tensor.device != hidden.device:
            raise ValueError(
                f"{NAME}: {name}: expected hidden's device, {hidden.device}, got {tensor.device}"
            )
    if hidden.device.type not in ("cpu", "cuda"):
        raise ValueError(f"{NAME}: hidden: expected a tensor on cpu or cuda, got {hidden.device}")
    if target.dtype != torch.int64:
        raise TypeError(f"{NAME}: target: expected torch.int64, got {target.dtype}: use .long()")
    if hidden.dim() == 0:
        raise ValueError(f"{NAME}: hidden: expected shape [..., h], got []")
    if weight.dim() != 2 or weight.shape[1] != hidden.shape[-1] or weight.shape[0] == 0:
        raise ValueError(
            f"{NAME}: weight: expected shape [V, {hidden.shape[-1]}] with V above 0, as hidden is "
            f"{list(hidden.shape)}; got {list(weight.shape)}"
        )
    if target.shape != hidden.shape[:-1]:
        raise ValueError(
            f"{NAME}: target: expected shape {list(hidden.shape[:-1])}, hidden's without its last "
            f"dimension, got {list(target.shape)}"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError(
            f"{NAME}: bias: expected shape {list(weight.shape[:1])}, got {list(bias.shape)}"
        )


def is_dtensor(tensor: Tensor) -> bool:
    module = sys.modules.get("torch.distributed.tensor")  # nobody has one who did not import it
    return module is not None and isinstance(tensor, module.DTensor)


def check_types(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    kind = hidden.device.type
    expected = (torch.bfloat16, torch.float32) if kind == "cpu" else (torch.bfloat16,)
    if hidden.dtype not in expected:
        raise TypeError(
            f"{NAME}: hidden: expected {' or '.join(map(str, expected))} on {kind}, got "
            f"{hidden.dtype}: convert it, or use torch.autocast('{kind}', dtype=torch.bfloat16)"
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor.dtype != hidden.dtype:
            raise TypeError(
                f"{NAME}: {name}: expected hidden's type, {hidden.dtype}, got {tensor.dtype}: "
                f"convert one of them, or use torch.autocast('{kind}', dtype=torch.bfloat16)"
            )


def check_numbers(
    ignore_index: int,
    reduction: str,
    z_loss: float,
    label_smoothing: float,
    softcap: float,
    chunk: int | None,
) -> None:
    if reduction not in REDUCTIONS:
        raise ValueError(f"{NAME}: reduction: expected one of {REDUCTIONS}, got {reduction!r}")
    if not isinstance(ignore_index, int):
        raise TypeError(f"{NAME}: ignore_index: expected an int, got {ignore_index!r}")
    for name, value in (("z_loss", z_loss), ("softcap", softcap)):
        if not 0 <= value < math.inf:
            raise ValueError(f"{NAME}: {name}: expected 0 or a positive number, got {value}")
    if not 0 <= label_smoothing < 1:
        raise ValueError(
            f"{NAME}: label_smoothing: expected a number from 0 to below 1, got {label_smoothing}"
        )
    if chunk is not None and (not isinstance(chunk, int) or chunk < 1):
        raise ValueError(f"{NAME}: chunk: expected None or an int of at least 1, got {chunk!r}")
