"""Which objects are sparse matrices: those with the attributes of one of SciPy's formats, which is not imported for that.

The attributes of an object of SciPy's may be properties. Those of other objects count where reading them runs no code, and an
object of another class has attributes alone: what its operators do is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from polyml.frontend import attributes

ARRAYS: Mapping[str, Mapping[str, int]] = {
    "csr": {"data": 1, "indices": 1, "indptr": 1},
    "csc": {"data": 1, "indices": 1, "indptr": 1},
    "bsr": {"data": 3, "indices": 1, "indptr": 1},
    "coo": {"data": 1, "row": 1, "col": 1},
    "dia": {"data": 2, "offsets": 1},
}
"""By format, the arrays of a matrix and how many dimensions they have."""
NUMBERS = ("rows", "columns", "nnz")  # A.shape[0], A.shape[1] and A.nnz
_ELEMENTS = frozenset("biufc")
_PLAIN = (np.ndarray, int, float, bool, complex)


@dataclass(frozen=True)
class SparseMatrix:
    """A SparseMatrix is what the code of a function needs to know of an argument that is a sparse matrix.

    format: "csr", "csc", "bsr", "coo" or "dia"
    operators: what `*` of it with an array is: "matrix" for the product, "array" for an elementwise one; "" where no operator is known
    small: whether its elements are bool or one byte
    """

    format: str
    operators: str
    small: bool


def recognised(value: object) -> SparseMatrix | None:
    """Returns what is to be known of an argument if it is a sparse matrix, else None."""
    if type(value) in _PLAIN:
        return None
    form, shape = read(value, "format"), read(value, "shape")
    arrays = ARRAYS.get(form) if type(form) is str else None
    if arrays is None or type(shape) is not tuple or len(shape) != 2 or any(type(size) is not int for size in shape):
        return None
    for name, dimensions in arrays.items():
        array = read(value, name)
        if type(array) is not np.ndarray or array.ndim != dimensions or array.dtype.kind not in _ELEMENTS:
            return None
    data = np.asarray(read(value, "data"))
    return SparseMatrix(str(form), _operators(type(value)), data.dtype.itemsize == 1)


def _operators(kind: type) -> str:
    if not _is_scipys(kind):
        return ""
    return "matrix" if any(base.__name__ == "spmatrix" for base in kind.__mro__) else "array"


def _is_scipys(kind: type) -> bool:
    """Returns whether a class is one of SciPy's, of which it is known what attributes and operators do."""
    return kind.__module__.startswith("scipy.sparse.")


def read(value: object, name: str) -> object:
    """Returns an attribute of an object; the marker `attributes.MISSING` where it has none, or its class is not SciPy's and computes it."""
    return getattr(value, name, attributes.MISSING) if _is_scipys(type(value)) else attributes.read(value, name)


def part(value: object, name: str) -> object:
    """Returns a part of a sparse matrix: one of its `ARRAYS`, or one of `NUMBERS`; of another object the attribute behind a dot."""
    if name.startswith("."):
        return attributes.read(value, name[1:])
    if name in ("rows", "columns"):
        shape = read(value, "shape")
        return shape[name == "columns"] if isinstance(shape, tuple) else attributes.MISSING
    return read(value, name)
