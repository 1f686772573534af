"""Differences, integrals and products of neighbours: np.gradient, trapezoid, ediff1d, convolve, correlate and cross."""

import numpy as np

from polyml.frontend.library.requirements import required
from polyml.frontend.library.whole_arrays.marks import is_number, ndim


def gradient(f, dx=1.0, /, *, axis=None, edge_order=1):
    """Returns the slopes of a function with values at equal distances: central differences inside, one-sided ones at both ends."""
    required(edge_order == 1 and ndim(dx) == 0, "np.gradient of this; np.gradient(f, dx) with one distance, edge_order=1")
    required(f.ndim == 1 or f.ndim == 2 and axis is not None, "np.gradient along several axes; vectors, and matrices with axis=")
    required(is_number(f), "np.gradient of truth values; numbers")
    values = f * 1.0
    slopes = np.empty_like(values)
    if f.ndim == 2 and (axis == 1 or axis == -1):
        if f.shape[1] < 2:
            raise ValueError(
                "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required."
            )
        slopes[:, 1:-1] = (values[:, 2:] - values[:, :-2]) / (2.0 * dx)
        slopes[:, 0] = (values[:, 1] - values[:, 0]) / dx
        slopes[:, -1] = (values[:, -1] - values[:, -2]) / dx
    else:
        required(axis is None or axis == 0 or axis == -1 or axis == -2, "np.gradient along this axis; axes of the array")
        if f.shape[0] < 2:
            raise ValueError(
                "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required."
            )
        slopes[1:-1] = (values[2:] - values[:-2]) / (2.0 * dx)
        slopes[0] = (values[1] - values[0]) / dx
        slopes[-1] = (values[-1] - values[-2]) / dx
    return slopes


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """Returns the integral of a function along the last axis by the trapezoidal rule."""
    required(axis == -1, "np.trapezoid along an axis; the last axis")
    if x is None:
        total = (dx * (y[..., 1:] + y[..., :-1]) / 2.0).sum(axis=-1)
    else:
        required(ndim(x) == 1, "np.trapezoid at places with several dimensions; a vector of places")
        total = (np.diff(x) * (y[..., 1:] + y[..., :-1]) / 2.0).sum(axis=-1)
    return total


def ediff1d(ary, to_end=None, to_begin=None):
    """Returns the differences of neighbours in a vector."""
    required(to_end is None and to_begin is None, "np.ediff1d with ends; np.ediff1d(x), np.concatenate")
    required(ary.ndim == 1 and is_number(ary), "np.ediff1d of this; vectors of numbers")
    return ary[1:] - ary[:-1]


def convolve(a, v, mode="full"):
    """Returns the sums of products of two vectors, of which one is reversed and moved along the other one."""
    required(a.ndim == 1 and v.ndim == 1 and is_number(a) and is_number(v), "np.convolve of this; vectors of numbers")
    required(mode == "full" or mode == "same" or mode == "valid", "np.convolve in this mode; 'full', 'same' and 'valid'")
    if a.shape[0] == 0:
        raise ValueError("a cannot be empty")
    if v.shape[0] == 0:
        raise ValueError("v cannot be empty")
    sums = np.zeros(a.shape[0] + v.shape[0] - 1, dtype=np.result_type(a, v))
    for k in range(a.shape[0] + v.shape[0] - 1):
        for j in range(max(0, k - a.shape[0] + 1), min(v.shape[0], k + 1)):
            sums[k] += a[k - j] * v[j]
    if mode == "full":
        return sums
    else:
        required(a.shape[0] >= v.shape[0], "a second vector that is longer than the first one")
        if mode == "same":
            first = (v.shape[0] - 1) // 2
            inner = sums[first : first + a.shape[0]] + 0
        else:
            inner = sums[v.shape[0] - 1 : a.shape[0]] + 0
        return inner


def correlate(a, v, mode="valid"):
    """Returns the sums of products of two vectors, of which the second is moved along the first one."""
    required(a.ndim == 1 and v.ndim == 1 and is_number(a) and is_number(v), "np.correlate of this; vectors of numbers")
    required(mode == "valid", "np.correlate in this mode; 'valid', and np.convolve")
    required(a.shape[0] >= v.shape[0] and v.shape[0] > 0, "a second vector that is longer than the first one, or an empty one")
    sums = np.zeros(max(a.shape[0] - v.shape[0] + 1, 0), dtype=np.result_type(a, v))
    for k in range(a.shape[0] - v.shape[0] + 1):
        for j in range(v.shape[0]):
            sums[k] += a[k + j] * np.conj(v[j])
    return sums


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """Returns the vector products of vectors in three dimensions, or of the rows of two matrices."""
    required(axisa == -1 and axisb == -1 and axisc == -1 and axis is None, "np.cross along an axis; the last axis")
    required(a.ndim == b.ndim and a.ndim <= 2 and is_number(a) and is_number(b), "np.cross of this; two vectors, or two matrices")
    required(a.shape[-1] == 3 and b.shape[-1] == 3, "vectors of other than three dimensions")
    product = np.empty(a.shape, dtype=np.result_type(a, b))
    product[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    product[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    product[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return product


TEXTS = (gradient, trapezoid, ediff1d, convolve, correlate, cross)
