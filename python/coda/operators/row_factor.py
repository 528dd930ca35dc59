"""RMSNorm's row factor rstd = (Σ squares/width + ε)^-½ in gradients, outside of programs.

squares [parts, M] are partial sums of x² over 64 columns each.
"""

from torch import Tensor


def row_factor_values(
    squares: Tensor | None, epsilon: float, width: int
) -> tuple[Tensor | None, float | None, int | None]:
    """What the ports rstd, rstd.epsilon and rstd.width get."""
    if squares is None:
        return NO_ROW_FACTOR
    if width < 1:
        raise ValueError(
            f"width: expected the number of columns that squares are of, 1 or more, got {width}: "
            "pass width=x.shape[1] of the RMSNorm's input"
        )
    return squares, epsilon, width


NO_ROW_FACTOR = (None, None, None)


def row_factor(squares: Tensor, epsilon: float, width: int) -> Tensor:
    """rstd [M], fp32."""
    return (squares.sum(0) / width + epsilon).rsqrt()


def times_row_factor(dz: Tensor, squares: Tensor | None, epsilon: float, width: int) -> Tensor:
    """rstd ⊙ dz [M, N] in dz's type; dz itself where there is no norm."""
    if squares is None:
        return dz
    return (dz * row_factor(squares, epsilon, width).unsqueeze(1)).to(dz.dtype)


def squares_gradient(dots: Tensor, squares: Tensor, epsilon: float, width: int) -> Tensor:
    """The gradient by squares [parts, M] from dots [M] = Σ z·dz of z = rstd ⊙ x Wᵀ.

    dL/drstd = dots/rstd and drstd/dsquares = -½·rstd³/width, the same for every part.
    """
    rstd = row_factor(squares, epsilon, width)
    return (rstd.square() * dots * (-0.5 / width)).expand_as(squares)


def dots_of(x: Tensor, dx: Tensor) -> Tensor:
    """Σ z·dz [M] as Σ x·dx [M, K], its equal: both are dz W (rstd ⊙ x)ᵀ."""
    return (x.float() * dx.float()).sum(1)


def per_column(dsquares: Tensor, columns: int) -> Tensor:
    """The gradient [parts, M] of partial sums, at every column that they cover: [M, columns]."""
    return dsquares.t().repeat_interleave(64, 1)[:, :columns]
