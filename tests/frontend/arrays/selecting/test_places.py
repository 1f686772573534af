"""Arrays whose size data decide: what masks select, and where arrays are not zero, beside NumPy's."""

import numpy as np
import pytest

import polyml
from polyml.errors import BoundsError
from tests.frontend.library.compare import check

KINDS = ["complex128", "float64", "float32", "float16", "int64", "int32", "uint8", "bool"]


def places(x):
    return np.flatnonzero(x)


def places_of_each_dimension(A):
    i, j = np.nonzero(A > 0)
    return i, j, A[i, j], np.argwhere(A)


def selected(x):
    return x[x > 1], x[np.where(x > 1)], np.where(x > 1)[0], x.nonzero()[0]


def rows(x, A):
    return A[x > 1], A[np.nonzero(x > 1)[0], 1], A[1:, x[:4] > 1]


def functions_of_what_is_selected(x):
    y = x[x > 1]
    return (
        y * 2 + 1,
        np.cumsum(y),
        np.diff(y),
        y[::-1] + 0,
        np.concatenate((y, y)),
        y[1:] - y[:-1],
        y.copy(),
        y[:, None] * y,
        len(y),
        y.size,
    )


def selected_again(x):
    y = x[x > 1]
    z = y[y < 9]
    return y, z, z[z > 2].sum(), len(x[x > 4])


def of_one_mask(x, y):
    m = x > y
    a, b = x[m], y[m]
    a -= b
    return a, b, x[x > y] * y[x > y]


def as_large_as(x):
    y = x[x > 1]
    t, u = np.zeros_like(y), np.ones(len(y) + 1)
    u[1:] = y
    t[1:] += 3
    return t, u


def elements(x, k):
    y = x[x > 1]
    return y[0], y[-1], y[k]


def in_loops(A, out):
    for i in range(A.shape[0]):
        row = A[i]
        above = row[row > 0]
        if above.shape[0] > 1:
            out[i] = above[1]
        elif len(above) > 0:
            out[i] = np.max(above)
        for k in np.flatnonzero(row < 0):
            out[i] -= k


def changed(x):
    m = x > 1
    first = x[m]
    m[:3] = False
    return first, x[m]


def of_an_allocated_mask(x, n):
    m = np.zeros(x.shape[0], dtype=bool)
    for i in range(0, x.shape[0], 2):
        m[i] = x[i] > n
    every, none, like = np.full(x.shape[0], True), np.zeros_like(m), np.ones_like(x, dtype=np.bool_)
    every[1:] = m[1:]
    return x[m], x[every & ~m], x[none], x[like], x[(x * 2).astype(bool)], np.flatnonzero(m), m


def set_by_an_allocated_mask(x):
    m = np.empty(x.shape, dtype=np.bool_)
    m[:] = x > 2
    x[m] = 0
    return m.sum()


def extremes(x):
    y = x[x > 1]
    return y.max(), y.min(), np.argmax(y), y.argmin()


def numbers(kind, size=30):
    return (np.random.default_rng(0).random(size) * 12).astype(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_places_and_what_is_selected_are_numpys(kind):
    x = numbers(kind)
    check(places, (x,), (x * 0,), (x[:0],), (x[:1],), (x[::2],), (x.reshape(5, 6),), settings=({},))
    check(places_of_each_dimension, (x.reshape(5, 6),), (x.reshape(5, 6).T,), (x.reshape(5, 6)[:0],), settings=({},))
    check(selected, (x,), (x * 0,), (x[:0],), (x[:1],), settings=({},))
    check(rows, (x[:5], x[:20].reshape(5, 4)), settings=({},))


def test_results_are_the_same_in_each_setting():
    x = numbers(float, 3000)
    check(selected, (x,), (np.zeros(0),))
    check(functions_of_what_is_selected, (x[:40],), (x[:0],), (np.zeros(3),), bound=1e-12)
    check(selected_again, (x,), (np.zeros(3),), bound=1e-12)
    check(as_large_as, (x,), (np.zeros(3),))
    check(in_loops, (x.reshape(100, 30) - 6, np.zeros(100)), (x[:3].reshape(3, 1), np.zeros(3)))
    check(extremes, (x,), (np.arange(5),))


def test_one_mask_gives_arrays_of_one_size_until_it_changes():
    x = numbers(float)
    check(of_one_mask, (x, x[::-1].copy()), (np.zeros(2), np.ones(2)))
    check(changed, (x,), (np.zeros(4),))


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "uint8"])
def test_new_arrays_of_bool_are_masks(kind):
    x = numbers(kind)
    check(of_an_allocated_mask, (x, 3), (x[:0], 1), (x[:1], 20))
    check(set_by_an_allocated_mask, (x,), (x.reshape(5, 6),), (x[:0],))


def test_indices_are_those_of_what_is_selected():
    check(elements, (numbers(float), 1), (numbers(float), -2))
    kernel = polyml.kernel(fallback="error")(elements)
    for index in (40, -40):
        with pytest.raises(BoundsError, match=rf"`y\[k\]` is out of bounds: index {index} in dimension 0"):
            kernel(numbers(float), index)


def test_an_extremum_of_nothing_raises_what_numpy_raises():
    kernel = polyml.kernel(fallback="error")(extremes)
    with pytest.raises(ValueError, match="^zero-size array to reduction operation maximum which has no identity$"):
        kernel(np.zeros(3))


def test_a_small_result_keeps_no_large_memory():
    kernel = polyml.kernel(fallback="error")(places)
    x = np.zeros(100_000)
    x[7] = 1
    found = kernel(x)
    assert found.tolist() == [7] and found.base is None
    assert kernel(x + 1).shape == (100_000,)


def test_a_mask_of_another_size_is_left_to_python():
    kernel = polyml.kernel(fallback="silent")(lambda x, m: x[m > 0])
    with pytest.raises(IndexError, match="boolean index did not match"):
        kernel(np.ones(3), np.ones(4))
