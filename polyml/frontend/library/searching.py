"""Places in sorted arrays, as np.searchsorted, np.interp and np.histogram look for them."""

import numpy as np


def is_before(one, other):
    """Returns whether `one` stands before `other` in NumPy's order of sorted arrays, in which NaN is last.

    Complex numbers are in the order of their real parts, then of their imaginary ones; that of a real number is zero.
    """
    real, other_real = np.real(one), np.real(other)
    imag, other_imag = np.imag(one), np.imag(other)
    if real < other_real:
        return imag == imag or other_imag != other_imag
    if real > other_real:
        return imag == imag and other_imag != other_imag
    if real == other_real or real != real and other_real != other_real:
        return imag < other_imag or other_imag != other_imag and imag == imag
    return other_real != other_real


def first_place(array, key):
    """Returns how many elements of a sorted array stand before `key`: np.searchsorted(array, key)."""
    low = 0
    high = array.shape[0]
    while low < high:
        middle = (low + high) // 2
        if is_before(array[middle], key):
            low = middle + 1
        else:
            high = middle
    return low


def last_place(array, key):
    """Returns how many elements of a sorted array stand before `key` or are equal to it: np.searchsorted(array, key, "right")."""
    low = 0
    high = array.shape[0]
    while low < high:
        middle = (low + high) // 2
        if is_before(key, array[middle]):
            high = middle
        else:
            low = middle + 1
    return low


def interpolated(points, values, x, below, above):
    """Returns the value at x of the function that is linear between the given points: np.interp(x, points, values, below, above).

    Where the line from one of the two points beside x gives NaN, that from the other one is taken, as NumPy does.
    """
    count = points.shape[0]
    if count == 1:
        return below if x < points[0] else above if x > points[0] else values[0]
    if x != x:
        return x
    if x < points[0]:
        return below
    if x > points[count - 1]:
        return above
    at = last_place(points, x) - 1
    if at == count - 1 or points[at] == x:
        return values[at]
    slope = (values[at + 1] - values[at]) / (points[at + 1] - points[at])
    y = slope * (x - points[at]) + values[at]
    if y != y:
        y = slope * (x - points[at + 1]) + values[at + 1]
        if y != y and values[at] == values[at + 1]:
            y = values[at]
    return y
