"""Indices of arrays as single numbers, and elements put where a mask is: np.unravel_index, ravel_multi_index, putmask, place and copyto."""

import numpy as np

from polyml.frontend.library.requirements import required
from polyml.frontend.library.whole_arrays.marks import (
    is_float64,
    is_integer,
    is_number,
    is_own,
    is_real,
    is_same_type,
    is_wide,
    ndim,
)


def unravel_index(indices, shape, order="C"):
    """Returns the rows and columns of elements of a matrix whose places are counted row by row."""
    required(order == "C" and is_integer(indices), "np.unravel_index of this; integers, in C's order")
    rows, columns = shape
    size = rows * columns
    if ndim(indices) == 0:
        place = np.int64(indices)
        if place < 0 or place >= size:
            raise ValueError("index is out of bounds for array with size")
        return place // columns, place % columns
    else:
        places = indices.astype(np.int64)
        if np.any(places < 0) or np.any(places >= size):
            raise ValueError("index is out of bounds for array with size")
        return places // columns, places % columns


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """Returns the places of elements of a matrix, counted row by row, whose rows and columns are given."""
    required(
        order == "C" and (mode == "raise" or mode == "wrap" or mode == "clip"), "np.ravel_multi_index of this; C's order, one mode"
    )
    row, column = multi_index
    rows, columns = dims
    if rows == 0 or columns == 0:
        raise ValueError("cannot unravel if shape has zero entries (is empty).")
    return _within(row, rows, mode) * columns + _within(column, columns, mode)


def _within(index, size, mode):
    """Returns indices of a dimension, as int64. mode: what is done with those outside of it"""
    required(is_integer(index), "np.ravel_multi_index of floats; integers")
    if ndim(index) == 0:
        place = np.int64(index)
        if mode == "wrap":
            return place % size
        elif mode == "clip":
            return np.int64(0) if place < 0 else np.int64(size - 1) if place >= size else place
        else:
            if place < 0 or place >= size:
                raise ValueError("invalid entry in coordinates array")
            return place
    else:
        places = index.astype(np.int64)
        if mode == "wrap":
            return places % size
        elif mode == "clip":
            return np.clip(places, 0, size - 1)
        else:
            if np.any(places < 0) or np.any(places >= size):
                raise ValueError("invalid entry in coordinates array")
            return places


def putmask(a, mask, values):
    """Puts numbers into an array where a mask is true."""
    required(a.ndim == mask.ndim, "np.putmask with a mask of another shape; that of the array")
    if ndim(values) == 0:
        required(is_real(values) or not is_real(a), "np.putmask of complex numbers into others; real ones")
        a[mask != 0] = values
    else:
        required(a.ndim == 1 and values.ndim == 1, "np.putmask of a matrix with several values; vectors, or one number")
        required(is_same_type(a, values) or is_float64(a) and is_wide(values), "np.putmask with another type; that of the array")
        required(a.shape[0] == mask.shape[0], "np.putmask with a mask of another size")
        given = values.copy()
        if given.shape[0] > 0:
            for i in range(a.shape[0]):
                if mask[i]:
                    a[i] = given[i % given.shape[0]]


def place(arr, mask, vals):
    """Puts numbers into a vector where a mask is true, one after the other."""
    required(arr.ndim == 1 and mask.ndim == 1, "np.place into a matrix; vectors")
    required(arr.shape[0] == mask.shape[0], "np.place with a mask of another size")
    if ndim(vals) == 0:
        required(is_real(vals) or not is_real(arr), "np.place of complex numbers into others; real ones")
        arr[mask != 0] = vals
    else:
        required(vals.ndim == 1, "np.place of a matrix; vectors, or one number")
        required(is_same_type(arr, vals) or is_float64(arr) and is_wide(vals), "np.place with another type; that of the array")
        count = 0
        for i in range(arr.shape[0]):
            if mask[i]:
                if vals.shape[0] == 0:
                    raise ValueError("Cannot insert from an empty array!")
                arr[i] = vals[count]
                count = 0 if count + 1 == vals.shape[0] else count + 1


def copyto(dst, src, casting="same_kind", where=None):
    """Copies numbers to an array, all of them, or where a mask is true."""
    required(casting == "same_kind", "np.copyto with another casting=; same_kind")
    of_floats = not is_integer(dst) and is_real(dst) and is_real(src)
    required(
        of_floats or is_same_type(dst, src) or not is_real(dst) or is_number(dst) and is_integer(src) and is_own(src),
        "np.copyto of this type; that of the array, or numbers that it holds",
    )
    if where is None:
        dst[...] = src
    else:
        required(is_integer(where) and not is_number(where), "np.copyto where numbers are; truth values")
        required(dst.ndim == where.ndim, "np.copyto where a mask of another shape is; that of the array")
        if ndim(src) == 0:
            dst[where] = src
        else:
            required(dst.ndim == src.ndim, "np.copyto of another shape where a mask is; that of the array")
            dst[where] = src[where]


TEXTS = (unravel_index, ravel_multi_index, putmask, place, copyto)
