"""Sorting, as np.sort, np.argsort and np.median do it: by merging, so that equal elements keep their order.

Integers that lie close together are counted instead, which takes two passes over them (Knuth, "Sorting and Searching", 5.2, algorithm D),
and 64 of them or more that lie far apart are sorted by their digits.
"""

import numpy as np

from polyml.frontend.library.radix import extent, sort_digits, sort_places_by_digits
from polyml.frontend.library.searching import is_before


def sort(row, spare, cells, counts):
    """Sorts a vector in place: runs of 16 elements by insertion, then pairs of runs by merging.

    spare: memory for as many elements
    cells: memory for as many counts
    counts: whether the elements are integers, which are counted where there are more of them than values from the least to the greatest,
        of many ones eight times as many, since each value then takes a branch that is foretold wrong
    """
    size = row.shape[0]
    if counts and size > 16:
        first, most, falls = extent(row)
        if falls == 0:
            return
        if most < np.uint64(size if size < 4096 else size // 8):
            values = int(np.int64(most)) + 1
            for c in range(values):
                cells[c] = 0
            for i in range(size):
                at = np.int64(np.uint64(np.real(row[i])) - first)
                cells[at] += 1
                spare[at] = row[i]
            filled = 0
            for c in range(values):
                for _ in range(cells[c]):
                    row[filled] = spare[c]
                    filled += 1
            return
        if size > 63 and sort_digits(row, spare, cells, first, most):
            return
    for run in range(0, size, 16):
        for i in range(run + 1, min(run + 16, size)):
            x = row[i]
            j = i - 1
            while j >= run:
                if not is_before(x, row[j]):
                    break
                row[j + 1] = row[j]
                j -= 1
            row[j + 1] = x
    width = 16
    while width < size:
        start = 0
        while start + width < size:
            middle = start + width
            end = min(middle + width, size)
            if is_before(row[middle], row[middle - 1]):
                for copied in range(start, middle):
                    spare[copied] = row[copied]
                left = start
                right = middle
                k = start
                while left < middle and right < end:
                    if is_before(row[right], spare[left]):
                        row[k] = row[right]
                        right += 1
                    else:
                        row[k] = spare[left]
                        left += 1
                    k += 1
                while left < middle:
                    row[k] = spare[left]
                    left += 1
                    k += 1
            start += 2 * width
        width *= 2


def sort_places(row, places, spare, cells, counts):
    """Stores in `places` the order in which the elements of a vector stand when it is sorted, as np.argsort gives it.

    spare: memory for as many places
    cells, counts: as for `sort`
    """
    size = row.shape[0]
    for i in range(size):
        places[i] = i
    if counts and size > 16:
        first, most, falls = extent(row)
        if falls == 0:
            return
        if most < np.uint64(size):
            values = int(np.int64(most)) + 1
            for c in range(values):
                cells[c] = 0
            for i in range(size):
                cells[np.int64(np.uint64(np.real(row[i])) - first)] += 1
            before = 0
            for c in range(values):
                count = cells[c]
                cells[c] = before
                before += count
            for i in range(size):
                c = np.int64(np.uint64(np.real(row[i])) - first)
                places[cells[c]] = i
                cells[c] += 1
            return
        if size > 63 and sort_places_by_digits(row, places, spare, cells, first, most):
            return
    for run in range(0, size, 16):
        for i in range(run + 1, min(run + 16, size)):
            place = places[i]
            j = i - 1
            while j >= run:
                if not is_before(row[place], row[places[j]]):
                    break
                places[j + 1] = places[j]
                j -= 1
            places[j + 1] = place
    width = 16
    while width < size:
        start = 0
        while start + width < size:
            middle = start + width
            end = min(middle + width, size)
            if is_before(row[places[middle]], row[places[middle - 1]]):
                for copied in range(start, middle):
                    spare[copied] = places[copied]
                left = start
                right = middle
                k = start
                while left < middle and right < end:
                    if is_before(row[places[right]], row[spare[left]]):
                        places[k] = places[right]
                        right += 1
                    else:
                        places[k] = spare[left]
                        left += 1
                    k += 1
                while left < middle:
                    places[k] = spare[left]
                    left += 1
                    k += 1
            start += 2 * width
        width *= 2
