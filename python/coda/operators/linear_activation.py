"""linear_activation: out = f(z), z = r ⊙ (x Wᵀ − μ·shift) + offset + bias: a linear layer behind a
LayerNorm, whose mean μ and row factor r are finished from moments; x holds x⊙γ, shift is γ Wᵀ and
offset is β Wᵀ. Without a norm: f(x Wᵀ + bias)."""

from torch import Tensor

from coda import _native
from coda.operators.linear_swiglu import NUMBERS as GATED_NUMBERS
from coda.operators.registration import declare, define
from coda.operators.variants import NAMES

SCHEMA = (
    "linear_activation(Tensor x, Tensor weight, Tensor? bias=None, Tensor? moments=None, "
    "float epsilon=0., Tensor? shift=None, Tensor? offset=None, "
    'str activation="identity", bool keep=False) -> (Tensor out, Tensor before)'
)
HANDLE = declare(
    "linear_activation", "either x", "either weight", "bias", "mean=moments", "mean.width=x",
    "rstd=moments", "rstd.width=x", "rstd.epsilon=epsilon", "shift", "offset", "activation",
    "before", "out",
)  # fmt: skip
NUMBERS = GATED_NUMBERS | {"identity": 4}  # libcoda's


def activation_number(activation: str) -> int:
    """What libcoda calls an activation that no gate stands beside."""
    number = NUMBERS.get(activation)
    if number is None:
        raise ValueError(f"activation: expected one of {', '.join(NUMBERS)}, got {activation!r}")
    return number


def linear_activation(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    moments: Tensor | None = None,
    epsilon: float = 0.0,
    shift: Tensor | None = None,
    offset: Tensor | None = None,
    activation: str = "identity",
    keep: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """x [M, K], weight [N, K], bias [N]; moments [⌈K/64⌉, 2M] fp32 of layer_norm_inputs or
    linear_residual_layer_norm, with them shift and offset [N] fp32
    -> out [M, N] and, with keep, before = z [M, N].

    activation: identity, silu, gelu, gelu_tanh or relu.
    """
    number = activation_number(activation)
    if (moments is None) is not (shift is None) or (moments is None) is not (offset is None):
        raise ValueError("moments, shift, offset: expected all of them or none, got some")
    out = x.new_empty(x.shape[0], weight.shape[0])
    before = x.new_empty(x.shape[0], weight.shape[0]) if keep else None
    norm: tuple[Tensor | float | None, ...] = (None,) * 5
    if moments is not None:
        width = x.shape[1]
        norm = (moments, width, moments, width, epsilon)
    _native.run(
        HANDLE, NAMES[x.dtype], x, weight, bias, *norm, shift, offset, number, before, out
    )  # fmt: skip
    return out, before


operator = define(
    SCHEMA,
    linear_activation,
    shapes={"bias": "[N]", "moments": "[parts, 2M]", "shift": "[N]", "offset": "[N]"},
)
