"""Arrays that nobody can change, and what was found out about their numbers, which is kept as long as they are there.

The flag `writeable` says of one array object that nothing is stored through it; other arrays may share its memory, and the flag of an
array with memory of its own can be set again. What a `bytes` object holds cannot be written in any of these ways.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polyml.frontend.library.index_arrays import INJECTIVE, MONOTONIC, WITHIN, monotonic

_LINE_BYTES = 64


def is_immutable(value: object) -> bool:
    """Returns whether a value is an array in the memory of a `bytes` object, which no other array can write either.

    >>> import numpy as np
    >>> is_immutable(np.frombuffer(bytes(8))), is_immutable(np.ones(1))
    (True, False)
    """
    while type(value) is np.ndarray:
        value = value.base
        if type(value) is bytes:
            return True
    return False


def immutable(array: np.ndarray) -> np.ndarray:
    """Returns an array with the elements, the shape and the order of strides of another one that nobody can change.

    array: its elements are no references to objects
    """
    like = np.copy(array, order="K")
    room = _new_bytes(array.nbytes + _LINE_BYTES)
    address = ctypes.cast(ctypes.c_char_p(room), ctypes.c_void_p).value or 0
    offset = -address % _LINE_BYTES
    ctypes.memmove(address + offset, like.ctypes.data, like.nbytes)
    return np.ndarray(like.shape, like.dtype, room, offset, like.strides)


def _new_bytes(size: int) -> bytes:
    """Returns a new bytes object whose content the caller sets before anybody else has the object, as CPython's interface allows."""
    new = ctypes.pythonapi.PyBytes_FromStringAndSize
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_ssize_t)
    return new(None, size)


@dataclass
class _Inspected:
    """An _Inspected is what was found out about the numbers of an array that nobody can change.

    reference: to the array, so that another one at the same address is not taken for it
    form: what else can be set of an array object: its base, type, shape and strides
    found: kind of a condition -> whether it holds, and WITHIN -> the least and the greatest number
    """

    reference: weakref.ref[np.ndarray]
    form: tuple[object, ...]
    found: dict[str, Any] = field(default_factory=dict)


_inspected: dict[int, _Inspected] = {}  # by the identity of the array


def holds(kind: str, array: np.ndarray, low: int = 0, high: int = 0) -> bool:
    """Returns whether a condition on an index array holds that nobody can change; the array is looked at once.

    kind: "injective", "monotonic" or "within", as the functions of these names in `index_arrays`
    array: a vector of integers for which `is_immutable` holds
    low, high: the range of "within"
    """
    found = _record(array).found
    if kind not in found:
        found[kind] = _FINDERS[kind](array)
    if kind != WITHIN:
        return bool(found[kind])
    return found[WITHIN] is None or bool(found[WITHIN][0] >= low and found[WITHIN][1] < high)


def _record(array: np.ndarray) -> _Inspected:
    place, form = id(array), (array.base, array.dtype, array.shape, array.strides)
    known = _inspected.get(place)
    if known is None or known.reference() is not array or known.form[0] is not form[0] or known.form[1:] != form[1:]:
        known = _Inspected(weakref.ref(array, lambda gone: _forget(place, gone)), form)
        _inspected[place] = known
    return known


def _forget(place: int, gone: weakref.ref[np.ndarray]) -> None:
    """Drops what is kept for an array that is gone, unless another one has its place by now."""
    known = _inspected.get(place)
    if known is not None and known.reference is gone:
        del _inspected[place]


def _bounds(array: np.ndarray) -> tuple[int, int] | None:
    return (int(array.min()), int(array.max())) if array.size else None


def _injective(array: np.ndarray) -> bool:
    """Is `injective` of a vector, by a mark for each number where these are not too far apart."""
    bounds = _bounds(array)
    if bounds is None:
        return True
    if bounds[0] < 0:
        return False
    if bounds[1] > 8 * array.size + 64:
        ordered = np.sort(array)
        return bool(np.all(ordered[1:] != ordered[:-1]))
    marks = np.zeros(bounds[1] + 1, np.bool_)
    marks[array] = True
    return int(np.count_nonzero(marks)) == array.size


_FINDERS: dict[str, Callable[[np.ndarray], object]] = {INJECTIVE: _injective, MONOTONIC: monotonic, WITHIN: _bounds}
