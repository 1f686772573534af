"""np.unique and functions of arrays as sets in kernels, beside NumPy's."""

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check, runs_as_python

INTEGERS = ["int64", "int32", "int8", "uint64", "uint8", "bool"]
FLOATS = ["float64", "float32", "float16"]


def different(x):
    return np.unique(x)


def all_of_it(x):
    values, places, groups, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    return values, places, groups, counts, values[groups], counts.sum()


def counted(x):
    v, n = np.unique(x[1:], return_counts=True)
    return v[np.argmax(n)], len(v), n


def rows(A, out):
    for i in range(A.shape[0]):
        v, n = np.unique(A[i], return_counts=True)
        out[i, 0] = len(v)
        out[i, 1] = n.max()
        for k in range(len(v)):
            if v[k] == v[k]:
                out[i, 2] += v[k] * n[k]


def nans_apart(A, out):
    for i in range(A.shape[0]):
        out[i, 0] = np.unique(A[i], equal_nan=False).size


def sets(x, y):
    return np.union1d(x, y), np.intersect1d(x, y), np.setdiff1d(x, y), np.setxor1d(x, y), np.isin(x, y), np.isin(x, y, invert=True)


def sets_in_a_loop(A, y, out):
    for i in range(A.shape[0]):
        row = A[i]
        out[i] = len(np.intersect1d(row, y)) + 100 * len(np.setdiff1d(row, y)) + 10000 * len(np.union1d(row, y))


def members(A, y):
    return A[np.isin(A, y)], np.where(np.isin(A, y), A, 0)


def numbers(kind, size=60, most=9):
    return (np.random.default_rng(0).random(size) * most).astype(kind)


def with_nans(kind):
    A = numbers(kind).reshape(4, 15)
    A[1, 3] = A[2, 3] = A[2, 9] = np.nan
    A[3] = np.nan
    return A


@pytest.mark.parametrize("kind", INTEGERS)
def test_different_integers_are_numpys(kind):
    x, wide = numbers(kind), numbers(kind, most=1e5 if kind.endswith(("32", "64")) else 100)
    calls = [(x,), (wide,), (x[:0],), (x[:1],), (x[::-2],), (np.append(x, x * 3),)]
    check(different, *calls, settings=({},))
    check(all_of_it, *calls, settings=({},))
    check(counted, *(call for call in calls if len(call[0]) > 1), settings=({},))


@pytest.mark.parametrize("kind", ["int64", "uint64"])
def test_the_limits_of_types_are_far_apart(kind):
    info = np.iinfo(kind)
    check(all_of_it, (np.array([info.max, info.min, info.max, info.min + 1] * 6, kind),))


def test_different_integers_are_the_same_in_each_setting():
    check(all_of_it, (numbers(int, 5000, 700),), (numbers(int, 500, 1e9),), (np.zeros(0, int),))


@pytest.mark.parametrize("kind", [*FLOATS, "int64"])
def test_rows_of_loops_have_numpys_different_numbers(kind):
    check(rows, (numbers(kind).reshape(4, 15), np.zeros((4, 3))), (numbers(kind).reshape(60, 1), np.zeros((60, 3))), bound=1e-12)
    if kind != "int64":
        check(rows, (with_nans(kind), np.zeros((4, 3))), bound=1e-12)
        check(nans_apart, (with_nans(kind), np.zeros((4, 1))))


@pytest.mark.parametrize("kind", INTEGERS)
def test_sets_of_integers_are_numpys(kind):
    x, y = numbers(kind), numbers(kind, 9, 30)
    check(sets, (x, y), (y, x), (x[:0], y), (x, y[:0]), (x[:1], y[:1]), (x[:0], y[:0]), settings=({},))
    check(members, (x.reshape(6, 10), y), (x.reshape(6, 10), y[:0]), settings=({},))


@pytest.mark.parametrize("kind", FLOATS)
def test_sets_of_floats_are_numpys_in_loops(kind):
    y = np.append(numbers(kind, 9), np.array([np.nan, np.nan], kind))
    A = np.append(with_nans(kind), np.tile(y[:8], (4, 1)), axis=1)
    check(sets_in_a_loop, (A, y, np.zeros(4)), (A[:, :0], y, np.zeros(4)), (A, y[:0], np.zeros(4)))


def test_what_is_refused_is_told():
    for given, what in (
        (np.ones((2, 2), int), "np.unique of an array with other dimensions"),
        (np.ones(3), "a single vector of floats is sorted"),
        (np.ones(3) * 1j, "np.unique of complex numbers"),
    ):
        with pytest.raises(polyml.NotAffineError, match=what):
            polyml.kernel(fallback="error")(different)(given)
        runs_as_python(different, given)
    runs_as_python(sets, numbers(int), numbers(float))


def test_an_axis_is_refused_at_the_call():
    @polyml.kernel(fallback="error")
    def along(A):
        return np.unique(A, axis=0)

    with pytest.raises(
        polyml.NotAffineError, match=r"test_sets.py:\d+:16: error: np.unique of this(.|\n)*polyml compiles: np.unique"
    ):
        along(np.ones((2, 2), int))
