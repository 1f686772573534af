"""Sorting, as np.sort, np.argsort and np.median do it: by merging, so that equal elements keep their order."""

from polyml.frontend.library.searching import is_before


def sort(row, spare):
    """Sorts a vector in place: runs of 16 elements by insertion, then pairs of runs by merging.

    spare: memory for as many elements
    """
    size = row.shape[0]
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


def sort_places(row, places, spare):
    """Stores in `places` the order in which the elements of a vector stand when it is sorted, as np.argsort gives it.

    spare: memory for as many places
    """
    size = row.shape[0]
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
