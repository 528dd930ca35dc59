"""Functions that @coda.program refuses for their names, arguments and defaults;
program_errors_test.py has the messages."""

import coda


def no_arguments():
    return coda.store(out=1.0)


def many(acc, *others):
    return coda.store(out=acc)


def options(acc, **others):
    return coda.store(out=acc)


def self_method(self, acc):
    return coda.store(out=acc)


def plain_type(acc, alpha: float):
    return coda.store(out=acc * alpha)


def first_kind(acc: coda.PerRow):
    return coda.store(out=acc)


def late(acc, bias: coda.PerColumn, more: coda.Accumulator):
    return coda.store(out=acc + bias + more)


def tensor_default(acc, bias: coda.PerColumn = 1.0):
    return coda.store(out=acc + bias)


def text_default(acc, alpha: coda.Scalar = "1"):
    return coda.store(out=acc * alpha)


def large_default(acc, alpha: coda.Scalar = 1e300):
    return coda.store(out=acc * alpha)


def same_name(acc, out):
    return coda.store(out=acc + out)


def gradient_name(acc, dout):
    return coda.store(out=acc + dout)


def taken_name(acc, x):
    return coda.store(out=acc + x)


def number_name(acc, alpha_number):
    return coda.store(out=acc + alpha_number)


def word_of_cpp(acc, template: coda.PerColumn):
    return coda.store(out=acc + template)


def other_word_of_cpp(acc, not_eq: coda.PerColumn):
    return coda.store(out=acc + not_eq)


def greek(acc, β: coda.PerColumn):
    return coda.store(out=acc + β)


def _(acc):
    return coda.store(out=acc)


def seventeen(acc, a, b, c, e, f, g, h, i, j, k, l, m, n, o, p):  # noqa: E741
    return coda.store(s=a + b + c + e + f + g + h + i + j + k + l + m + n + o + p + acc), (
        coda.row_sum(t=acc)
    )
