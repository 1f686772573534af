"""The table of the operations on sparse matrices: which function has the loops of each, and which parts of the matrix it takes."""

from __future__ import annotations

from dataclasses import dataclass
from types import FunctionType

from polyml.frontend.sparse import dense_products, products
from polyml.frontend.sparse.matrices import ARRAYS

_SIZES = ("rows", "columns")
_OWN_TRANSPOSED = {"csr": "csc", "csc": "csr", "coo": "coo"}  # the transposed matrix has the same arrays in this format


@dataclass(frozen=True)
class Operation:
    """An Operation is a function of the arrays of a sparse matrix.

    function: the function
    parts: the parts of the matrix that it takes, before other arguments
    """

    function: FunctionType
    parts: tuple[str, ...]


def product(form: str, transposed: bool, dimensions: int) -> Operation:
    """Returns the product of a matrix in a format, or of its transposed, with an array of one or two dimensions."""
    arrays, sizes = tuple(ARRAYS[form]), _SIZES
    stem = form
    if transposed and form in _OWN_TRANSPOSED:
        stem, sizes = _OWN_TRANSPOSED[form], _SIZES[::-1]
        arrays = ("data", "col", "row") if form == "coo" else arrays
    elif transposed:
        stem = f"transposed_{form}"
    module, what = (products, "vector") if dimensions == 1 else (dense_products, "columns")
    return Operation(getattr(module, f"{stem}_{what}"), (*arrays, *sizes))


def diagonal(form: str) -> Operation | None:
    """Returns the function that computes the main diagonal of a matrix in a format; None where SciPy's may be a view."""
    if form not in _OWN_TRANSPOSED:
        return None
    function = getattr(dense_products, "coo_diagonal" if form == "coo" else "compressed_diagonal")
    return Operation(function, (*ARRAYS[form], *_SIZES))
