"""The types of a call's arguments, as type inference takes them."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from polyml.dtypes import ACCEPTED, BY_NUMPY_NAME, OF_PYTHON, PYINT, DType
from polyml.errors import PolymlTypeError
from polyml.frontend.syntax import ArgType, ArrayType, ScalarType

_ELEMENTS = f"{ACCEPTED}, in the machine's byte order"


def arg_type(value: object, name: str = "argument") -> ArgType:
    """Returns the type of an argument: an ArrayType for an ndarray, a ScalarType for a number.

    name: the parameter, which messages mention. Raises PolymlTypeError for every other object.
    """
    if isinstance(value, np.ndarray):
        return _array_type(value, name)
    if type(value) in OF_PYTHON:
        return ScalarType(OF_PYTHON[type(value)])
    if isinstance(value, np.generic):
        if value.dtype.name not in BY_NUMPY_NAME:
            raise PolymlTypeError(f"`{name}` is a {value.dtype.name} number", notes=[f"accepted: {_ELEMENTS}"])
        return ScalarType(BY_NUMPY_NAME[value.dtype.name])
    raise PolymlTypeError(
        f"`{name}` is a {type(value).__name__}",
        notes=["accepted: a NumPy array, an int, float, complex or bool, or a NumPy scalar"],
    )


def with_ones(kind: ArgType, value: Any) -> ArgType:
    """Returns an array's type with a field `sizes` that says which of the argument's dimensions have size 1, since these decide how
    arrays broadcast; other types stay as they are.

    kind: the type without sizes
    value: the argument, which has a `shape` where the type is that of an array
    """
    if not isinstance(kind, ArrayType):
        return kind
    return replace(kind, sizes=frozenset((dim, 1) for dim, size in enumerate(value.shape) if size == 1))


def with_sizes(kind: ArgType, value: Any) -> ArgType:
    """Returns an argument's type with all that its value tells: every size of an array, or the value of a Python int.

    kind: the type without sizes and value
    value: the argument
    """
    if isinstance(kind, ArrayType):
        return replace(kind, sizes=frozenset(enumerate(value.shape)))
    return replace(kind, value=value) if kind.dtype == PYINT else kind


def _array_type(array: np.ndarray, name: str) -> ArrayType:
    """Returns the type of an ndarray.

    name: the parameter, which messages mention
    Raises PolymlTypeError for masked arrays, matrices, foreign byte orders, and element types that the language does not have.
    """
    if isinstance(array, (np.ma.MaskedArray, np.matrix)):
        raise PolymlTypeError(f"`{name}` is a {type(array).__name__}", notes=["accepted: a plain array, np.asarray(x)"])
    dtype = array.dtype
    element = element_of(dtype)
    if element is None:
        described = dtype.name if dtype.isnative else f"{dtype.name} in foreign byte order"
        raise PolymlTypeError(f"`{name}` is an array of {described}", notes=[f"accepted: {_ELEMENTS}"])
    return ArrayType(element, array.ndim)


@lru_cache(maxsize=64)
def element_of(dtype: np.dtype) -> DType | None:
    """Returns the type of elements that NumPy describes so; None where the language does not have it."""
    return BY_NUMPY_NAME.get(dtype.name) if dtype.isnative else None
