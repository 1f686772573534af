"""Typed expressions and the conversions between types, as Python and NumPy convert.

Conversions are those of a weak number beside a NumPy scalar, of a number stored into an element, of float(x) and
np.int8(x), and of a number that is held in a larger type than the one it has on this path.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from polyml.dtypes import BOOL, F16, F32, F64, PYFLOAT, PYINT, DType
from polyml.errors import PolymlOverflowError, PolymlTypeError
from polyml.frontend.syntax import Cast, Compare, Const, Expr
from polyml.frontend.types.promotion import embeds
from polyml.frontend.types.type_sets import (
    TypeSet,
    exact,
    held_in,
    holds,
    integer_range,
    is_weak,
    of_type,
    representation,
    rounded,
    spelled,
)
from polyml.source import Loc


@dataclass(frozen=True)
class TypedValue:
    """A TypedValue is a typed expression, with the types that its value may have when the program runs.

    While these are not known, in the first passes over a loop, `types` is empty and the expression has no type.

    expr: the expression, whose dtype is the smallest type that holds all values of `types`
    types: each type that the value may have -> the values of this type that may occur, or None for any
    """

    expr: Expr
    types: TypeSet

    @property
    def known(self) -> bool:
        """Returns whether the types of the value are known."""
        return bool(self.types)

    @property
    def dtype(self) -> DType:
        """Returns the type that holds the value."""
        return self.expr.dtype

    @property
    def is_weak(self) -> bool:
        """Returns whether the value is certainly a Python number."""
        return is_weak(self.types)

    @property
    def is_weak_constant(self) -> bool:
        """Returns whether the value is a constant that is a Python number."""
        return self.is_weak and isinstance(self.expr, Const)

    @property
    def is_rounded(self) -> bool:
        """Returns whether the value may be a Python int that is held in a float type, which rounds it."""
        held = self.dtype.kind == "f" and PYINT in self.types
        return held and not holds(self.dtype, PYINT, self.types[PYINT])

    def __str__(self) -> str:
        return spelled(self.types)


def depends_on_path(expr: Expr, types: TypeSet) -> PolymlTypeError:
    """Returns the error for a value whose type depends on the path that the program takes."""
    return PolymlTypeError(
        f"the type of this depends on the path the program takes: {spelled(types)}",
        loc=expr.loc,
        notes=["accepted: one type on all paths, by a conversion such as np.float32(0.5) where they differ"],
    )


UNKNOWN = TypedValue(Const(0), {})


def constant(value: object, dtype: DType, loc: Loc | None) -> TypedValue:
    """Returns a number that is a literal, or a global or closure value, as a typed value of type `dtype`."""
    types = {dtype: (value,)} if dtype.weak else of_type(dtype)
    return TypedValue(Const(value, dtype=representation(dtype), loc=loc), types)


def converted(value: TypedValue, to: DType, *, implicit: bool = True) -> Expr:
    """Returns the value as an operand of type `to`, as NumPy converts in promotion, and as np.int8(x) does.

    implicit: whether type inference adds the conversion, which the kernel's text does not have
    Raises PolymlOverflowError for a constant Python int that `to` cannot hold; for any other int, the Cast from PYINT is checked
    when the program runs. Raises PolymlTypeError for a complex number where `to` is real.
    """
    expr, target = value.expr, representation(to)
    if target.is_integer and value.is_rounded:
        raise depends_on_path(expr, value.types)
    if expr.dtype.is_complex and not target.is_complex and target != BOOL:
        raise PolymlTypeError(
            f"a complex number stands where {target.numpy_name} is needed",
            loc=expr.loc,
            notes=["accepted: z.real, z.imag or abs(z)"],
        )
    if isinstance(expr, Const) and (value.is_weak or embeds(expr.dtype, target)):
        return _folded(expr, target)
    if expr.dtype == target:
        return expr
    if target.is_integer and value.is_weak and PYFLOAT in value.types:  # NumPy takes int(x) of a Python float
        expr = _cast(expr, PYINT, True)
    if target.is_integer and PYINT in value.types and not embeds(expr.dtype, target) and not expr.dtype.is_float:
        expr = _cast(expr, PYINT, True)  # an int that does not fit is an error, whatever holds it
    return _cast(expr, target, implicit)


def widened(value: TypedValue, to: DType) -> Expr:
    """Returns the value converted without loss, to a larger type that contains its own, or back to its own from such a type."""
    expr = value.expr
    if expr.dtype == to:
        return expr
    if value.is_weak and isinstance(expr, Const):
        same = exact(expr.value, to)
        return dataclasses.replace(expr, value=rounded(expr.value, to) if same is None else same, dtype=to)
    return _cast(expr, to, True)


def narrowed(expr: Expr, types: TypeSet) -> TypedValue:
    """Returns a number, which is kept in a type that is larger than needed here, converted to the smallest type that holds `types`.

    types: the types that the number may have at this place of the program
    """
    held = held_in(types)
    if held is None:
        raise TypeError(f"no type holds {spelled(types)}")
    return TypedValue(_cast(expr, held, True), types)


def truth(expr: Expr) -> Expr:
    """Returns a typed number as a condition, an expression of type BOOL that is true unless the number is zero; a NaN is true."""
    if expr.dtype == BOOL:
        return expr
    if isinstance(expr, Const):
        return Const(bool(expr.value), dtype=BOOL, loc=expr.loc)
    zero = Const(0j if expr.dtype.is_complex else 0.0 if expr.dtype.is_float else 0, dtype=expr.dtype, loc=expr.loc)
    return Compare("!=", expr, zero, dtype=BOOL, loc=expr.loc)


def _cast(expr: Expr, to: DType, implicit: bool) -> Expr:
    if expr.dtype == to:
        return expr
    if to == BOOL:
        return truth(expr)
    if to.part in (F32, F16) and expr.dtype == PYINT:  # NumPy goes through a double
        expr = Cast(expr, F64, True, dtype=F64, loc=expr.loc)
    return Cast(expr, to, implicit, dtype=to, loc=expr.loc)


def _folded(expr: Const, to: DType) -> Const:
    """Returns a constant converted to another type, as NumPy would convert it when the program runs.

    Raises PolymlOverflowError for a number that does not fit the type.
    """
    number = expr.value
    try:
        result = bool(number) if to == BOOL else int(number) if to.is_integer else rounded(number, to)
        fits = not to.is_integer or to == PYINT or result in integer_range(to)
    except (OverflowError, ValueError):
        fits = False
    if not fits:
        limits = integer_range(to) if to.is_integer else None
        accepted = f"an integer from {limits[0]} to {limits[-1]}" if limits else "a number"
        raise PolymlOverflowError(
            f"{number!r:.40} does not fit {to.numpy_name}",
            loc=expr.loc,
            notes=[f"accepted: {accepted}, the range of {to.numpy_name}"],
        )
    return dataclasses.replace(expr, value=result, dtype=to)
