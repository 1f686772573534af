"""np.unravel_index, ravel_multi_index, putmask, place and copyto in kernels, beside NumPy's."""

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check, runs_as_python

A = np.random.default_rng(0).random((3, 4))
PLACES = np.array([3, 1, 11, 0])
V, MASK, SOME = np.arange(5.0), np.array([True, False, True, True, False]), np.array([7.0, 8.0])


def largest(A):
    i, j = np.unravel_index(np.argmax(A), A.shape)
    return i, j, A[i, j]


def unraveled(A, k):
    return np.unravel_index(k, A.shape)


def at_places(A, k):
    i, j = np.unravel_index(k, (A.shape[0], A.shape[1]))
    return A[i, j] * 2, i + j


def raveled(A, i, j):
    return np.ravel_multi_index((i, j), A.shape)


def wrapped(A, i, j):
    return np.ravel_multi_index((i, j), A.shape, mode="wrap"), np.ravel_multi_index((i, j), A.shape, mode="clip")


def masked(a, m, v):
    np.putmask(a, m, v)
    return a


def placed(a, m, v):
    np.place(a, m, v)
    return a


def onto_itself(a, m):
    np.place(a, m, a[:2])
    np.putmask(a[1:], m[1:], a[:-1])
    return a


def copied(a, v):
    np.copyto(a, v)
    return a.sum()


def copied_where(a, m, v):
    np.copyto(a, v, where=m)
    return a


def test_places_of_elements_are_numpys():
    check(largest, (A,), (A[:1, :1],), (A.astype("f4"),))
    check(unraveled, (A, 5), (A, np.int32(3)), (A, np.uint8(11)), settings=({},))
    check(unraveled, (A, PLACES), (A, PLACES[:0]), (A, PLACES.astype("i4")), (A, PLACES.astype("u1")), (A, PLACES.reshape(2, 2)))
    check(at_places, (A, PLACES), (A, PLACES[:1]))
    check(raveled, (A, 1, 2), (A, np.int32(2), 3), settings=({},))
    for function in (raveled, wrapped):
        check(function, (A, PLACES % 3, PLACES % 4), (A, PLACES % 3, 2), (A, PLACES[:0], PLACES[:0]), settings=({},))
    check(wrapped, (A, PLACES, PLACES - 2), (A, -1, 9), (A, 3, -8))


def test_indices_that_are_outside_raise_the_errors_of_numpy():
    for k in (12, -1, PLACES + 1, PLACES - 1):
        with pytest.raises(ValueError) as expected:
            unraveled(A, k)
        with pytest.raises(ValueError) as found:
            polyml.kernel(fallback="error")(unraveled)(A, k)
        assert str(found.value) == str(expected.value)
    for i, j in ((3, 0), (0, -1), (PLACES, 0), (PLACES % 3, PLACES - 1)):
        with pytest.raises(ValueError, match="^invalid entry in coordinates array$"):
            polyml.kernel(fallback="error")(raveled)(A, i, j)
    with pytest.raises(ValueError, match="shape has zero entries"):
        polyml.kernel(fallback="error")(raveled)(np.ones((2, 0)), 0, 0)


@pytest.mark.parametrize("function", [masked, placed], ids=lambda f: f.__name__)
def test_elements_are_put_where_a_mask_is(function):
    check(
        function,
        (V, MASK, 1.5),
        (V, MASK, 2),
        (V, MASK, SOME),
        (V[:0], MASK[:0], SOME),
        (V, ~MASK & MASK, SOME[:0]),
        (V, MASK, V * 2),
    )
    for kind in ("int64", "float32", "uint8", "bool", "complex128"):
        check(function, (V.astype(kind), MASK, 3), (V.astype(kind), MASK, 2.5), (V.astype(kind), MASK, True), settings=({},))
    check(function, (V, MASK.astype(int), SOME), (V, MASK.astype(int), 3), (V, MASK, np.array([1, 2])), settings=({},))
    runs_as_python(function, np.arange(5), MASK, SOME)
    runs_as_python(function, V, MASK[:2], SOME)
    runs_as_python(function, np.arange(5, dtype="u1"), MASK, -3)


def test_numbers_of_the_same_array_are_read_when_numpy_reads_them():
    check(onto_itself, (V, MASK), (V, ~MASK), (V, MASK | True))


def test_nothing_can_be_put_from_an_empty_array():
    with pytest.raises(ValueError, match="^Cannot insert from an empty array!$"):
        polyml.kernel(fallback="error")(placed)(V.copy(), MASK, SOME[:0])


def test_arrays_are_copied_to_others():
    check(copied, (V, 1.5), (V, 2), (V, V * 2), (V, np.arange(5)), (V, np.array([3.0])), (np.ones((2, 5)), V))
    check(copied, (np.arange(5), 3), (V.astype("f4"), V), settings=({},))
    check(copied_where, (V, MASK, 1.5), (V, MASK, V * 2), (V[:0], MASK[:0], V[:0]))
    check(copied_where, (MASK, MASK, MASK), (np.arange(5), MASK, 3), (V * 1j, MASK, 2.0), settings=({},))
    for a, v in ((np.arange(5), 2.5), (np.arange(5), V), (MASK, 3), (V, V[:2])):
        runs_as_python(copied, a, v)
    runs_as_python(copied_where, V, MASK.astype(int), 3.0)
