"""Parts and arrangements of arrays, and functions of elements that are a few of NumPy's: np.identity, kron, extract, sinc and others."""

import math

import numpy as np

from polyml.frontend.library.requirements import required
from polyml.frontend.library.whole_arrays.marks import is_float64, is_real, is_wide, ndim


def identity(n, dtype=None):
    """Returns a matrix with ones in its diagonal."""
    return np.eye(n, dtype=dtype)


def rot90(m, k=1):
    """Returns a matrix turned by a number of right angles, as a view."""
    required(
        m.ndim == 2 and (k == 0 or k == 1 or k == 2 or k == 3 or k == -1), "np.rot90 of this; matrices, one to three times, or -1"
    )
    if k == 0:
        return m[:, :]
    elif k == 1:
        return m[:, ::-1].T
    elif k == 2:
        return m[::-1, ::-1]
    else:
        return m[::-1, :].T


def kron(a, b):
    """Returns the products of all elements of two vectors, or of two matrices, in blocks."""
    required(a.ndim == b.ndim and a.ndim <= 2 and a.ndim > 0, "np.kron of this; two vectors, or two matrices")
    if a.ndim == 1:
        return np.outer(a, b).flatten()
    else:
        blocks = a[:, None, :, None] * b[None, :, None, :]
        return blocks.reshape(a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])


def extract(condition, arr):
    """Returns the elements of a vector at which a condition holds."""
    required(condition.ndim == 1 and arr.ndim == 1, "np.extract of matrices; vectors")
    required(condition.shape[0] == arr.shape[0], "a condition that is not as large as its array")
    return arr[np.flatnonzero(condition)]


def take_along_axis(arr, indices, axis=-1):
    """Returns the elements of a vector, or of the rows or columns of a matrix, at places of their own."""
    required(arr.ndim == indices.ndim and arr.ndim <= 2, "np.take_along_axis of this; vectors and matrices")
    if arr.ndim == 1:
        required(axis == 0 or axis == -1, "np.take_along_axis of this; axes of the array")
        return arr[indices]
    else:
        taken = np.empty(indices.shape, dtype=arr.dtype)
        if axis == 1 or axis == -1:
            required(indices.shape[0] == arr.shape[0], "np.take_along_axis with a broadcast")
            for i in range(indices.shape[0]):
                for j in range(indices.shape[1]):
                    taken[i, j] = arr[i, indices[i, j]]
        else:
            required((axis == 0 or axis == -2) and indices.shape[1] == arr.shape[1], "np.take_along_axis with a broadcast")
            for i in range(indices.shape[0]):
                for j in range(indices.shape[1]):
                    taken[i, j] = arr[indices[i, j], j]
        return taken


def sinc(x):
    """Returns sin(pi * x) / (pi * x), and 1 at zero."""
    required(ndim(x) > 0 and is_wide(x), "np.sinc of this; arrays of float64 and integers")
    angle = math.pi * x
    place = np.where(angle == 0.0, 2.0**-52, angle)
    return np.sin(place) / place


def degrees(x):
    """Returns angles in degrees."""
    return np.rad2deg(x)


def heaviside(x1, x2):
    """Returns zero for negative numbers, one for positive ones, and a number of choice at zero."""
    required(
        ndim(x1) > 0 and ndim(x2) == 0 and is_float64(x1) and is_wide(x2), "np.heaviside of this; an array of float64, and a number"
    )
    return np.where(x1 < 0, 0.0, np.where(x1 > 0, 1.0, np.where(x1 == 0, float(x2), x1)))


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """Returns an array with numbers in the place of NaN and of infinite elements."""
    required(ndim(x) > 0 and is_float64(x) and copy and is_real(nan), "np.nan_to_num of this; arrays of float64")
    most = 1.7976931348623157e308 if posinf is None else float(posinf)
    least = -1.7976931348623157e308 if neginf is None else float(neginf)
    return np.where(x != x, float(nan), np.where(x == np.inf, most, np.where(x == -np.inf, least, x)))


TEXTS = (
    identity, rot90, kron, extract, take_along_axis, sinc, degrees, heaviside, nan_to_num,
)  # fmt: skip
