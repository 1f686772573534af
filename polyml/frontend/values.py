"""A typed expression with the types its value may have when the program runs, and the conversions between types.

The same name may hold a Python float before a loop and a NumPy scalar after its first iteration (`s = 0.0`, then `s
+= A[i]`), so a value has a set of possible types. The compiled program holds it in one type, `held`, that contains
them all. Conversions here are those of Python and NumPy: of a weak number beside a NumPy scalar, of a value stored
into an element, of float(x) and np.int8(x).
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from polyml.dtypes import BOOL, F32, F64, I64, PYBOOL, PYFLOAT, PYINT, DType
from polyml.errors import PolymlOverflowError
from polyml.frontend.promotion import embeds, join
from polyml.frontend.syntax import Cast, Compare, Const, Expr
from polyml.source import Loc


@dataclass(frozen=True)
class Value:
    """expr: typed, of dtype representation(held(kinds)). kinds: the types the value may have, weak ones included.

    No kinds: nothing is known yet, in the first passes over a loop; then expr is not typed.
    """

    expr: Expr
    kinds: frozenset[DType]

    @property
    def known(self) -> bool:
        return bool(self.kinds)

    @property
    def is_weak(self) -> bool:
        """True if it is certainly a Python number."""
        return all(k.weak for k in self.kinds)

    @property
    def is_weak_constant(self) -> bool:
        return self.is_weak and isinstance(self.expr, Const)

    @property
    def held(self) -> DType:
        """The type that holds it: PYINT, PYFLOAT, PYBOOL or a fixed type."""
        return held(self.kinds)

    def __str__(self) -> str:
        return spelled(self.kinds)


UNKNOWN = Value(Const(0), frozenset())


def held(kinds: frozenset[DType]) -> DType | None:
    """The type that holds values of each of these types exactly, or None."""
    fixed = frozenset(k for k in kinds if not k.weak)
    if not fixed:
        return next(k for k in (PYFLOAT, PYINT, PYBOOL) if k in kinds)
    common = join(fixed)
    if common is not None and PYFLOAT in kinds and not common.is_float:
        return F64 if embeds(common, F64) else None
    if common == BOOL and PYINT in kinds:
        return I64
    return common


def representation(dtype: DType) -> DType:
    """How the compiled program holds a type: Python's floats and bools as f64 and bool."""
    return {PYFLOAT: F64, PYBOOL: BOOL}.get(dtype, dtype)


def spelled(kinds: frozenset[DType]) -> str:
    """ "float64", "a Python float", "a Python int or int32"."""
    names = [
        f"a Python {'bool' if k == PYBOOL else k.name}" if k.weak else k.numpy_name for k in sorted(kinds, key=_order)
    ]
    return " or ".join(names)


def _order(dtype: DType) -> tuple:
    return (not dtype.weak, dtype.kind, dtype.bits)


def constant(value: object, dtype: DType, loc: Loc | None) -> Value:
    return Value(Const(value, dtype=representation(dtype), loc=loc), frozenset((dtype,)))


def converted(value: Value, to: DType, *, implicit: bool = True) -> Expr:
    """The value as an operand of type `to`, as NumPy converts in promotion, and as np.int8(x) does.

    A Python int that `to` cannot hold is an error: found here for a constant, else a check of the Cast from PYINT.
    """
    expr, target = value.expr, representation(to)
    if isinstance(expr, Const) and (value.is_weak or embeds(expr.dtype, target)):
        return _folded(value, target)
    if expr.dtype == target:
        return expr
    if target == BOOL:
        return truth(value)
    if target == F32 and expr.dtype == PYINT:  # NumPy goes through a double
        expr = _cast(expr, F64, True)
    if target.is_integer and value.held == PYFLOAT:  # NumPy takes int(x) of a Python float
        expr = _cast(expr, PYINT, True)
    return expr if expr.dtype == target else _cast(expr, target, implicit)


def stored(value: Value, element: DType) -> Expr:
    """The value as an element, as NumPy's `A[i] = value` converts it.

    A signed integer element takes int(value), and raises OverflowError where that does not fit, even for NumPy scalars.
    An unsigned one takes a NumPy scalar modulo 2**bits.
    """
    expr = value.expr
    if element.kind == "i" and not embeds(expr.dtype, element) and not value.is_weak:
        return converted(Value(_cast(expr, PYINT, True), frozenset((PYINT,))), element)
    return converted(value, element)


def embedded(value: Value, to: DType) -> Expr | None:
    """The value as one of type `to` that equals it, or None if there may be none: a choice converts no value."""
    expr, target = value.expr, representation(to)
    if expr.dtype == target:
        return expr
    if value.is_weak_constant:
        return _exact_constant(expr, target)
    if not embeds(expr.dtype, target):
        return None
    return converted(value, to)


def truth(value: Value) -> Expr:
    """The value as a condition: a number is true unless it is zero, so a NaN is true."""
    expr = value.expr
    if expr.dtype == BOOL:
        return expr
    if isinstance(expr, Const):
        return Const(bool(expr.value), dtype=BOOL, loc=expr.loc)
    zero = Const(0.0 if expr.dtype.is_float else 0, dtype=expr.dtype, loc=expr.loc)
    return Compare("!=", expr, zero, dtype=BOOL, loc=expr.loc)


def integer_range(dtype: DType) -> range:
    """The values an integer type holds, as a range (which may be too long for len())."""
    if dtype.kind == "b":
        return range(0, 2)
    low = 0 if dtype.kind == "u" else -(2 ** (dtype.bits - 1))
    return range(low, low + 2**dtype.bits)


def _cast(expr: Expr, to: DType, implicit: bool) -> Cast:
    return Cast(expr, to, implicit, dtype=to, loc=expr.loc)


def _folded(value: Value, to: DType) -> Const:
    """A constant in another type: the conversion NumPy does at run time, done now."""
    expr, number = value.expr, value.expr.value
    try:
        if to == BOOL:
            result = bool(number)
        elif to.is_integer:
            result = int(number)
        else:
            with np.errstate(over="ignore"):
                result = float(np.float32(float(number))) if to == F32 else float(number)
    except (OverflowError, ValueError) as problem:
        raise PolymlOverflowError(
            f"{number!r:.40} does not fit {to.numpy_name}", loc=expr.loc, notes=_fitting(to)
        ) from problem
    if to.is_integer and to != PYINT and result not in integer_range(to):
        raise PolymlOverflowError(f"{number!r:.40} does not fit {to.numpy_name}", loc=expr.loc, notes=_fitting(to))
    return dataclasses.replace(expr, value=result, dtype=to)


def _fitting(to: DType) -> list[str]:
    if not to.is_integer:
        return [f"accepted: a number of the range of {to.numpy_name}"]
    limits = integer_range(to)
    return [f"accepted: an integer from {limits[0]} to {limits[-1]}, the range of {to.numpy_name}"]


def _exact_constant(expr: Const, to: DType) -> Const | None:
    number = expr.value
    if to == BOOL:
        return None
    if to.is_integer:
        fits = to == PYINT or number in integer_range(to)
        return dataclasses.replace(expr, value=int(number), dtype=to) if fits else None
    try:
        as_float = float(np.float32(number)) if to == F32 else float(number)
    except OverflowError:
        return None
    same = as_float == number or (math.isnan(as_float) and isinstance(number, float) and math.isnan(number))
    return dataclasses.replace(expr, value=as_float, dtype=to) if same else None
