"""Arrays as sets: np.unique and its kin, of which equal elements stand side by side when they are sorted."""

import numpy as np

from polyml.frontend.library.requirements import required
from polyml.frontend.library.whole_arrays.marks import grouped, grouped_places, is_real, is_same_type


def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True):
    """Returns the different elements of a vector in ascending order, and where they are, where they go, and how often they are there."""
    required(axis is None and sorted, "np.unique of this; np.unique(x) without axis=, in ascending order")
    required(ar.ndim == 1, "np.unique of an array with other dimensions than one; vectors")
    required(is_real(ar), "np.unique of complex numbers; real ones")
    if return_index or return_inverse:
        order = grouped_places(ar)
        values = ar[order]
    else:
        values = grouped(ar)
    first = np.empty(values.shape[0], dtype=np.bool_)
    for i in range(values.shape[0]):
        if i == 0:
            first[i] = True
        elif equal_nan:
            first[i] = (values[i] != values[i - 1]) & ((values[i] == values[i]) | (values[i - 1] == values[i - 1]))
        else:
            first[i] = values[i] != values[i - 1]
    found = (values[first],)
    if return_index:
        found = found + (order[first],)
    if return_inverse:
        inverse = np.empty(values.shape[0], dtype=np.int64)
        group = -1
        for i in range(values.shape[0]):
            if first[i]:
                group += 1
            inverse[order[i]] = group
        found = found + (inverse,)
    if return_counts:
        starts = np.flatnonzero(first)
        counts = np.empty_like(starts)
        for g in range(starts.shape[0]):
            counts[g] = (starts[g + 1] if g + 1 < starts.shape[0] else values.shape[0]) - starts[g]
        found = found + (counts,)
    if return_index or return_inverse or return_counts:
        return found
    else:
        return found[0]


def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    """Returns for each element of an array whether it is among those of a vector."""
    required(test_elements.ndim == 1, "np.isin of this; np.isin(a, v) with a vector v")
    required(is_same_type(element, test_elements), "np.isin of other types; two arrays of one type")
    required(is_real(element), "np.isin of complex numbers; real ones")
    values = np.zeros(test_elements.shape[0] + 1, dtype=test_elements.dtype)
    values[:-1] = grouped(test_elements)
    places = np.searchsorted(values[:-1], element)
    if invert:
        found = (places >= test_elements.shape[0]) | (values[places] != element)
    else:
        found = (places < test_elements.shape[0]) & (values[places] == element)
    return found


def union1d(ar1, ar2):
    """Returns what is in one of two vectors."""
    return np.unique(np.concatenate((ar1, ar2)))


def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    """Returns what is in both of two vectors."""
    required(not return_indices and not assume_unique, "np.intersect1d with indices; np.intersect1d(a, b)")
    required(is_real(ar1), "np.intersect1d of complex numbers; real ones")
    both = grouped(np.concatenate((np.unique(ar1), np.unique(ar2))))
    twice = np.empty(both.shape[0], dtype=np.bool_)
    for i in range(both.shape[0]):
        twice[i] = i > 0 and both[i] == both[i - 1]
    return both[twice]


def setdiff1d(ar1, ar2, assume_unique=False):
    """Returns what is in the first of two vectors alone."""
    values = ar1 if assume_unique else np.unique(ar1)
    return values[np.isin(values, ar2, invert=True)]


def setxor1d(ar1, ar2, assume_unique=False):
    """Returns what is in one of two vectors, and not in the other one."""
    required(not assume_unique, "np.setxor1d with assume_unique=; np.setxor1d(a, b)")
    both = grouped(np.concatenate((np.unique(ar1), np.unique(ar2))))
    once = np.empty(both.shape[0], dtype=np.bool_)
    for i in range(both.shape[0]):
        once[i] = (i == 0 or both[i] != both[i - 1]) and (i == both.shape[0] - 1 or both[i] != both[i + 1])
    return both[once]


TEXTS = (unique, isin, union1d, intersect1d, setdiff1d, setxor1d)
