"""What coda.linear_cross_entropy refuses, and how it says so."""

import math
import re

import pytest
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate

from coda import linear_cross_entropy

HIDDEN, WEIGHT = torch.randn(2, 3, 8), torch.randn(50, 8)
TARGET = torch.randint(50, (2, 3))


def out_of_range(value: int) -> torch.Tensor:
    target = TARGET.clone()
    target[1, 0] = value
    return target


# What is changed in a good call: the error, and words that its message must have.
CASES = {
    "hidden is a list": (dict(hidden=[1.0]), TypeError, ["hidden", "torch.Tensor", "list"]),
    "weight is None": (dict(weight=None), TypeError, ["weight", "torch.Tensor", "NoneType"]),
    "target is an int": (dict(target=3), TypeError, ["target", "torch.Tensor", "int"]),
    "bias is a float": (dict(bias=0.5), TypeError, ["bias", "torch.Tensor", "float"]),
    "hidden has no dimensions": (
        dict(hidden=torch.tensor(1.0)),
        ValueError,
        ["hidden", "[..., h]", "got []"],
    ),
    "weight is a vector": (dict(weight=WEIGHT[0]), ValueError, ["weight", "[V, 8]", "[8]"]),
    "weight is transposed": (dict(weight=WEIGHT.T), ValueError, ["weight", "[V, 8]", "[8, 50]"]),
    "no classes": (dict(weight=WEIGHT[:0]), ValueError, ["weight", "V above 0", "[0, 8]"]),
    "target is flat": (dict(target=TARGET.flatten()), ValueError, ["target", "[2, 3]", "[6]"]),
    "target has too many tokens": (
        dict(target=TARGET.repeat(1, 2)),
        ValueError,
        ["target", "[2, 3]", "[2, 6]"],
    ),
    "target of int32": (
        dict(target=TARGET.int()),
        TypeError,
        ["target", "torch.int64", "torch.int32", ".long()"],
    ),
    "target of probabilities": (
        dict(target=TARGET.float()),
        TypeError,
        ["target", "torch.int64", "torch.float32"],
    ),
    "bias of another length": (dict(bias=torch.zeros(49)), ValueError, ["bias", "[50]", "[49]"]),
    "hidden of fp16": (
        dict(hidden=HIDDEN.half()),
        TypeError,
        ["hidden", "torch.bfloat16 or torch.float32", "torch.float16", "autocast"],
    ),
    "hidden of fp64": (
        dict(hidden=HIDDEN.double(), weight=WEIGHT.double()),
        TypeError,
        ["hidden", "torch.float64"],
    ),
    "weight of another type": (
        dict(hidden=HIDDEN.bfloat16()),
        TypeError,
        ["weight", "torch.bfloat16", "torch.float32", "autocast"],
    ),
    "bias of another type": (
        dict(bias=torch.zeros(50).bfloat16()),
        TypeError,
        ["bias", "torch.float32", "torch.bfloat16"],
    ),
    "weight on another device": (
        dict(weight=WEIGHT.to("meta")),
        ValueError,
        ["weight", "cpu", "meta"],
    ),
    "target on another device": (
        dict(target=TARGET.to("meta")),
        ValueError,
        ["target", "cpu", "meta"],
    ),
    "all on a device that coda does not know": (
        dict(hidden=HIDDEN.to("meta"), weight=WEIGHT.to("meta"), target=TARGET.to("meta")),
        ValueError,
        ["hidden", "cpu or cuda", "meta"],
    ),
    "an unknown reduction": (dict(reduction="avg"), ValueError, ["reduction", "'mean'", "'avg'"]),
    "no reduction": (dict(reduction=None), ValueError, ["reduction", "None"]),
    "ignore_index is a float": (
        dict(ignore_index=-100.0),
        TypeError,
        ["ignore_index", "int", "-100.0"],
    ),
    "negative z_loss": (dict(z_loss=-0.1), ValueError, ["z_loss", "-0.1"]),
    "infinite z_loss": (dict(z_loss=math.inf), ValueError, ["z_loss", "inf"]),
    "label_smoothing of 1": (dict(label_smoothing=1.0), ValueError, ["label_smoothing", "1.0"]),
    "negative label_smoothing": (dict(label_smoothing=-0.5), ValueError, ["label_smoothing"]),
    "negative softcap": (dict(softcap=-30.0), ValueError, ["softcap", "-30.0"]),
    "softcap is NaN": (dict(softcap=math.nan), ValueError, ["softcap", "nan"]),
    "chunk of 0": (dict(chunk=0), ValueError, ["chunk", "at least 1", "got 0"]),
    "chunk is a float": (dict(chunk=64.0), ValueError, ["chunk", "64.0"]),
    "a class too many": (
        dict(target=out_of_range(50)),
        ValueError,
        ["target", "0 to 49", "-100", "got 50 at 3"],
    ),
    "a negative class": (
        dict(target=out_of_range(-1)),
        ValueError,
        ["target", "0 to 49", "got -1 at 3"],
    ),
    "ignore_index is another one": (
        dict(target=out_of_range(-100), ignore_index=-1),
        ValueError,
        ["target", "ignore_index = -1", "got -100"],
    ),
}


@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("changes, error, words", CASES.values(), ids=CASES)
def test_refused(changes, error, words, reduction):
    good = dict(hidden=HIDDEN, weight=WEIGHT, target=TARGET, reduction=reduction)
    with pytest.raises(error, match="linear_cross_entropy") as raised:
        linear_cross_entropy(**good | changes)
    for word in words:
        assert word in str(raised.value)


def test_backward_of_a_refused_call_leaves_no_gradient():
    hidden, weight = HIDDEN.clone().requires_grad_(), WEIGHT.clone().requires_grad_()
    with pytest.raises(ValueError, match="got 50 at 3"):
        linear_cross_entropy(hidden, weight, out_of_range(50)).backward()
    assert hidden.grad is None and weight.grad is None


def test_a_dtensor_is_refused(tmp_path):
    store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        mesh = init_device_mesh("cpu", (1,))
        sharded = DTensor.from_local(WEIGHT, mesh, [Replicate()])
        with pytest.raises(TypeError, match=re.escape("full_tensor()")):
            linear_cross_entropy(HIDDEN, sharded, TARGET)
    finally:
        torch.distributed.destroy_process_group()


def test_autocast_to_fp16_is_refused():
    with (
        torch.autocast("cpu", dtype=torch.float16),
        pytest.raises(TypeError, match=r"hidden.*torch\.float16"),
    ):
        linear_cross_entropy(HIDDEN, WEIGHT, TARGET)


OPERATOR_CASES = {
    "x of three dimensions": (
        (HIDDEN, WEIGHT, TARGET.flatten()),
        {},
        ["x: expected [M, h], got [2, 3, 8]"],
    ),
    "x of another width": ((HIDDEN[0, :, :4], WEIGHT, TARGET[0]), {}, ["weight", "[50, 4]"]),
    "target of another length": ((HIDDEN[0], WEIGHT, TARGET[0, :2]), {}, ["target", "[1, 3]"]),
    "target as a matrix": ((HIDDEN[0], WEIGHT, TARGET[:1]), {}, ["target: expected [M]"]),
    "weight as a vector": ((HIDDEN[0], WEIGHT[0], TARGET[0]), {}, ["weight: expected [V, h]"]),
    "a negative softcap": (
        (HIDDEN[0], WEIGHT, TARGET[0]),
        dict(softcap=-1.0),
        [": softcap: expected", "got -1;"],
    ),
    "label_smoothing of 1": (
        (HIDDEN[0], WEIGHT, TARGET[0]),
        dict(label_smoothing=1.0),
        [": label_smoothing: expected", "got 1;"],
    ),
    "a negative chunk": (
        (HIDDEN[0], WEIGHT, TARGET[0]),
        dict(chunk=-3),
        [": chunk: expected 0 or a number of rows, got -3"],
    ),
    "an unknown reduction": (
        (HIDDEN[0], WEIGHT, TARGET[0]),
        dict(reduction="avg"),
        ["reduction", "avg"],
    ),
    "gradients of no one loss": (
        (HIDDEN[0], WEIGHT, TARGET[0]),
        dict(reduction="none", make_dx=True),
        ["reduction", "sum or mean"],
    ),
}


@pytest.mark.parametrize("arguments, options, words", OPERATOR_CASES.values(), ids=OPERATOR_CASES)
def test_the_operator_refuses(arguments, options, words):
    with pytest.raises(ValueError, match="coda::linear_cross_entropy") as raised:
        torch.ops.coda.linear_cross_entropy(*arguments, **options)
    for word in words:
        assert word in str(raised.value)


@pytest.mark.parametrize("name", ["softcap", "label_smoothing", "chunk"])
def test_the_operator_of_its_gradients_refuses(name):
    tensors = (torch.tensor(1.0), HIDDEN[0], WEIGHT, TARGET[0], torch.ones(3))
    with pytest.raises(ValueError, match=f"^coda::linear_cross_entropy_backward: {name}: expected"):
        torch.ops.coda.linear_cross_entropy_backward(*tensors, **{name: -1})


def test_a_negative_chunk_under_fake_kernels():
    meta = (t.to("meta") for t in (HIDDEN[0], WEIGHT, TARGET[0]))
    with pytest.raises(ValueError, match="chunk: expected"):
        torch.ops.coda.linear_cross_entropy(*meta, chunk=-3)
