"""Functions that @coda.program refuses; program_errors_test.py has the messages."""

import contextlib
import math
from typing import Any

import numpy
import torch

import coda

STORED: list[Any] = []
COUNT = 0


def branches(acc, bias: coda.PerColumn):
    if acc > 0.0:
        return coda.store(out=acc + bias)
    return coda.store(out=bias * acc)


def loops(acc):
    while acc < 1.0:
        acc = acc * 2.0
    return coda.store(out=acc)


def chained(acc):
    inside = 0.0 < acc < 1.0
    return coda.store(out=coda.where(inside, acc, 0.0))


def words(acc):
    return coda.store(out=coda.where(acc > 0.0 and acc < 1.0, acc, 0.0))


def largest(acc, other):
    return coda.store(out=max(acc, other))


def mathematics(acc):
    return coda.store(out=math.exp(acc))


def arrays(acc):
    return coda.store(out=numpy.exp(acc))


def torch_function(acc):
    return coda.store(out=torch.exp(acc))


def torch_python_function(acc):
    return coda.store(out=torch.nn.functional.softmax(acc, 1))


def torch_tensor(acc):
    return coda.store(out=torch.ones(3) * acc)


def method(acc):
    return coda.store(out=acc.exp())


def unknown(acc):
    return coda.store(out=coda.softmax(acc))


def undefined(acc):
    return coda.store(out=acc * scale)  # noqa: F821


def number(acc):
    return coda.store(out=acc * float(acc))


def indexed(acc):
    return coda.store(out=acc[0])


def assigned(acc):
    acc[0] = 1.0
    return coda.store(out=acc)


def length(acc):
    return coda.store(out=acc / len(acc))


def text(acc):
    return coda.store(out=acc + "1")


def power(acc):
    return coda.store(out=acc**2.7)


def remainder(acc):
    return coda.store(out=acc % 2.0)


def contraction(acc, other):
    return coda.store(out=acc @ other)


def parentheses(acc):
    return coda.store(out=coda.where(acc > 0.0 & acc, acc, 0.0))


def condition_as_number(acc):
    return coda.store(out=(acc > 0.0) * acc)


def number_as_condition(acc):
    return coda.store(out=coda.where(acc, 1.0, 0.0))


def stored_condition(acc):
    return coda.store(out=acc > 0.0)


def mixed(acc, index: coda.IntegerPerRow):
    return coda.store(out=acc * index)


def not_a_number(acc):
    return coda.row_max(top=acc + math.nan)


def too_large(acc):
    return coda.store(out=acc * 1e39)


def only_rows(acc, scale: coda.PerRow):
    return coda.store(out=acc), coda.row_sum(total=scale * 2.0)


def reads_output(acc):
    out = coda.store(out=acc)
    return out, coda.row_sum(total=out * out)


def stores_output(acc):
    out = coda.store(out=acc)
    return out, coda.row_sum(total=out)


def reads_maximum(acc):
    top = coda.row_max(top=acc)
    return top, coda.store(out=coda.exp(acc - top))


def exponential_of_maximum(acc):
    top = coda.row_max(top=acc)
    return top, coda.store(out=acc * coda.exp(top))


def twice(acc):
    first = coda.store(out=acc)
    return first, coda.store(out=acc * 2.0)


def dropped(acc):
    coda.row_sum(total=acc)
    return coda.store(out=acc)


def nothing(acc):
    coda.store(out=acc)


def an_empty_tuple(acc):
    return ()


def a_value(acc):
    return acc * 2.0


def a_number(acc):
    return 2.0


def unnamed(acc):
    return coda.store(acc)


def two_names(acc):
    return coda.store(first=acc, second=acc)


def unused(acc, other):
    return coda.store(out=acc)


def unused_accumulator(acc, other):
    return coda.store(out=other)


def keeps_value(acc):
    STORED.append(acc)
    return coda.store(out=acc)


def reads_kept(acc):
    return coda.store(out=acc + STORED[0]) if STORED else coda.store(out=acc)


def counts(acc):
    global COUNT
    COUNT += 1
    return coda.store(out=acc)


def sets_attribute(acc):
    coda.last = acc
    return coda.store(out=acc)


def random_number(acc):
    return coda.store(out=acc * float(torch.rand(())))


def generator(acc):
    yield coda.store(out=acc)


def wrong_dtype(acc):
    return coda.store(out=acc, dtype=torch.float64)


def swallowed(acc):
    try:
        if acc > 0.0:
            acc = acc * 2.0
    except TypeError:
        pass
    return coda.store(out=acc)


def swallowed_behind_another(acc):
    @coda.program
    def inner(acc):
        return coda.store(out=2.0 * acc)

    with contextlib.suppress(TypeError):
        acc = acc @ 2.0
    return coda.store(out=acc)
