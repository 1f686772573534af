"""Rows and slices that data decide: what kernels make of them, and the errors of rows that an array does not have."""

from __future__ import annotations

import numpy as np
import pytest

import polyml

TYPES = [(np.float64, np.int64), (np.float32, np.int32), (np.int64, np.uint8)]


def rows(A, k, out):
    for i in range(k.shape[0]):
        out[i, :] = A[k[i], :]


def rows_in_place(A, k, B):
    for i in range(k.shape[0]):
        A[k[i]] += B[k[i]]


def rows_to_rows(A, k, m, B):
    for i in range(k.shape[0]):
        B[k[i], :] = A[m[i], :]


def columns(A, k, out):
    for i in range(k.shape[0]):
        out[i, 0] = np.dot(A[:, k[i]], A[k[i], :])


def segments(v, p, out):
    for i in range(p.shape[0] - 1):
        out[i] = np.sum(v[p[i] : p[i + 1]])


def steps(v, p, out):
    for i in range(p.shape[0] - 1):
        out[i] = np.sum(v[p[i] : p[i + 1] : 2]) + np.sum(v[p[i] :: -3]) + np.sum(v[: p[i] : -2]) + np.sum(v[p[i] : p[i + 1] : -1])


def tails(v, p, out):
    i = 0
    while i < p.shape[0]:
        w = v[p[i] :]
        out[i] = np.sum(w[-2:]) + np.sum(w[:-1]) + np.sum(w[1:3]) * w.shape[0]
        i += 1


def scaled(v, p):
    for i in range(p.shape[0] - 1):
        v[p[i] : p[i + 1]] = v[p[i] : p[i + 1]] * 2 + i


def windows(v, out):
    i = 0
    while i + 5 < v.shape[0] + 3:
        out[i] = np.sum(v[i : i + 5])
        i += 1


def where_it_exists(A, k, out):
    for i in range(k.shape[0]):
        if k[i] < A.shape[0] and np.sum(A[k[i]]) > 0:
            out[i] = 1
        out[i] += np.sum(A[k[i]]) if k[i] < A.shape[0] else A[0, 0]


def times_a_number(v, k, w):
    i = 0
    while i < k.shape[0]:
        w[:] = w * v[k[i]]
        i += 1


def first_part(v, p):
    w = v[p[0] : p[1]] * 2
    return np.sum(w) * len(w)


def ran(function, arguments):
    own = [argument.copy() for argument in arguments]
    try:
        result = function(*own)
    except IndexError:
        result = IndexError
    return result, own


def check(function, *arguments, **settings):
    """Checks that a kernel is compiled whole, and returns, writes and raises what plain Python does."""
    kernel = polyml.kernel(function, cache=False, fallback="error", on_defect="raise", **settings)
    result, own = ran(kernel, arguments)
    wanted, changed = ran(function, arguments)
    assert type(result) is type(wanted)
    if wanted is IndexError or wanted is None:
        assert result is wanted
    else:
        np.testing.assert_allclose(result, wanted, rtol=1e-6)
    for mine, theirs in zip(own, changed):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)
    assert kernel.compiled


@pytest.mark.parametrize("settings", [{}, {"fp": "strict"}, {"threads": 2}], ids=str)
@pytest.mark.parametrize("element, index", TYPES)
def test_rows_and_slices_that_data_decide_are_those_of_python(element, index, settings):
    rng = np.random.default_rng(1)
    v, A, B = (np.asarray(rng.random(shape) * 10, element) for shape in (10, (6, 6), (6, 6)))
    k, p, out = rng.integers(0, 6, 6).astype(index), np.array([0, 3, 3, 2, 10, 12, 7], index), np.zeros(12, element)
    check(rows, A, k, B, **settings)
    check(rows_in_place, A, k, B, **settings)
    check(rows_to_rows, A, k, k[::-1], B, **settings)
    check(rows_to_rows, A, k, k, B.T, **settings)
    check(columns, A, k, B, **settings)
    for function in (segments, steps, tails):
        check(function, v, p, out, **settings)
        check(function, v[::-2], p, out, **settings)
        check(function, v[:0], p, out, **settings)
        check(function, v[:1], p[:2], out, **settings)
    check(scaled, v, p, **settings)
    check(windows, v, out, **settings)
    check(where_it_exists, A, p, out, **settings)
    check(times_a_number, v, k, v, **settings)
    check(first_part, v, p, **settings)


@pytest.mark.parametrize("element, index", TYPES[:2])
def test_negative_rows_and_ends_of_slices_count_from_the_end(element, index):
    rng = np.random.default_rng(1)
    v, A, B = (np.asarray(rng.random(shape) * 10, element) for shape in (10, (6, 6), (6, 6)))
    k, p = np.array([-1, -6, 2, -3, 0, 5], index), np.array([-3, -1, 4, -20, 5, -11, 20, -1], index)
    check(rows, A, k, B)
    check(rows_in_place, A, k, B)
    check(columns, A, k, B)
    check(where_it_exists, A, k, np.zeros(6, element))
    for function in (segments, steps, tails):
        check(function, v, p, np.zeros(12, element))
    check(scaled, v, p)
    check(first_part, v, p)


@pytest.mark.parametrize("wrong", [6, -7, 2**40])
def test_a_row_that_an_array_has_not_ends_the_call_where_python_ends_it(wrong):
    rng = np.random.default_rng(1)
    v, A, B, k = rng.random(6), rng.random((6, 6)), rng.random((6, 6)), np.array([1, 2, wrong, 0])
    check(rows, A, k, B)
    check(rows, A[:, :0], k, B[:, :0])
    check(rows_in_place, A, k, B)
    check(rows_to_rows, A, k, abs(k) % 6, B)
    check(rows_to_rows, A, abs(k) % 6, k, B)
    check(columns, A, k, B)
    check(times_a_number, v, k, v)
    check(times_a_number, v, k, v[:0])


def test_the_error_of_a_row_says_which_part_of_which_statement():
    kernel = polyml.kernel(rows_to_rows, cache=False, fallback="error")
    with pytest.raises(IndexError, match=r"`A\[m\[i\], :\]` is out of bounds: index 8 in dimension 0"):
        kernel(np.ones((6, 6)), np.array([7]), np.array([8]), np.ones((6, 6)))  # Python computes the right side first


def sizes_that_may_differ(v, p):
    for i in range(p.shape[0] - 1):
        v[p[i] : p[i + 1]] = v[p[i + 1] : p[i]]


def test_slices_whose_sizes_differ_raise_as_they_are_assigned():
    kernel = polyml.kernel(sizes_that_may_differ, cache=False, fallback="error")
    with pytest.raises(ValueError, match="could not broadcast"):
        kernel(np.arange(5.0), np.array([0, 3]))


def returned_part(v, p):
    return v[p[0] : p[1]] * 2


def returned_part_of_a_loop(v, p):
    n = 0
    while n < p.shape[0] and p[n] > 0:
        n += 1
    w = v[:n] + 1
    return w


@pytest.mark.parametrize("function", [returned_part, returned_part_of_a_loop])
def test_an_array_whose_size_data_decide_is_returned(function):
    kernel = polyml.kernel(function, cache=False, fallback="error")
    v = np.arange(5.0)
    for p in map(np.array, ([1, 3, 0], [0, 9, 1], [-4, -1, 1], [3, 1, 1], [1, 1, 0])):
        np.testing.assert_array_equal(kernel(v, p), function(v, p))
