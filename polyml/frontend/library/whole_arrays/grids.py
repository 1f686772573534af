"""Grids and places: np.meshgrid, indices, tril_indices, triu_indices and fill_diagonal; and np.digitize."""

import numpy as np

from polyml.frontend.library.requirements import required
from polyml.frontend.library.whole_arrays.marks import is_real, ndim


def meshgrid(x, y, *, copy=True, sparse=False, indexing="xy"):
    """Returns the coordinates of the points of a grid in two dimensions."""
    required(
        copy and not sparse and (indexing == "xy" or indexing == "ij"), "np.meshgrid of this; np.meshgrid(x, y, indexing='xy')"
    )
    required(ndim(x) == 1 and ndim(y) == 1, "np.meshgrid of other than vectors; two vectors")
    if indexing == "xy":
        columns = np.empty((y.shape[0], x.shape[0]), dtype=x.dtype)
        rows = np.empty((y.shape[0], x.shape[0]), dtype=y.dtype)
        columns[:, :] = x
        rows[:, :] = y[:, None]
        return columns, rows
    else:
        first = np.empty((x.shape[0], y.shape[0]), dtype=x.dtype)
        second = np.empty((x.shape[0], y.shape[0]), dtype=y.dtype)
        first[:, :] = x[:, None]
        second[:, :] = y
        return first, second


def tril_indices(n, k=0, m=None):
    """Returns the places of a lower triangle."""
    rows, columns = np.nonzero(np.tri(n, n if m is None else m, k, dtype=np.bool_))
    return rows, columns


def triu_indices(n, k=0, m=None):
    """Returns the places of an upper triangle."""
    rows, columns = np.nonzero(~np.tri(n, n if m is None else m, k - 1, dtype=np.bool_))
    return rows, columns


def fill_diagonal(a, val, wrap=False):
    """Stores a number in the diagonal of a matrix."""
    required(a.ndim == 2 and ndim(val) == 0 and not wrap, "np.fill_diagonal of this; matrices, and a number")
    for i in range(min(a.shape[0], a.shape[1])):
        a[i, i] = val


def digitize(x, bins, right=False):
    """Returns the number of the interval between edges in which each element of an array lies."""
    required(bins.ndim == 1 and is_real(x) and is_real(bins), "np.digitize of this; real numbers, a vector of edges")
    count = bins.shape[0]
    rises = True
    falls = False
    if count > 0:
        first = count
        for i in range(count - 1, 0, -1):
            if bins[i] != bins[0]:
                first = i
        if first < count:
            rises = bins[0] < bins[first]
            falls = not rises
            for i in range(first + 1, count):
                if rises and bins[i - 1] > bins[i] or falls and bins[i - 1] < bins[i]:
                    raise ValueError("bins must be monotonically increasing or decreasing")
    ordered = np.empty_like(bins)
    for i in range(count):
        ordered[i] = bins[count - 1 - i] if falls else bins[i]
    if right:
        places = np.searchsorted(ordered, x, side="left")
    else:
        places = np.searchsorted(ordered, x, side="right")
    return places * (-1 if falls else 1) + (count if falls else 0)


TEXTS = (meshgrid, tril_indices, triu_indices, fill_diagonal, digitize)
