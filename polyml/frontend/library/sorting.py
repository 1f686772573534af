"""Sorting, as np.sort, np.argsort and np.median do it: by merging, so that equal elements keep their order.

Integers that lie close together are counted instead, which takes two passes over them (Knuth, "Sorting and Searching", 5.2, algorithm D).
"""

import numpy as np

from polyml.frontend.library.searching import is_before


def least(row):
    """Returns the least of some integers."""
    found = np.real(row[0])
    for i in range(1, row.shape[0]):
        number = np.real(row[i])
        if number < found:
            found = number
    return found


def span(row, first):
    """Returns how many values the integers of a vector have room for, from the least one on; 0 where these are more than its elements.

    first: the least one. Differences are those of unsigned numbers, which hold that of any two numbers of 64 bits.
    """
    most = np.uint64(0)
    for i in range(row.shape[0]):
        apart = np.uint64(np.real(row[i])) - first
        if apart > most:
            most = apart
    return int(np.int64(most)) + 1 if most < np.uint64(row.shape[0]) else 0


def sort(row, spare, cells, counts):
    """Sorts a vector in place: runs of 16 elements by insertion, then pairs of runs by merging.

    spare: memory for as many elements
    cells: memory for as many counts
    counts: whether the elements are integers, which are counted where there are more of them than values from the least to the greatest
    """
    size = row.shape[0]
    if counts and size > 16:
        first = np.uint64(least(row))
        values = span(row, first)
        if values > 0:
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


def sort_places(row, places, spare, counts):
    """Stores in `places` the order in which the elements of a vector stand when it is sorted, as np.argsort gives it.

    spare: memory for as many places
    counts: as for `sort`
    """
    size = row.shape[0]
    if counts and size > 16:
        first = np.uint64(least(row))
        values = span(row, first)
        if values > 0:
            for c in range(values):
                spare[c] = 0
            for i in range(size):
                spare[np.int64(np.uint64(np.real(row[i])) - first)] += 1
            before = 0
            for c in range(values):
                count = spare[c]
                spare[c] = before
                before += count
            for i in range(size):
                c = np.int64(np.uint64(np.real(row[i])) - first)
                places[spare[c]] = i
                spare[c] += 1
            return
    for first in range(size):
        places[first] = first
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
