"""Statements that add products of small numbers to sums of a wider type: `C[i, j] += int32(A[i, k]) * int32(B[k, j])`."""

from __future__ import annotations

from dataclasses import dataclass

from polyml.dtypes import DType
from polyml.frontend import syntax
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Array, Load, Statement, Value


@dataclass(frozen=True)
class Product:
    """A Product is the term that a statement adds to its sum: the product of two elements, in the type of the sum.

    reads: the positions of the two factors in the statement's reads.
    types: the types of the two factors.
    result: the type of the sum.
    """

    reads: tuple[int, int]
    types: tuple[DType, DType]
    result: DType

    def other(self, read: int) -> int | None:
        """Returns the position of the factor that is not the read at this position; None if that is no factor."""
        return self.reads[1 - self.reads.index(read)] if read in self.reads else None

    def type_of(self, read: int) -> DType:
        """Returns the type of the factor that is the read at this position."""
        return self.types[self.reads.index(read)]


def product(statement: Statement, reduction: Reduction | None, arrays: dict[str, Array]) -> Product | None:
    """Returns the product that a statement adds; None for any other statement.

    reduction: the statement's in the program, None if its order is not free.
    arrays: the SCoP's.
    """
    value, result = statement.value, arrays[statement.write.array].element
    if reduction is None or reduction.operator != "+" or not isinstance(value, syntax.Binary) or value.op != "+":
        return None
    sums = [v for v in (value.left, value.right) if isinstance(v, Load) and v.access == reduction.access]
    terms = [v for v in (value.left, value.right) if isinstance(v, syntax.Binary) and v.op == "*"]
    if len(sums) != 1 or len(terms) != 1 or not value.dtype == terms[0].dtype == result:
        return None
    found = [_factor(v, result) for v in (terms[0].left, terms[0].right)]
    if found[0] is None or found[1] is None:
        return None
    left, right = found[0], found[1]
    types = tuple(arrays[statement.reads[load.access].array].element for load in (left, right))
    if left.access == right.access or (left.dtype, right.dtype) != types:
        return None
    return Product((left.access, right.access), (left.dtype, right.dtype), result)


def _factor(value: Value, result: DType) -> Load | None:
    """Returns the element of which a value is the conversion to the type `result`; None for any other value."""
    if not isinstance(value, syntax.Cast) or value.to != result or not isinstance(value.operand, Load):
        return None
    return value.operand if value.operand.dtype.bits < result.bits else None
