"""Sorting, merging, and searches in numbers and texts."""

import math

import numpy as np

from polyml.kernels.irregular._irregular import irregular

SMALL, LARGE = {"N": 120}, {"N": 60_000}


def _numbers(size, rng):
    return (rng.uniform(0, 1, size["N"]),)


def _whole_numbers(size, rng):
    return (rng.integers(0, 10 * size["N"], size["N"]),)


def _sorted_right(x):
    return {"x": np.sort(x)}


@irregular({"N": 60}, {"N": 6000}, _numbers, _sorted_right)
def insertion_sort(x):
    for i in range(1, x.shape[0]):
        value = x[i]
        j = i - 1
        while j >= 0 and x[j] > value:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = value


def _bubble_right(x):
    """A pass moves each number at most one place to the left, so the passes are the longest way to the left, and one more."""
    order = np.argsort(x, kind="stable")
    return {"x": x[order], "result": np.max(order - np.arange(len(x))) + 1}


@irregular({"N": 40}, {"N": 2000}, _whole_numbers, _bubble_right)
def bubble_sort(x):
    """Returns how many passes there were, of which the last one changed nothing."""
    passes = 0
    while True:
        passes += 1
        swapped = False
        for i in range(x.shape[0] - passes):
            if x[i] > x[i + 1]:
                x[i], x[i + 1] = x[i + 1], x[i]
                swapped = True
        if not swapped:
            return passes


@irregular(SMALL, LARGE, _numbers, _sorted_right)
def heap_sort(x):
    n = x.shape[0]
    start = n // 2
    end = n
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            x[end], x[0] = x[0], x[end]
        root = start
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and x[child] < x[child + 1]:
                child += 1
            if x[root] >= x[child]:
                break
            x[root], x[child] = x[child], x[root]
            root = child


@irregular(SMALL, LARGE, _numbers, _sorted_right)
def quick_sort(x):
    """Sorts with a stack of what is left to do, the larger part first, and short parts by insertion."""
    stack = np.empty((64, 2), dtype=np.int64)
    stack[0, 0] = 0
    stack[0, 1] = x.shape[0] - 1
    depth = 1
    while depth > 0:
        depth -= 1
        low = stack[depth, 0]
        high = stack[depth, 1]
        if high - low < 16:
            for i in range(low + 1, high + 1):
                value = x[i]
                j = i
                while j > low and x[j - 1] > value:
                    x[j] = x[j - 1]
                    j -= 1
                x[j] = value
            continue
        pivot = x[(low + high) // 2]
        i = low
        j = high
        while i <= j:
            while x[i] < pivot:
                i += 1
            while x[j] > pivot:
                j -= 1
            if i <= j:
                x[i], x[j] = x[j], x[i]
                i += 1
                j -= 1
        if j - low < high - i:
            stack[depth, 0], stack[depth, 1] = i, high
            stack[depth + 1, 0], stack[depth + 1, 1] = low, j
        else:
            stack[depth, 0], stack[depth, 1] = low, j
            stack[depth + 1, 0], stack[depth + 1, 1] = i, high
        depth += 2


@irregular({"N": 64}, {"N": 65_536}, _numbers, _sorted_right)
def bitonic_sort(x):
    """Sorts a power of two of numbers by a network."""
    n = x.shape[0]
    width = 2
    while width <= n:
        step = width // 2
        while step > 0:
            for i in range(n):
                other = i ^ step
                if other > i:
                    if (i & width == 0) == (x[i] > x[other]):
                        t = x[i]
                        x[i] = x[other]
                        x[other] = t
            step //= 2
        width *= 2


@irregular(SMALL, LARGE, _numbers, _sorted_right)
def merge_sort(x):
    """Merges runs of 1, 2, 4 and so on numbers, from bottom up."""
    n = x.shape[0]
    room = np.empty(n)
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle = min(low + width, n)
            high = min(low + 2 * width, n)
            i = low
            j = middle
            for k in range(low, high):
                if i < middle and (j >= high or x[i] <= x[j]):
                    room[k] = x[i]
                    i += 1
                else:
                    room[k] = x[j]
                    j += 1
        for k in range(n):
            x[k] = room[k]
        width *= 2


@irregular(SMALL, LARGE, _numbers, _sorted_right)
def shell_sort(x):
    n = x.shape[0]
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            value = x[i]
            j = i
            while j >= gap and x[j - gap] > value:
                x[j] = x[j - gap]
                j -= gap
            x[j] = value
        gap //= 3


def _two_sorted(size, rng):
    """Returns two sorted arrays and room for both."""
    n = size["N"]
    return np.sort(rng.integers(0, n, n)), np.sort(rng.integers(0, n, n // 2)), np.zeros(n + n // 2, dtype=np.int64)


@irregular({"N": 150}, {"N": 1_000_000}, _two_sorted, lambda a, b, out: {"out": np.sort(np.concatenate([a, b]))})
def merge_sorted(a, b, out):
    i = 0
    j = 0
    k = 0
    while i < a.shape[0] and j < b.shape[0]:
        if a[i] <= b[j]:
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
        k += 1
    while i < a.shape[0]:
        out[k] = a[i]
        i += 1
        k += 1
    while j < b.shape[0]:
        out[k] = b[j]
        j += 1
        k += 1


def _distinct(size, rng):
    """Returns distinct numbers, and one of the last of them."""
    x = rng.permutation(size["N"])
    return x, int(x[-size["N"] // 50])


@irregular({"N": 500}, {"N": 8_000_000}, _distinct, lambda x, value: {"result": np.argmax(x == value)})
def linear_search(x, value):
    for i in range(x.shape[0]):
        if x[i] == value:
            return i
    return -1


def _keys(size, rng):
    """Returns sorted distinct numbers, numbers to look for, half of which are there, and room for a place of each."""
    x = np.sort(rng.choice(2 * size["N"], size["N"], replace=False))
    return x, rng.integers(0, 2 * size["N"], size["K"]), np.zeros(size["K"], dtype=np.int64)


def _found_right(x, keys, places):
    found = np.minimum(np.searchsorted(x, keys), len(x) - 1)
    return {"places": np.where(x[found] == keys, found, -1)}


@irregular({"N": 100, "K": 50}, {"N": 100_000, "K": 50_000}, _keys, _found_right, parallel="0:q")
def binary_search(x, keys, places):
    """Finds each key's place, or -1."""
    for q in range(keys.shape[0]):
        low = 0
        high = x.shape[0] - 1
        places[q] = -1
        while low <= high:
            middle = (low + high) // 2
            if x[middle] == keys[q]:
                places[q] = middle
                break
            if x[middle] < keys[q]:
                low = middle + 1
            else:
                high = middle - 1


@irregular(
    {"N": 100, "K": 50}, {"N": 100_000, "K": 100_000},
    _keys, lambda x, keys, places: {"places": np.searchsorted(x, keys)}, parallel="0:q",
)  # fmt: skip
def lower_bounds(x, keys, places):
    """Finds the first place whose number is not less than each key, by halving the part that is left."""
    for q in range(keys.shape[0]):
        first = 0
        count = x.shape[0]
        while count > 0:
            half = count // 2
            if x[first + half] < keys[q]:
                first += half + 1
                count -= half + 1
            else:
                count = half
        places[q] = first


def _once_twice(size, rng):
    """Returns distinct numbers, of which a late one is that of an early place again."""
    x = rng.permutation(size["N"])
    x[-size["N"] // 20] = x[size["N"] // 3]
    return (x,)


def _duplicate_right(x):
    order = np.argsort(x, kind="stable")
    return {"result": order[1:][np.diff(x[order]) == 0].min()}


@irregular({"N": 300}, {"N": 3_000_000}, _once_twice, _duplicate_right)
def first_duplicate(x):
    """Returns the first place whose number stood before, or -1."""
    seen = np.zeros(x.shape[0], dtype=np.bool_)
    for i in range(x.shape[0]):
        if seen[x[i]]:
            return i
        seen[x[i]] = True
    return -1


def _text_with_pattern(size, rng):
    """Returns a text of two letters, a pattern in it, and room for places."""
    text = rng.integers(0, 2, size["N"]).astype(np.uint8)
    places = np.zeros(size["N"], dtype=np.int64)
    return text, text[size["N"] // 2 :][: size["M"]].copy(), places


def _pattern_right(text, pattern, places):
    found = np.flatnonzero((np.lib.stride_tricks.sliding_window_view(text, len(pattern)) == pattern).all(axis=1))
    return {"places": np.pad(found, (0, len(places) - len(found))), "result": len(found)}


@irregular({"N": 300, "M": 5}, {"N": 500_000, "M": 9}, _text_with_pattern, _pattern_right)
def knuth_morris_pratt(text, pattern, places):
    """Finds all places of the pattern; returns how many there are."""
    m = pattern.shape[0]
    back = np.zeros(m, dtype=np.int64)
    k = 0
    for i in range(1, m):
        while k > 0 and pattern[k] != pattern[i]:
            k = back[k - 1]
        if pattern[k] == pattern[i]:
            k += 1
        back[i] = k
    count = 0
    k = 0
    for i in range(text.shape[0]):
        while k > 0 and pattern[k] != text[i]:
            k = back[k - 1]
        if pattern[k] == text[i]:
            k += 1
        if k == m:
            places[count] = i - m + 1
            count += 1
            k = back[k - 1]
    return count


def _sieve_right(limit):
    """Computed by trial division by all numbers up to the root, as arrays."""
    numbers = np.arange(2, limit)
    for d in range(2, math.isqrt(limit) + 1):
        numbers = numbers[(numbers <= d) | (numbers % d != 0)]
    return {"result": numbers}


@irregular({"N": 500}, {"N": 1_000_000}, lambda size, rng: (size["N"] + int(rng.integers(0, 10)),), _sieve_right)
def sieve_of_primes(limit):
    """Returns the primes below the limit."""
    composite = np.zeros(limit, dtype=np.bool_)
    count = 0
    for i in range(2, limit):
        if not composite[i]:
            count += 1
            j = i * i
            while j < limit:
                composite[j] = True
                j += i
    primes = np.empty(count, dtype=np.int64)
    k = 0
    for i in range(2, limit):
        if not composite[i]:
            primes[k] = i
            k += 1
    return primes
