"""np.histogram of bins of one width in a given range. Of given edges NumPy counts faster, by sorting the elements."""

import numpy as np

from polyml.frontend.library.requirements import required
from polyml.frontend.library.whole_arrays.marks import is_empty_range, is_float64, is_wide, is_wide_range, ndim

_MOST = 2**20  # bins of such a range
_BLOCK = 65536  # how many weights NumPy adds up at a time


def histogram(a, bins=10, range=None, density=None, weights=None):
    """Returns how many elements of a vector lie in each bin, or the sums of their weights, and the edges of the bins."""
    required(a.ndim == 1, "np.histogram of an array with several dimensions; vectors")
    required(is_wide(a), "np.histogram of this type; float64 and integers")
    if range is None:
        required(False, "np.histogram without range=, whose ends may not be finite; np.histogram(x, n, range=(a, b))")
        return a, a
    else:
        required(ndim(bins) == 0, "np.histogram of given edges; a number of bins, with range=")

        required(is_wide_range(range[0], range[1]), "np.histogram of this range; constants that are finite, not far from zero")
        if bins < 1:
            raise ValueError("`bins` must be positive, when an integer")
        required(bins <= _MOST, "a histogram of more than a million bins")
        if is_empty_range(range[0], range[1]):
            counts, edges = _of_one_width(a, bins, range[0] - 0.5, range[1] + 0.5, weights)
        else:
            counts, edges = _of_one_width(a, bins, float(range[0]), float(range[1]), weights)
        if density:
            return counts / np.diff(edges) / counts.sum(), edges
        else:
            return counts, edges


def _of_one_width(a, bins, low, high, weights):
    """Returns the counts or sums of bins of one width, and their edges. A bin is computed, and compared with the edges beside it."""
    edges = np.linspace(low, high, bins + 1)
    width = high - low
    if weights is None:
        counts = np.zeros(bins, dtype=np.int64)
        for i in range(a.shape[0]):
            value = float(a[i])
            if value >= low and value <= high:
                counts[_bin(value, edges, low, width, bins)] += 1
        return counts, edges
    else:
        required(is_float64(weights), "np.histogram with weights of another type; float64")
        required(a.shape[0] == weights.shape[0], "a histogram of other weights than numbers")
        sums = np.zeros(bins)
        for begin in range(0, a.shape[0], _BLOCK):
            part = np.zeros(bins)
            for i in range(begin, min(begin + _BLOCK, a.shape[0])):
                value = float(a[i])
                if value >= low and value <= high:
                    part[_bin(value, edges, low, width, bins)] += weights[i]
            for b in range(bins):
                sums[b] += part[b]
        return sums, edges


def _bin(value, edges, low, width, bins):
    """Returns the bin of a number."""
    at = int((value - low) / width * bins)
    if at == bins:
        at -= 1
    if value < edges[at]:
        at -= 1
    if value >= edges[at + 1] and at != bins - 1:
        at += 1
    return at


TEXTS = (histogram,)
