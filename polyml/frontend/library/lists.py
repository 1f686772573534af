"""Methods of Python's lists, and what else asks for all of their elements, as texts that are inlined where a kernel has them.

Elements are compared as ints alone: of floats, Python looks at identity before equality, which tells NaN from NaN.
"""

from collections.abc import Callable
from operator import index


def contains(values, x):
    """Returns whether an int is one of a list's ints."""
    wanted = index(x)
    found = False
    for k in range(len(values)):
        found = found or index(values[k]) == wanted
    return found


def count(values, x):
    """Returns how many of a list's ints are equal to an int."""
    wanted = index(x)
    total = 0
    for k in range(len(values)):
        if index(values[k]) == wanted:
            total += 1
    return total


def insert(values, place, x):
    """Stores an element before the one at a place, which is one of the list's ends where the list has no such place."""
    last = len(values)
    own = clipped(place, last)
    values.append(x)
    while last > own:
        values[last] = values[last - 1]
        last -= 1
    values[own] = x


def clipped(place, length):
    """Returns an end of a slice as a number of elements from the start."""
    own = index(place)
    return max(min(own + length if own < 0 else own, length), 0)


def delete(values, place):
    """Takes an element out of a list."""
    last = len(values) - 1
    own = index(place)
    if own < 0:
        own += last + 1
    if own < 0 or own > last:
        raise IndexError("list assignment index out of range")
    while own < last:
        values[own] = values[own + 1]
        own += 1
    values.pop()


def remove(values, x):
    """Takes the first int that is equal to another one out of a list."""
    wanted = index(x)
    last = len(values) - 1
    own = 0
    while own <= last and index(values[own]) != wanted:
        own += 1
    if own > last:
        raise ValueError("list.remove(x): x not in list")
    while own < last:
        values[own] = values[own + 1]
        own += 1
    values.pop()


def reverse(values):
    """Exchanges the first element of a list with the last one, and so on."""
    last = len(values) - 1
    for k in range((last + 1) // 2):
        kept = values[k]
        values[k] = values[last - k]
        values[last - k] = kept


def sort(values):
    """Sorts ints by merging runs that become twice as long each time (Knuth, TAOCP 3, 5.2.4)."""
    length = len(values)
    for k in range(length):
        _ = index(values[k])
    merged = list(values)
    width = 1
    while width < length:
        begin = 0
        while begin < length:
            middle = min(begin + width, length)
            end = min(middle + width, length)
            left = begin
            right = middle
            for k in range(begin, end):
                if left < middle and (right >= end or values[left] <= values[right]):
                    merged[k] = values[left]
                    left += 1
                else:
                    merged[k] = values[right]
                    right += 1
            begin = end
        for k in range(length):
            values[k] = merged[k]
        width *= 2


METHODS: dict[str, Callable] = {"insert": insert, "remove": remove, "reverse": reverse, "sort": sort}
TEXTS: dict[str, Callable] = {**METHODS, "contains": contains, "count": count, "delete": delete, "clipped": clipped}
