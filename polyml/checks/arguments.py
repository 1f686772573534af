"""Arguments of the calls that passes are checked with: small arrays of small whole numbers, whose sums are exact in any order."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import numpy as np

from polyml.dtypes import DType
from polyml.frontend import syntax
from polyml.model.core.scop import Scop
from polyml.numpy_dtypes import numpy_dtype

Arguments = dict[str, object]
_EXTENT = 3  # of a dimension that no loop or check depends on
_INDICES = 2  # below which integers are, so that they index arrays of three elements
_NUMBERS = 5


def arguments_at(scop: Scop, sizes: Mapping[str, int], seed: int = 0) -> Arguments:
    """Returns {parameter of the kernel: argument} for a call in which the SCoP's parameters have the given sizes; elements are
    small random numbers.
    """
    random = np.random.default_rng(seed)
    extents = {(p.array, p.dim): sizes[p.name] for p in scop.parameters if p.is_size}
    numbers = {p.argument or p.name: sizes[p.name] for p in scop.parameters if p.is_number}
    found: Arguments = {}
    for name, kind in zip(scop.params, scop.types):
        if isinstance(kind, syntax.ArrayType):
            shape = tuple(extents.get((name, dim), _EXTENT) for dim in range(kind.ndim))
            found[name] = _values(kind.element, shape, random)
        elif name in numbers:
            found[name] = _number(kind.dtype, numbers[name])
        else:
            found[name] = _number(kind.dtype, int(random.integers(1, _NUMBERS)))
    return found


def copied(arguments: Arguments) -> Arguments:
    """Returns deep copies of all arguments."""
    return {name: copy.deepcopy(value) for name, value in arguments.items()}


def difference(got: object, wanted: object, name: str = "") -> str:
    """Returns the first element of `got` that differs from `wanted`, as a sentence; "" where types and bits are the same.

    name: what the sentence calls the value.

    >>> difference(np.array([1, 2]), np.array([1, 3]), "A")
    'A[1] is 2, not 3'
    """
    if isinstance(wanted, tuple) and isinstance(got, tuple) and len(got) == len(wanted):
        return next((found for a, b in zip(got, wanted) if (found := difference(a, b, name))), "")
    if wanted is None or got is None:
        return "" if got is wanted else f"{name} is {got}, not {wanted}"
    mine, right = np.asarray(got), np.asarray(wanted)
    if type(got) is not type(wanted) or mine.dtype != right.dtype:
        return f"{name} is of type {_type(got)}, not {_type(wanted)}"
    if mine.shape != right.shape:
        return f"{name} has the shape {mine.shape}, not {right.shape}"
    differ = (mine != right) & ((mine == mine) | (right == right))  # NaN is NaN, whatever its bits
    if not differ.any():
        return ""
    at = tuple(map(int, np.argwhere(differ)[0]))
    return f"{name}{list(at) if at else ''} is {mine[at]}, not {right[at]}"


def _type(value: object) -> str:
    return str(value.dtype) if isinstance(value, (np.ndarray, np.generic)) else type(value).__name__


def _values(element: DType, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    if element.is_integer:
        return random.integers(0, _INDICES, shape).astype(numpy_dtype(element))
    if element.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    return random.integers(-_NUMBERS, _NUMBERS, shape).astype(numpy_dtype(element))


def _number(dtype: DType, value: int) -> object:
    plain = {"f": float, "c": complex, "b": bool}.get(dtype.kind, int)(value)
    return plain if dtype.weak else numpy_dtype(dtype).type(plain)
