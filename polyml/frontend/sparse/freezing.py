"""`polyml.freeze`: arrays and sparse matrices that nobody can change, so that what is found out about them holds for all later calls."""

from __future__ import annotations

import copy
from typing import TypeVar

import numpy as np

from polyml.errors import PolymlTypeError
from polyml.frontend.library.frozen_arrays import immutable, is_immutable
from polyml.frontend.sparse.matrices import ARRAYS, read, recognised

Frozen = TypeVar("Frozen")


def freeze(value: Frozen) -> Frozen:
    """Returns a copy of an array, or of a sparse matrix, that nobody can change; a value that is frozen already is returned itself.

    What a kernel assumes of a frozen index array is tested once, and not in each call. The copy has memory of its own that nothing can
    write: the flag of a read-only array could be set again, and other arrays that share its memory may write it.

    Raises PolymlTypeError for what is neither an array of NumPy's class, of elements that are no objects, nor a sparse matrix.

    >>> import numpy as np
    >>> k = freeze(np.array([2, 0, 1]))
    >>> k.flags.writeable, freeze(k) is k
    (False, True)
    """
    if isinstance(value, np.ndarray):
        return _array(value, "polyml.freeze")  # type: ignore[return-value]
    matrix = recognised(value)
    if matrix is None:
        raise PolymlTypeError(f"polyml.freeze takes an array or a sparse matrix, not a {type(value).__name__}")
    arrays = {name: read(value, name) for name in ARRAYS[matrix.format]}
    if all(map(is_immutable, arrays.values())):
        return value
    made = copy.copy(value)
    for name, array in arrays.items():
        setattr(made, name, _array(array, "polyml.freeze"))
    return made


def _array(value: object, what: str) -> np.ndarray:
    if type(value) not in (np.ndarray, np.memmap) or not isinstance(value, np.ndarray):
        notes = ["pass np.asarray of it"]
        raise PolymlTypeError(f"{what} takes an array of NumPy's own class, not a {type(value).__name__}", notes=notes)
    if value.dtype.hasobject:
        raise PolymlTypeError(f"{what} takes numbers; these elements are objects, which others may change")
    return value if is_immutable(value) else immutable(value)
