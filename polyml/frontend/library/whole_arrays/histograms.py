"""np.histogram: of a number of bins of one width, and of given edges, between which a table finds the place of an element."""

import numpy as np

from polyml.frontend.library.requirements import required
from polyml.frontend.library.whole_arrays.marks import (
    is_empty_range,
    is_float64,
    is_integer,
    is_number,
    is_real,
    is_same_type,
    is_sequence,
    is_wide,
    is_wide_range,
    ndim,
)

_MOST = 2**20  # bins of such a range
_BLOCK = 65536  # how many weights NumPy adds up at a time
_CELLS = 8  # of the table for each bin


def histogram(a, bins=10, range=None, density=None, weights=None):
    """Returns how many elements of an array lie in each bin, or the sums of their weights, and the edges of the bins."""
    if a.ndim == 1:
        values = a
    else:
        values = a.flatten()
    if ndim(bins) == 1:
        edges = np.asarray(bins)
        required(weights is None, "np.histogram of given edges with weights; a number of bins, or no weights")
        required(is_real(a) and is_real(bins), "np.histogram of complex numbers; real ones")
        required(
            is_same_type(a, bins) or not is_integer(a) or not is_integer(bins), "np.histogram of integers of two types; one type"
        )
        counts = _between(values, edges)
        if density:
            return counts / np.diff(edges) / counts.sum(), edges
        else:
            return counts, edges
    else:
        required(is_wide(a), "np.histogram of this type; float64 and integers")
        if bins < 1:
            raise ValueError("`bins` must be positive, when an integer")
        required(bins <= _MOST, "a histogram of more than a million bins")
        if range is None:
            low, high, width = _ends(values)
            counts, edges = _of_one_width(values, bins, low, high, width, weights)
            if weights is None:
                if counts.sum() < a.size:
                    raise ValueError("autodetected range of [nan, nan] is not finite")
            else:
                for value in values:
                    if value != value:
                        raise ValueError("autodetected range of [nan, nan] is not finite")
        elif is_empty_range(range[0], range[1]):
            counts, edges = _of_one_width(values, bins, range[0] - 0.5, range[1] + 0.5, 1.0, weights)
        else:
            required(is_wide_range(range[0], range[1]), "np.histogram of this range; constants that are finite, not far from zero")
            low = float(range[0])
            high = float(range[1])
            counts, edges = _of_one_width(values, bins, low, high, high - low, weights)
        if density:
            return counts / np.diff(edges) / counts.sum(), edges
        else:
            return counts, edges


def _ends(values):
    """Returns the least and the greatest element of a vector, and their distance; a half more on both sides where they are equal."""
    low = 0.0
    high = 1.0
    width = 1.0
    if values.shape[0] > 0:
        least, most = _extremes(values)
        low = float(least)
        high = float(most)
        if is_integer(values):
            width = float(np.uint64(most) - np.uint64(least))
        else:
            if low == -np.inf or high == np.inf:
                for i in range(values.shape[0]):
                    if values[i] != values[i]:
                        raise ValueError("autodetected range of [nan, nan] is not finite")
                raise ValueError("autodetected range with an infinite end is not finite")
            width = high - low
        if least == most:
            low -= 0.5
            high += 0.5
            width = high - low
    return low, high, width


def _extremes(values):
    """Returns the least and the greatest element of a vector, of four parts whose elements take turns. NaN counts where it is first alone."""
    least = values[0]
    most = values[0]
    a, b, c, p, q, r = least, least, least, most, most, most
    size = values.shape[0]
    for i in range(0, size - 3, 4):
        least = values[i] if values[i] < least else least
        most = values[i] if values[i] > most else most
        a = values[i + 1] if values[i + 1] < a else a
        p = values[i + 1] if values[i + 1] > p else p
        b = values[i + 2] if values[i + 2] < b else b
        q = values[i + 2] if values[i + 2] > q else q
        c = values[i + 3] if values[i + 3] < c else c
        r = values[i + 3] if values[i + 3] > r else r
    for i in range(size - size % 4, size):
        least = values[i] if values[i] < least else least
        most = values[i] if values[i] > most else most
    a = a if a < b else b
    p = p if p > q else q
    least = least if least < c else c
    most = most if most > r else r
    return a if a < least else least, p if p > most else most


def _of_one_width(values, bins, low, high, width, weights):
    """Returns the counts or sums of bins of one width, and their edges. A bin is computed, and compared with the edges beside it."""
    edges = np.empty(bins + 1)
    step = (high - low) / bins
    for b in range(bins + 1):
        edges[b] = high if b == bins else b * step + low if step != 0.0 else b / bins * (high - low) + low
        if b > 0 and edges[b - 1] >= edges[b]:
            raise ValueError("Too many bins for data range. Cannot create so many finite-sized bins.")
    if weights is None:
        counts = np.zeros(bins, dtype=np.int64)
        for i in range(values.shape[0]):
            value = float(values[i])
            if value >= low and value <= high:
                counts[_bin(value, edges, low, width, bins)] += 1
        return counts, edges
    else:
        required(is_float64(weights), "np.histogram with weights of another type; float64")
        required(values.shape[0] == weights.shape[0], "a histogram of other weights than numbers")
        sums = np.zeros(bins)
        for begin in range(0, values.shape[0], _BLOCK):
            part = np.zeros(bins)
            for i in range(begin, min(begin + _BLOCK, values.shape[0])):
                value = float(values[i])
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


def _between(values, edges):
    """Returns how many elements lie between one edge and the next one, or on the first of them; on the last edge too in the last bin."""
    counts = np.zeros(max(edges.shape[0] - 1, 0), dtype=np.int64)
    missing = 0
    for i in range(edges.shape[0]):
        if edges[i] != edges[i]:
            missing += 1
        if i > 0 and edges[i - 1] > edges[i]:
            raise ValueError("`bins` must increase monotonically, when an array")
    if missing > 0:
        _count_in_order(values, edges, counts)
    elif edges.shape[0] > 1:
        _count(values, edges, counts)
    return counts


def _count(values, edges, counts):
    """Counts the elements between edges. A table has the number of edges before each of many cells of one width, of which most have no
    more than one edge; the first cell and the last one are outside.
    """
    last = edges.shape[0] - 1
    low = float(edges[0])
    high = float(edges[last])
    cells = last * _CELLS
    scale = cells / (high - low)
    if not scale < 1e300:
        scale = 0.0
    before = np.zeros(cells + 3, dtype=np.int64)
    for k in range(last + 1):
        before[_cell(float(edges[k]), low, scale, cells) + 1] += 1
    for c in range(cells + 2):
        before[c + 1] += before[c]
    found = np.zeros(last + 2, dtype=np.int64)
    for i in range(values.shape[0]):
        cell = _cell(float(values[i]), low, scale, cells)
        at = before[cell]
        end = before[cell + 1]
        if end - at < 2:
            at = min(at + (edges[min(at, last)] <= values[i]), last + 1)
        else:
            while at < end:
                middle = (at + end) // 2
                if edges[middle] <= values[i]:
                    at = middle + 1
                else:
                    end = middle
        found[at - (values[i] == edges[last])] += 1
    for b in range(last):
        counts[b] = found[b + 1]


def _cell(value, low, scale, cells):
    """Returns the cell of a number, from 0 for one before the first edge or NaN on; it is no less than that of a lesser number."""
    place = (value - low) * scale + 1.0 if scale > 0.0 else 1.0
    place = place if place > 0.0 else 0.0
    return int(place if place < cells + 1 else cells + 1.0)


def _count_in_order(values, edges, counts):
    """Counts the elements between edges some of which are NaN, behind which no number is: the differences of how many are before each."""
    before = 0
    for k in range(edges.shape[0]):
        number = 0
        for i in range(values.shape[0]):
            if k == edges.shape[0] - 1:
                number += values[i] <= edges[k] or edges[k] != edges[k]
            else:
                number += values[i] < edges[k] or edges[k] != edges[k] and values[i] == values[i]
        if k > 0:
            counts[k - 1] = number - before
        before = number


def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    """Returns how many points lie in each cell of a grid, or the sums of their weights, and the edges of the cells."""
    required(
        is_wide(x) and is_number(x) and is_wide(y) and is_number(y), "np.histogram2d of this type; vectors of float64 and integers"
    )
    required(x.ndim == 1 and y.ndim == 1, "np.histogram2d of matrices; vectors")
    if x.shape[0] != y.shape[0]:
        raise ValueError("x and y must have the same length.")
    if is_sequence(bins):
        first, second = bins
    else:
        required(ndim(bins) == 0, "np.histogram2d with one array of edges; a number of bins, two of them, or two arrays")
        first, second = bins, bins
    if range is None:
        rows = _edges(x, first, None)
        columns = _edges(y, second, None)
    else:
        rows = _edges(x, first, range[0])
        columns = _edges(y, second, range[1])
    cells = _cells(x, y, rows, columns, weights)
    if density:
        total = cells.sum()
        return cells / np.diff(rows)[:, None] / np.diff(columns)[None, :] / total, rows, columns
    else:
        return cells, rows, columns


def _edges(values, bins, ends):
    """Returns the edges of bins: those that are given, or as many of one width as a number says. ends: where they begin and end; None for those of data"""
    if ndim(bins) == 1:
        required(is_wide(bins), "np.histogram2d with edges of this type; float64 and integers")
        required(bins.shape[0] > 0, "np.histogram2d without edges")
        required(is_float64(values) or is_float64(bins), "np.histogram2d of integers between integers; floats")
        for i in range(1, bins.shape[0]):
            if bins[i - 1] > bins[i]:
                raise ValueError("`bins` must be monotonically increasing, when an array")
        return np.asarray(bins)
    else:
        if bins < 1:
            raise ValueError("`bins` must be positive, when an integer")
        required(bins <= _MOST, "a histogram of more than a million bins")
        if ends is None:
            low, high, _ = _ends(values)
            if values.shape[0] > 0 and not is_integer(values) and np.any(values != values):
                raise ValueError("autodetected range of [nan, nan] is not finite")
            return _even(bins, low, high)
        elif is_empty_range(ends[0], ends[1]):
            return _even(bins, ends[0] - 0.5, ends[1] + 0.5)
        else:
            required(is_wide_range(ends[0], ends[1]), "np.histogram2d of this range; constants that are finite, not far from zero")
            return _even(bins, float(ends[0]), float(ends[1]))


def _even(bins, low, high):
    """Returns the edges of bins of one width, as np.linspace has them."""
    edges = np.empty(bins + 1)
    step = (high - low) / bins
    for b in range(bins + 1):
        edges[b] = high if b == bins else b * step + low if step != 0.0 else b / bins * (high - low) + low
    return edges


def _cells(x, y, rows, columns, weights):
    """Returns how many points lie in each cell between edges, or the sums of their weights."""
    cells = np.zeros((max(rows.shape[0] - 1, 0), max(columns.shape[0] - 1, 0)))
    if weights is None:
        for k in range(x.shape[0]):
            i = _place(float(x[k]), rows)
            j = _place(float(y[k]), columns)
            if i >= 0 and j >= 0:
                cells[i, j] += 1.0
    else:
        required(is_float64(weights) and weights.ndim == 1, "np.histogram2d with other weights; a vector of float64")
        required(x.shape[0] == weights.shape[0], "a histogram of other weights than points")
        for k in range(x.shape[0]):
            i = _place(float(x[k]), rows)
            j = _place(float(y[k]), columns)
            if i >= 0 and j >= 0:
                cells[i, j] += weights[k]
    return cells


def _place(value, edges):
    """Returns the bin of a number between edges that grow, and -1 for one that is outside. The last edge is in the last bin."""
    last = edges.shape[0] - 1
    at = np.searchsorted(edges, value, side="right") - 1
    if value == float(edges[last]):
        at -= 1
    return at if at < last else -1


TEXTS = (histogram, histogram2d)
