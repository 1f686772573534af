"""What may be assumed of index arrays: conditions that are NumPy in plain Python, and loops where a kernel has them.

    polyml.assume(polyml.injective(k))      `b[k[i]] += x[i]` changes another element in each iteration
    polyml.assume(polyml.monotonic(ptr))    the ranges ptr[i] .. ptr[i + 1] of different rows have no element in common
    polyml.assume(polyml.within(k, 0, n))   `b[k[i]]` is an element where b has n elements, so no index is tested

An index that is negative counts from the end, so that -1 and n - 1 choose the same element: no condition but `within` holds for arrays
with such indices. That subscripted subscripts can be proved apart by such properties is shown in Bhosale and Eigenmann, "On the automatic
parallelization of subscripted subscript patterns using array property analysis", ICS 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

NOT_SO = "an assumption does not hold"
INJECTIVE, MONOTONIC, WITHIN = "injective", "monotonic", "within"


def assume(condition: Any, message: str = NOT_SO) -> None:
    """Raises ValueError unless a condition holds.

    At the beginning of a kernel, before all but other assumptions and the names of sizes, what it says of index arrays is also used to
    find loops for threads and to leave out tests of indices.

    >>> import numpy as np, polyml
    >>> @polyml.kernel
    ... def permuted(b, k, x):
    ...     polyml.assume(polyml.injective(k))
    ...     for i in range(k.shape[0]):
    ...         b[k[i]] = x[i]
    >>> permuted(np.zeros(2), np.array([1, 1]), np.ones(2))
    Traceback (most recent call last):
    ValueError: an assumption does not hold
    """
    if not condition:
        raise ValueError(message)


def injective(k: Any) -> bool:
    """Returns whether an index array chooses no element twice: no number is twice in it, and none is negative.

    >>> import numpy as np
    >>> injective(np.array([2, 0, 1])), injective(np.array([2, 0, 2])), injective(np.array([-1, 2]))
    (True, False, False)
    """
    ordered = np.sort(np.asarray(k), axis=None)
    return not ordered.size or bool(ordered[0] >= 0 and np.all(ordered[1:] != ordered[:-1]))


def monotonic(k: Any) -> bool:
    """Returns whether no number of an index array is less than the one before it, as in row pointers, and none is negative.

    >>> import numpy as np
    >>> monotonic(np.array([0, 3, 3, 5])), monotonic(np.array([0, 3, 2])), monotonic(np.array([-1, 2]))
    (True, False, False)
    """
    array = np.asarray(k)
    return not array.size or bool(array[0] >= 0 and np.all(array[1:] >= array[:-1]))


def within(k: Any, low: Any, high: Any) -> bool:
    """Returns whether low <= number < high for every number of an index array.

    >>> import numpy as np
    >>> within(np.array([0, 3]), 0, 4), within(np.array([0, 4]), 0, 4), within(np.array([], int), 5, 2)
    (True, False, True)
    """
    array = np.asarray(k)
    return not array.size or bool(np.min(array) >= low and np.max(array) < high)


def injective_in_loops(k):  # type: ignore[no-untyped-def]
    """Is `injective` of a vector: by a bit for each number where these are not too far apart, else in a table of
    twice as many places, in which a number is looked for from the place on that its bits give (Knuth, "Sorting and Searching", 6.4).
    """
    size = k.shape[0]
    high = -1
    low = 0
    for i in range(size):
        low = min(low, int(k[i]))
        high = max(high, int(k[i]))
    if low < 0:
        return False
    words = np.empty(2 * size + 1, dtype=np.int64)
    repeats = 0
    if high // 64 <= size:
        for w in range(high // 64 + 1):
            words[w] = 0
        for i in range(size):
            number = int(k[i])
            word = words[number // 64]
            bit = np.int64(1) << np.int64(number % 64)
            repeats += 1 if word & bit != 0 else 0
            words[number // 64] = word | bit
    else:
        for w in range(2 * size + 1):
            words[w] = -1
        for i in range(size):
            number = int(k[i])
            place = int((np.uint64(number) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(11)) % np.uint64(2 * size + 1))
            while words[place] >= 0 and words[place] != number:
                place = place + 1 if place < 2 * size else 0
            repeats += 1 if words[place] == number else 0
            words[place] = number
    return repeats == 0


def monotonic_in_loops(k):  # type: ignore[no-untyped-def]
    """Is `monotonic` of a vector."""
    falls = 0
    for i in range(k.shape[0]):
        if k[i] < 0:
            falls += 1
    for i in range(1, k.shape[0]):
        if k[i] < k[i - 1]:
            falls += 1
    return falls == 0


def within_in_loops(k, low, high):  # type: ignore[no-untyped-def]
    """Is `within` of a vector."""
    outside = 0
    for i in range(k.shape[0]):
        if k[i] < low or k[i] >= high:
            outside += 1
    return outside == 0


IN_LOOPS: dict[Callable[..., Any], Callable[..., Any]] = {
    injective: injective_in_loops, monotonic: monotonic_in_loops, within: within_in_loops,
}  # fmt: skip
