"""Constants that need all of 64 bits beside integers of a kernel."""

from __future__ import annotations

import numpy as np
import pytest

import polyml


def binomial(n, k):
    largest = np.iinfo(np.intp).max
    if n < 0 or k < 0 or k > n:
        return 0
    if n == largest:
        return 0
    value = 1
    for j in range(1, min(k, n - k) + 1):
        if value > largest // (n + 1 - j):
            return 0
        value *= n + 1 - j
        value //= j
    return value


def smallest(A):
    least = 2**63 - 1
    for i in range(A.shape[0]):
        if A[i] < least:
            least = int(A[i])
    return least, -(2**63), (1 << 64) - 1 & 15


@pytest.mark.parametrize("threads", [1, 2])
def test_a_binomial_coefficient_that_would_leave_64_bits(threads):
    kernel = polyml.kernel(binomial, cache=False, fallback="error", threads=threads)
    for n in (*range(-2, 70), 2**40, 2**63 - 1):
        for k in (-1, 0, 1, 2, 5, 30, n):
            assert kernel(n, k) == binomial(n, k)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float64])
@pytest.mark.parametrize("size", [0, 1, 9])
def test_the_largest_int_is_a_number_like_others(size, dtype):
    A = np.arange(size)[::-1].astype(dtype)
    assert polyml.kernel(smallest, cache=False, fallback="error")(A) == smallest(A)
