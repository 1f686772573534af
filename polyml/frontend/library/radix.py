"""Sorting integers by their digits: by the highest digits first, then by sifting, and from the lowest digit on where that takes long.

The two highest digits bring each element near its place where numbers are spread, however many bits they have, and sifting does the rest
(MacLaren, "Internal sorting by radix plus sifting", JACM 1966). Digits are those of the distance from the least element, an unsigned
number of 64 bits, which holds the distance of any two numbers. Equal elements keep their order.
"""

import numpy as np

_MANY_PASSES = 256  # of fewer elements, merging takes less time than all of their digits


def extent(row):
    """Returns the least of some integers, how far the greatest is from it, and how often one is less than the one before it.

    row: has elements
    """
    least = np.real(row[0])
    greatest = np.real(row[0])
    falls = 0
    for i in range(1, row.shape[0]):
        number = np.real(row[i])
        if number < least:
            least = number
        if number > greatest:
            greatest = number
        if number < np.real(row[i - 1]):
            falls += 1
    return np.uint64(least), np.uint64(greatest) - np.uint64(least), falls


def differing(row, first):
    """Returns the bits in which the distances of integers from the least one differ."""
    bits = np.uint64(0)
    for i in range(row.shape[0]):
        bits = bits | (np.uint64(np.real(row[i])) - first)
    return bits


def bit_length(number):
    """Returns the number of bits of an unsigned number."""
    bits = 0
    rest = number
    while rest > np.uint64(0):
        rest = rest >> np.uint64(1)
        bits += 1
    return bits


def digit_width(size):
    """Returns how many bits a digit has: two of them have at least four values for each element, and no more cells than there are elements.

    size: 64 elements or more
    """
    width = 5
    values = 1024
    while values < 4 * size:
        values *= 4
        width += 1
    return width


def digit(number, first, low, mask):
    """Returns the digit that begins at bit `low` of the distance of an integer from the least one."""
    return np.int64((np.uint64(np.real(number)) - first) >> np.uint64(low) & mask)


def counted_digits(row, cells, first, low, width):
    """Stores in `cells` how many elements have a lower digit, for each value of the digit at bit `low`, and of the one behind it."""
    values = 1 << width
    mask = np.uint64(values - 1)
    for c in range(2 * values):
        cells[c] = 0
    for i in range(row.shape[0]):
        cells[digit(row[i], first, low, mask)] += 1
        cells[digit(row[i], first, low + width, mask) + values] += 1
    before = 0
    before_next = 0
    for c in range(values):
        count = cells[c]
        cells[c] = before
        before += count
        count_next = cells[c + values]
        cells[c + values] = before_next
        before_next += count_next


def by_two_digits(row, spare, cells, first, low, width):
    """Sorts integers by the two digits from bit `low` on; equal digits keep their order."""
    values = 1 << width
    mask = np.uint64(values - 1)
    counted_digits(row, cells, first, low, width)
    for i in range(row.shape[0]):
        at = digit(row[i], first, low, mask)
        spare[cells[at]] = row[i]
        cells[at] += 1
    for i in range(row.shape[0]):
        at = digit(spare[i], first, low + width, mask) + values
        row[cells[at]] = spare[i]
        cells[at] += 1


def sift(row):
    """Moves integers down to where no greater one stands before them. Returns whether as many moves as there are elements do."""
    moves = 0
    for i in range(1, row.shape[0]):
        number = row[i]
        j = i - 1
        while j >= 0:
            if np.real(row[j]) <= np.real(number):
                break
            row[j + 1] = row[j]
            j -= 1
        row[j + 1] = number
        moves += i - 1 - j
        if moves > row.shape[0]:
            return False
    return True


def sort_digits(row, spare, cells, first, most):
    """Sorts integers in place. Returns whether they are sorted: few of them, whose highest digits are alike, are not.

    row: 64 elements or more
    spare: memory for as many elements
    cells: memory for as many counts
    first, most: the least one, and the distance of the greatest one from it
    """
    width = digit_width(row.shape[0])
    top = max(bit_length(most) - 2 * width, 0)
    low = top
    from_lowest = False
    bits = most
    both = np.uint64((1 << 2 * width) - 1)
    left = True
    while left:
        if bits >> np.uint64(low) & both != np.uint64(0):
            by_two_digits(row, spare, cells, first, low, width)
        if from_lowest:
            left = low < top
            low = min(low + 2 * width, top)
        else:
            left = top > 0 and not sift(row)
            if left and row.shape[0] < _MANY_PASSES:
                return False
            if left:
                bits = differing(row, first)
            from_lowest = True
            low = 0
    return True


def places_by_two_digits(row, places, spare, cells, first, low, width):
    """Sorts places by the two digits from bit `low` on of the integers that are there; places of equal digits keep their order."""
    values = 1 << width
    mask = np.uint64(values - 1)
    counted_digits(row, cells, first, low, width)
    for i in range(row.shape[0]):
        place = places[i]
        at = digit(row[place], first, low, mask)
        spare[cells[at]] = place
        cells[at] += 1
    for i in range(row.shape[0]):
        place = spare[i]
        at = digit(row[place], first, low + width, mask) + values
        places[cells[at]] = place
        cells[at] += 1


def sift_places(row, places):
    """Moves places down to where no greater integer's stands before them. Returns what `sift` does."""
    moves = 0
    before = np.real(row[places[0]])
    for i in range(1, row.shape[0]):
        place = places[i]
        number = np.real(row[place])
        if before > number:
            j = i - 1
            while j >= 0:
                if np.real(row[places[j]]) <= number:
                    break
                places[j + 1] = places[j]
                j -= 1
            places[j + 1] = place
            moves += i - 1 - j
            if moves > row.shape[0]:
                return False
        else:
            before = number
    return True


def sort_places_by_digits(row, places, spare, cells, first, most):
    """Sorts the places of integers, which are in ascending order before, as `sort_digits` sorts integers. Returns what it returns."""
    width = digit_width(row.shape[0])
    top = max(bit_length(most) - 2 * width, 0)
    low = top
    from_lowest = False
    bits = most
    both = np.uint64((1 << 2 * width) - 1)
    left = True
    while left:
        if bits >> np.uint64(low) & both != np.uint64(0):
            places_by_two_digits(row, places, spare, cells, first, low, width)
        if from_lowest:
            left = low < top
            low = min(low + 2 * width, top)
        else:
            left = top > 0 and not sift_places(row, places)
            if left and row.shape[0] < _MANY_PASSES:
                return False
            if left:
                bits = differing(row, first)
            from_lowest = True
            low = 0
    return True
