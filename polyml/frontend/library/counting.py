"""Counting and repeating, as np.bincount and np.repeat do it."""


def past_largest(numbers, least):
    """Returns how many cells are needed to count numbers in: one more than the largest, and no fewer than `least`."""
    size = least
    for i in range(numbers.shape[0]):
        number = numbers[i]
        if number < 0:
            raise ValueError("'list' argument must have no negative elements")
        if number >= size:
            size = number + 1
    return size


def count(numbers, cells):
    """Adds one to the cell of each number."""
    for i in range(numbers.shape[0]):
        cells[numbers[i]] += 1


def add_up(numbers, weights, cells):
    """Adds the weight of each number to its cell."""
    for i in range(numbers.shape[0]):
        cells[numbers[i]] += weights[i]


def total(counts):
    """Returns the sum of numbers, none of which may be negative."""
    size = 0
    for i in range(counts.shape[0]):
        count = counts[i]
        if count < 0:
            raise ValueError("repeats may not contain negative values.")
        size += count
    return size


def repeat(values, counts, repeated):
    """Stores each value as often as its count says, one after the other."""
    place = 0
    for i in range(values.shape[0]):
        for _ in range(counts[i]):
            repeated[place] = values[i]
            place += 1
