"""Indices that loops of a region decide: which elements they may be, so that loops around the region go to threads."""

import numpy as np
import pytest

import polyml


def blocks(indptr, data, x, y, size):
    """The size is a number, of which the model knows nothing; as a size of an array it would do."""
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            for r in range(size):
                y[i * size + r] += data[p] * x[r]


def flattened(indptr, data, x, y):
    size = x.shape[0]
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            for r in range(size):
                y[r + size * i] += data[p] * x[r]


def fours(indptr, data, x, y):
    for i in range(indptr.shape[0] - 1):
        for r in range(4):
            y[4 * i + r] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            for r in range(4):
                y[4 * i + 3 - r] += data[p] * x[r]


def five_of_four(indptr, data, x, y):
    """Each block shares an element with the next one."""
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            for r in range(5):
                y[4 * i + r] += data[p]


def longer_blocks(indptr, data, x, y, size):
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            for r in range(size + 1):
                y[i * size + r] += data[p]


def from_the_end(indptr, data, x, y, size):
    """The block before the first one is the last elements."""
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            for r in range(size):
                y[(i - 1) * size + r] += data[p]


def halves(indptr, data, x, y):
    n = indptr.shape[0] - 1
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            for r in range(i, n):
                y[r] += data[p]


def arguments(function, rows=30, size=4):
    rng = np.random.default_rng(rows)
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 4, rows))])
    found = indptr, rng.random(indptr[-1]), rng.random(size), np.zeros(rows * size + 1)
    return (*found, size) if function.__code__.co_argcount == 5 else found


CASES = [
    (blocks, False),
    (flattened, True),
    (fours, True),
    (five_of_four, False),
    (longer_blocks, False),
    (from_the_end, False),
    (halves, False),
]


@pytest.mark.parametrize("function, is_parallel", CASES)
def test_blocks_that_have_no_element_in_common_are_independent(function, is_parallel):
    kernel = polyml.kernel(function, cache=False, fallback="error", threads=3, fp="strict")
    for rows in (30, 1, 200):
        wanted, own = arguments(function, rows), arguments(function, rows)
        function(*wanted)
        kernel(*own)
        np.testing.assert_array_equal(own[3], wanted[3])
    assert ("runs in order" not in kernel.explain()) == is_parallel


def test_an_index_out_of_range_is_told_as_python_does():
    for function in (blocks, fours):
        for threads in (1, 3):
            given = arguments(function)
            short = (*given[:3], given[3][:50].copy(), *given[4:])
            with pytest.raises(IndexError):
                polyml.kernel(function, cache=False, fallback="error", threads=threads)(*short)
