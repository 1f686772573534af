"""A product of matrices in terms of loops: what a library is to compute."""

from __future__ import annotations

from dataclasses import dataclass

from polyml.quasi_affine.affine import Affine

BATCH, ROW, COLUMN, SUM = "batch", "row", "column", "sum"


@dataclass(frozen=True)
class Scale:
    """A Scale is a factor that is the same for all elements: a constant times arguments of the call. arguments: their names.

    >>> Scale(2.0, ("alpha",)).times(Scale(-1.0, ()))
    Scale(constant=-2.0, arguments=('alpha',))
    """

    constant: float = 1.0
    arguments: tuple[str, ...] = ()

    def times(self, other: Scale) -> Scale:
        """Returns the product of two factors."""
        return Scale(self.constant * other.constant, (*self.arguments, *other.arguments))


@dataclass(frozen=True)
class Walk:
    """A Walk says which elements of an array the iterations of several loops access.

    first: the subscripts in the first iteration of all loops, expressions of the sizes and the host's loops.
    steps: for each loop, what one iteration adds to each subscript.
    """

    array: str
    first: tuple[Affine, ...]
    steps: tuple[tuple[int, ...], ...]

    def moves(self, loop: int) -> bool:
        """Returns whether the walk goes to other elements along the loop of this number."""
        return any(self.steps[loop])


@dataclass(frozen=True)
class MatrixProduct:
    """A MatrixProduct adds to each element of a result a sum of products of two elements: result = alpha * left * right + beta * result.

    host: names of the host's loops, in `extents` and in the walks.
    extents: how many iterations each loop has, those of the result and those of the sum.
    roles: what each loop is, one of BATCH, ROW, COLUMN and SUM.
    result, left, right: which elements the loops access.
    tf32: whether operands of float32 may be rounded to 11 bits.
    """

    host: tuple[str, ...]
    extents: tuple[Affine, ...]
    roles: tuple[str, ...]
    result: Walk
    left: Walk
    right: Walk
    alpha: Scale
    beta: Scale
    tf32: bool = False
