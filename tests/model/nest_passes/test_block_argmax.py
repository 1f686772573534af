"""Loops that look for the greatest or least element and its place are taken in blocks, and find what Python finds."""

import numpy as np
import pytest

import polyml
from polyml.model.nest_passes.block_argmax import BLOCK

SIZES = (1, 2, 9, 1000, BLOCK, BLOCK + 1, BLOCK + 2, 3 * BLOCK + 5)


def greatest(A, B):
    best = A[0]
    at = 0
    for i in range(1, A.shape[0]):
        if A[i] > best:
            best = A[i]
            at = i
    return best, at


def last_greatest(A, B):
    best = A[0]
    at = -1
    for i in range(A.shape[0]):
        if best <= A[i]:
            best, at = A[i], i
    return best, at


def least(A, B):
    best, at = B[0], 7
    for i in range(3, A.shape[0]):
        part = A[i]
        if part < best:
            at = i + 3
            best = part
    return best, at


def last_least(A, B):
    best, at, start = B[0], -3, 0
    for i in range(A.shape[0] // 2):
        if A[2 * i] <= best:
            at = 2 + i
            best = A[2 * i]
            start = 5
    return best, at, start


def backwards(A, B):
    best, at = B[0], 0
    for i in range(A.shape[0]):
        if A[A.shape[0] - 1 - i] > best:
            best, at = A[A.shape[0] - 1 - i], i
    return best, at


def differences(A, B):
    best, at = A[0] - A[0], 0
    for i in range(A.shape[0]):
        if A[i] - B[i] > best:
            best, at = A[i] - B[i], i
    return best, at


def element(A, B):
    for i in range(1, A.shape[0]):
        if A[i] < B[0]:
            B[0] = A[i]
    return B[0]


def place_in_memory(A, B):
    P = np.zeros(2, np.int64)
    best = A[0]
    for i in range(A.shape[0]):
        if A[i] >= best:
            best = A[i]
            P[1] = i
    return P


def both_ends(A, B):
    low, high = A[0], A[0]
    at, there = 0, 0
    for i in range(1, A.shape[0]):
        if A[i] > high:
            high = A[i]
            there = i
        if A[i] <= low:
            low = A[i]
            at = i
    return low, at, high, there


SEARCHES = [greatest, last_greatest, least, last_least, backwards, differences, element, place_in_memory, both_ends]


def compiled(function, **options):
    return polyml.kernel(cache=False, fallback="error", **options)(function)


def has_blocks(k, *args):
    return "most" in k.lower(*args).stages["domain"]()


def assert_as_python(k, *args):
    mine, theirs = [a.copy() for a in args], [a.copy() for a in args]
    with np.errstate(all="ignore"):
        wanted = k.py_func(*theirs)
    got = k(*mine)
    wanted, got = (each if isinstance(each, tuple) else (each,) for each in (wanted, got))
    for a, b in zip(got, wanted, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)
    for a, b in zip(mine, theirs):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "u8"])
@pytest.mark.parametrize("function", SEARCHES)
@pytest.mark.sweep(keep=9)
def test_the_place_is_pythons(function, dtype):
    rng = np.random.default_rng(0)
    k = compiled(function, threads=2)
    if function is not element and not (function is differences and dtype == "u1"):  # the element alone is a minimum
        assert has_blocks(k, np.zeros(5, dtype), np.zeros(5, dtype))
    for n in SIZES:
        for most in (1, 2, 100):  # all equal, many equal, few equal
            A, B = (rng.integers(0, most, n).astype(dtype) for _ in "AB")
            assert_as_python(k, A, B)
        info = np.finfo(dtype) if dtype.startswith("f") else np.iinfo(dtype)
        for extreme in (info.min, info.max):
            A = np.full(n, extreme, dtype)
            assert_as_python(k, A, np.full(n, extreme, dtype))
            A[n // 2] = 1
            assert_as_python(k, A, rng.integers(0, 5, n).astype(dtype))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("function", SEARCHES)
@pytest.mark.sweep(keep=9)
def test_nan_infinity_and_zeros_are_pythons(function, dtype):
    rng = np.random.default_rng(1)
    k = compiled(function)
    for n in SIZES:
        for value in (np.nan, np.inf, -np.inf):
            for where in ({0}, {n - 1}, {n // 2}, {0, n // 3}, set(range(n)), set(range(1, n)), set(range(0, n, 2))):
                A, B = (rng.integers(-3, 4, n).astype(dtype) for _ in "AB")
                A[list(where)] = value
                assert_as_python(k, A, B)
                B[0] = value
                assert_as_python(k, A, B)
        assert_as_python(k, np.where(rng.random(n) < 0.5, 0.0, -0.0).astype(dtype), np.zeros(n, dtype))
        A = np.full(n, -np.inf, dtype)
        A[::2] = np.nan
        assert_as_python(k, A, np.full(n, -np.inf, dtype))


def test_no_iterations_change_nothing():
    k = compiled(least)
    for n in (0, 1, 3):
        assert_as_python(k, np.full(n, -5.0), np.ones(3))


def test_the_settings_that_keep_the_order_of_float_sums_keep_the_loop():
    A, B = np.random.default_rng(2).random((2, 3000))
    k = compiled(greatest, fp="strict")
    assert not has_blocks(k, A, B)
    assert_as_python(k, A, B)
    assert has_blocks(k, A.astype(int), B.astype(int))


def of_a_matrix(A):
    best = A[0, 0]
    x = 0
    y = 0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] > best:
                best = A[i, j]
                x = i
                y = j
    return best, x, y


def test_a_search_through_several_loops():
    k = compiled(of_a_matrix)
    rng = np.random.default_rng(3)
    assert has_blocks(k, np.zeros((3, 4)))
    for shape in ((1, 1), (3, 5), (4, BLOCK + 7), (300, 31)):
        for most in (1, 3, 1000):
            A = rng.integers(0, most, shape).astype(float)
            assert_as_python(k, A)
            assert_as_python(k, A[::-1, ::-1])
            assert_as_python(k, np.asfortranarray(A))


def search_in_each_row(A, R):
    for i in range(A.shape[0]):
        best = A[i, 0]
        at = 0
        for j in range(1, A.shape[1]):
            if A[i, j] > best:
                best = A[i, j]
                at = j
        R[i] = at


def down_a_column(A, R):
    best, at = A[0, 0], 0
    for i in range(A.shape[0]):
        if A[i, 1] > best:
            best, at = A[i, 1], i
    R[0] = at


def best_is_read(A, R):
    best, at = A[0, 0], 0
    for i in range(A.shape[0]):
        if A[0, i] > best:
            best = A[0, i]
            at = i
        R[i] = at


def new_value_is_asked(A, R):
    best, at = A[0, 0], 0
    for i in range(A.shape[0]):
        if A[0, i] > best:
            best = A[0, i]
        if A[0, i] > best:
            at = i
    R[0] = at


def what_is_searched_changes(A, R):
    best = R[0]
    for i in range(1, R.shape[0]):
        if R[i] > best:
            best = R[i]
            R[0] = i
    R[1] = best


def rounded_twice(A, R):
    best, at = A[0, 0], 0
    for i in range(A.shape[0]):
        if A[0, i] * A[1, i] + A[2, i] > best:
            best, at = A[0, i] * A[1, i] + A[2, i], i
    R[0] = at


@pytest.mark.parametrize(
    "function", [search_in_each_row, down_a_column, best_is_read, new_value_is_asked, what_is_searched_changes, rounded_twice]
)
def test_what_is_no_such_search_stays_a_loop(function):
    k = compiled(function)
    rng = np.random.default_rng(4)
    assert not has_blocks(k, np.zeros((4, 4)), np.zeros(4))
    for n in (4, 37):
        assert_as_python(k, rng.integers(-9, 9, (n, n)).astype(float), rng.integers(-9, 9, n).astype(float))
