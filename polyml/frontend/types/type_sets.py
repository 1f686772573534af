"""Type sets: the types that a number may have when the program runs, and the one type in which the program holds it.

One name may stand for a Python float on one path and for a NumPy scalar on another: `m = 0.0`, then `if A[i] > m: m =
A[i]`. Which of them it is decides how NumPy promotes, so a number has a `TypeSet`: a mapping from each type that it may have to
the values it then may have, if they are known, as they can be for a Python number. The program holds it in one type that
contains all of these values.
"""

from __future__ import annotations

import cmath
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from polyml.dtypes import BF16, BOOL, C128, F32, F64, FIXED, HALVES, PYBOOL, PYCOMPLEX, PYFLOAT, PYINT, DType
from polyml.frontend.types.promotion import embeds
from polyml.numpy_dtypes import numpy_dtype

Number = Any  # a Python number: int, float and complex have no type in common that has their operators
# None: any value of the type.
Known = tuple | None
TypeSet = Mapping[DType, Known]

_MOST_KNOWN = 8  # a constant that changes in a loop soon becomes "any value"


def of_type(dtype: DType) -> TypeSet:
    """Returns the type set of a number of one type of which no value is known."""
    return {dtype: None}


def union(type_sets: Iterable[TypeSet]) -> TypeSet:
    """Returns the type set of a number that has one of several type sets."""
    result: dict[DType, Known] = {}
    for types in type_sets:
        for dtype, known in types.items():
            result[dtype] = _merged(result[dtype], known) if dtype in result else known
    return result


def _merged(one: Known, other: Known) -> Known:
    if one is None or other is None:
        return None
    distinct = {repr(value): value for value in (*one, *other)}  # 0.0 is not -0.0, and a NaN equals itself
    return tuple(distinct.values()) if len(distinct) <= _MOST_KNOWN else None


def is_weak(types: TypeSet) -> bool:
    """Returns whether a number of these types is certainly a Python number."""
    return all(dtype.weak for dtype in types)


def storage(types: TypeSet) -> DType | None:
    """Returns the smallest fixed type, or PYINT, that holds every value of a type set exactly; None if there is none.

    >>> [storage({F32: None, PYFLOAT: (value,)}).name for value in (0.5, 0.1)]
    ['f32', 'f64']
    """
    candidates: Sequence[DType]
    if is_weak(types):
        candidates = [PYINT, F64, C128] if len(types) > 1 or PYBOOL not in types else [BOOL]
    else:
        candidates = _by_preference(frozenset(types))
    return next((c for c in candidates if all(holds(c, dtype, known) for dtype, known in types.items())), None)


def storage_of(types: TypeSet) -> DType:
    """Returns the smallest fixed type, or PYINT, that holds every value of a type set exactly.

    Raises TypeError where there is none.
    """
    found = storage(types)
    if found is None:
        raise TypeError(f"no type holds {spelled(types)}")
    return found


def held_in(types: TypeSet) -> DType | None:
    """Returns the type in which the program holds a number that has a type set: `storage`, or F64 for floats on some paths and
    Python ints on others; None if there is none.

    The ints are rounded to float64 then, as NumPy and Python round them where they meet a float. What would show a difference is
    refused (`conversions.TypedValue.is_rounded`).

    >>> held_in({PYFLOAT: None, PYINT: None}).name
    'f64'
    """
    exactly = storage(types)
    if exactly is not None or PYINT not in types:
        return exactly
    others = {dtype: known for dtype, known in types.items() if dtype != PYINT}
    floats = any(dtype.is_float for dtype in others)
    return F64 if floats and storage({**others, PYFLOAT: None}) == F64 else None


@lru_cache(maxsize=256)
def _by_preference(types: frozenset[DType]) -> tuple[DType, ...]:
    return tuple(sorted(FIXED, key=lambda d: (d not in types, d.is_complex, d.bits, d.is_float)))


def holds(outer: DType, dtype: DType, known: Known) -> bool:
    """Returns whether type `outer` holds exactly all values of type `dtype`, or, if given, all that are known to occur.

    known: the values that are known to occur; None: any of the type
    """
    if known is not None and dtype != PYBOOL:
        return all(exact(value, outer) is not None for value in known)
    return embeds(representation(dtype), outer)


def stands_for(outer: DType, dtype: DType, known: Known) -> bool:
    """Returns whether the values of type `dtype` may be held in type `outer` instead.

    They may where each stays equal, and where Python numbers are rounded to a float or complex type. A Python int of which no value
    is known may be held in any integer type: whether it fits is checked when the program runs.

    known: the values of type `dtype`, None for all
    """
    if (
        dtype.weak
        and (outer.is_complex or outer.is_float and not dtype.is_complex)
        or dtype == PYINT
        and outer.is_integer
        and known is None
    ):
        return True
    if known is not None and outer.is_integer and not dtype.is_complex:
        return all(float(value).is_integer() and int(value) in integer_range(outer) for value in known)
    return holds(outer, dtype, known)


def exact(value: Number, to: DType) -> Number | None:
    """Returns `value` as a Python number of the kind of `to`, int or float say; None where type `to` cannot hold it exactly."""
    if to == BOOL or to.is_integer and isinstance(value, (float, complex)) or to.is_float and isinstance(value, complex):
        return None
    if to.is_integer:
        return int(value) if to == PYINT or value in integer_range(to) else None
    try:
        result = rounded(value, to)
    except OverflowError:
        return None
    return result if result == value or cmath.isnan(result) else None


def rounded(value: Number, to: DType) -> float | complex:
    """Returns the number of a float or complex type that is nearest to a Python number.

    Raises OverflowError for an int beyond the largest double; for bfloat16, already for an int that does not fit 64 bits.
    """
    if to.is_complex:
        number = complex(value)
        return complex(rounded(number.real, to.part), rounded(number.imag, to.part))
    if to not in (F32, *HALVES):
        return float(value)
    if to == BF16 and isinstance(value, int) and value not in integer_range(PYINT):
        raise OverflowError
    with np.errstate(over="ignore"):
        return float(numpy_dtype(to).type(value if to == BF16 else float(value)))


def integer_range(dtype: DType) -> range:
    """Returns the range of values that an integer type or bool holds; there may be too many for len()."""
    if dtype.kind == "b":
        return range(2)
    low = 0 if dtype.kind == "u" else -(2 ** (dtype.bits - 1))
    return range(low, low + 2**dtype.bits)


def representation(dtype: DType) -> DType:
    """Returns the type that stands for a type at run time: F64, C128 or BOOL for Python's float, complex or bool, else itself."""
    return {PYFLOAT: F64, PYCOMPLEX: C128, PYBOOL: BOOL}.get(dtype, dtype)


def spelled(types: Iterable[DType]) -> str:
    """Returns the types as a message names them: "float64", "a Python float", "a Python int or int32"."""
    ordered = sorted(types, key=lambda d: (not d.weak, d.kind, d.bits))
    return " or ".join(f"a Python {'bool' if d == PYBOOL else d.name}" if d.weak else d.numpy_name for d in ordered)
