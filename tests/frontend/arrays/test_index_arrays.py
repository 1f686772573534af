"""Index arrays that the kernel computes or changes, and assignments to the elements that index arrays choose."""

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check, runs_as_python

KINDS = ["float64", "float32", "complex64", "int64", "int32", "uint8"]


def stored(v, k, x):
    v[k] = x


def updated(v, k, x):
    v[k] += x


def added(v, k, x):
    np.add.at(v, k, x)


def largest(v, k, x):
    np.maximum.at(v, k * 1, x)


def in_turn(v, k, x):
    v[k] *= x
    v[k % 2] -= x
    v[k] = v[k]


def of_matrices(A, r, c):
    A[r, c] = 7
    A[r] = 2
    A[:, c] += 3
    A[r, 1] = c
    np.subtract.at(A, (r, c), r)
    A[r, 1:3] = A[c, :2]
    A[0, c] = c


def at_its_own_values(v, x):
    v[v] = x


def reversed_values(v, k):
    v[k] = v[::-1][k]


def computed(v, k):
    j = k * 2
    return v[j], v[1:][j - 1], (v * 2)[k], v[k % 2]


def changed(v, k):
    j = np.zeros(3, np.int64)
    j[0] = 1
    j[1] = -1
    v[j[0]] = 5
    w = v[j]
    j[2] = 3
    return w, v[j]


def read_of_matrices(A, k):
    j = k * 1
    return A[:, j], A[j], A[j, 1:3], A[j, j], A[j[:, None], j], A[0, j], np.take(A, j, axis=1), A[j, 2]


def overwritten(v, k):
    v[:3] = v[k]


def stored_twice(w, v, k):
    v[0] = 1
    w[:] = v[k]


@pytest.mark.parametrize("kind", KINDS)
def test_each_type_of_elements_is_stored_where_numpy_stores_it(kind):
    numbers = np.random.default_rng(0)
    for k in (numbers.integers(-5, 5, 20), numbers.integers(0, 5, 20).astype("int32"), np.zeros(0, int), np.array([2])):
        v = (numbers.random(5) * 9).astype(kind)
        for x in ((numbers.random(len(k)) * 9).astype(kind), 3):
            for function in (stored, updated, added, in_turn):
                check(function, (v, k, x), settings=({}, {"threads": 2}))
            if kind != "complex64":
                check(largest, (v, k, x), settings=({},))


@pytest.mark.parametrize("kind", ["float64", "int32"])
def test_index_arrays_stand_beside_numbers_and_slices(kind):
    numbers = np.random.default_rng(1)
    A = (numbers.random((4, 4)) * 9).astype(kind)
    check(of_matrices, (A, *numbers.integers(-4, 4, (2, 9))), (A, *np.zeros((2, 0), int)))
    check(read_of_matrices, (A, numbers.integers(-4, 4, 5)), (A, numbers.integers(-4, 4, (2, 3))), (A, np.zeros(0, int)))


def test_what_is_read_may_be_what_is_stored():
    check(at_its_own_values, (np.array([3, 1, 2, 0, 4]), np.arange(5)))
    check(reversed_values, (np.arange(5), np.arange(5)))
    check(overwritten, (np.arange(5.0), np.array([0, -1, -5])))
    check(computed, (np.arange(5.0), np.array([0, 1, 2])))
    check(changed, (np.arange(5.0), np.arange(3)))


@pytest.mark.parametrize("function", [stored, updated, added, overwritten])
@pytest.mark.parametrize("index", [5, -6])
def test_an_index_outside_raises_before_anything_is_stored(function, index):
    v = np.arange(5.0)
    given = (v, np.array([0, 2, index])) if function is overwritten else (v, np.array([0, 2, index]), np.ones(3))
    with pytest.raises(IndexError, match=f"index {index} in dimension 0 of size 5"):
        polyml.kernel(fallback="error")(function)(*given)
    assert v.tolist() == [0, 1, 2, 3, 4]


def test_an_index_outside_raises_before_its_values_go_elsewhere():
    w = np.zeros(3)
    with pytest.raises(IndexError):
        polyml.kernel(fallback="error")(stored_twice)(w, np.arange(5.0), np.array([1, 2, 9]))
    assert not w.any()


def test_what_numpy_refuses_or_broadcasts_runs_as_plain_python():
    runs_as_python(stored, np.zeros(5), np.array([1, 2]), np.ones(3))
    runs_as_python(updated, np.zeros(5, int), np.array([1, 2]), np.array([0.5, 1.5]))
    runs_as_python(stored, np.zeros(5), np.array([0.0, 1.0]), 1.0)
    runs_as_python(stored, np.zeros((5, 0)), np.array([7]), 1.0)


def test_index_arrays_of_more_dimensions_are_refused():
    with pytest.raises(polyml.NotAffineError, match="index arrays of one dimension"):
        polyml.kernel(fallback="error")(stored)(np.zeros(5), np.zeros((2, 2), int), 1.0)
    runs_as_python(stored, np.zeros(5), np.zeros((2, 2), int), 1.0)


def group_means(keys, x):
    sums = np.zeros(keys.max() + 1)
    counts = np.bincount(keys)
    np.add.at(sums, keys, x)
    return sums / np.maximum(counts, 1)


def test_updates_stand_beside_sizes_that_are_compared_as_the_program_runs():
    keys, x = np.array([0, 2, 2]), np.ones(3)
    made = polyml.kernel(fallback="error", cache=False)(group_means)(keys, x)
    np.testing.assert_array_equal(made, group_means(keys, x))
