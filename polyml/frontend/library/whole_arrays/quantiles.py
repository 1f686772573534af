"""np.quantile and np.percentile by the linear method, of vectors, of whole arrays, and along an axis of a matrix."""

import numpy as np

from polyml.frontend.library.requirements import required
from polyml.frontend.library.whole_arrays.marks import grouped, is_float64, is_integer, is_number, is_wide, ndim


def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """Returns the number below which a part of the elements of an array is."""
    required(ndim(q) == 0 and is_float64(q), "np.quantile at this; one float")
    required(out is None and not overwrite_input and not keepdims and weights is None, "np.quantile with these options; axis=")
    required(method == "linear", "np.quantile by this method; 'linear'")
    required(is_wide(a) and is_number(a), "np.quantile of this type; float64 and integers")
    if not (q >= 0.0 and q <= 1.0):
        raise ValueError("Quantiles must be in the range [0, 1]")
    return _quantiles(a, q, axis)


def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    """Returns the number below which a percentage of the elements of an array is."""
    required(ndim(q) == 0 and is_wide(q), "np.percentile at this; one int or float")
    required(out is None and not overwrite_input and not keepdims and weights is None, "np.percentile with these options; axis=")
    required(method == "linear", "np.percentile by this method; 'linear'")
    required(is_wide(a) and is_number(a), "np.percentile of this type; float64 and integers")
    part = q / 100
    if not (part >= 0.0 and part <= 1.0):
        raise ValueError("Percentiles must be in the range [0, 100]")
    return _quantiles(a, part, axis)


def _quantiles(a, part, axis):
    """Returns the quantiles at a part from 0 to 1: a number, or a vector for the rows or columns of a matrix."""
    if axis is None or a.ndim == 1:
        required(axis is None or axis == 0 or axis == -1, "quantiles along this axis; axes of the array")
        required(a.size > 0, "a quantile of no elements")
        return _of(a.ravel(), part)
    else:
        required(a.ndim == 2, "quantiles along an axis of an array with more dimensions; matrices")
        required(axis == 0 or axis == 1 or axis == -1 or axis == -2, "quantiles along this axis; axes of the array")
        if axis == 0 or axis == -2:
            required(a.shape[0] > 0, "a quantile of no elements")
            columns = np.empty(a.shape[1])
            for j in range(a.shape[1]):
                columns[j] = _of(a[:, j], part)
            return columns
        else:
            required(a.shape[1] > 0, "a quantile of no elements")
            rows = np.empty(a.shape[0])
            for i in range(a.shape[0]):
                rows[i] = _of(a[i], part)
            return rows


def _of(values, part):
    """Returns the number at a part of a vector: between two elements of its order in proportion, from the nearer one.

    Of the last one, whose place NumPy writes as -1, the weight is counted from there, which shows beside infinite numbers.
    """
    last = values.shape[0] - 1
    place = last * part
    below = last
    above = last
    weight = place + 1.0
    if place < last:
        below = int(np.floor(place))
        above = below + 1
        weight = place - below
    if is_integer(values):
        ordered = grouped(values)
        apart = ordered[above] - ordered[below]
        value = ordered[above] - apart * (1.0 - weight) if weight >= 0.5 else ordered[below] + apart * weight
    else:
        parted = values * 1.0
        missing = _parted(parted, below)
        upper = parted[below]
        if above > below:
            upper = parted[above]
            for i in range(above + 1, last + 1):
                if parted[i] < upper:
                    upper = parted[i]
        distance = upper - parted[below]
        value = upper - distance * (1.0 - weight) if weight >= 0.5 else parted[below] + distance * weight
        value = missing if missing != missing else value
    return value


def _parted(values, place):
    """Moves the elements of a vector so that no greater one is before a place, and no lesser one behind it. Returns its NaN, or zero.

    Parts that do not have the place are left as they are (Hoare, "Algorithm 65: find", CACM 1961); where that takes long, all is sorted.
    """
    missing = 0.0
    for i in range(values.shape[0]):
        if values[i] != values[i]:
            missing = values[i]
    if missing == missing:
        low = 0
        high = values.shape[0] - 1
        rounds = 0
        while low < high and rounds < 60:
            pivot = values[(low + high) // 2]
            i = low
            j = high
            while i <= j:
                while values[i] < pivot:
                    i += 1
                while values[j] > pivot:
                    j -= 1
                if i <= j:
                    x = values[i]
                    values[i] = values[j]
                    values[j] = x
                    i += 1
                    j -= 1
            if place <= j:
                high = j
            elif place >= i:
                low = i
            else:
                high = low
            rounds += 1
        if low < high:
            values[:] = np.sort(values, kind="stable")
    return missing


TEXTS = (quantile, percentile)
