"""Arrays that are allocated where data have decided their sizes, beside NumPy's."""

import numpy as np
import pytest

import polyml
from polyml.errors import BoundsError
from tests.frontend.library.compare import check


def of_a_sum(lengths, values):
    out = np.empty(lengths.sum(), values.dtype)
    place = 0
    for run in range(lengths.shape[0]):
        for _ in range(lengths[run]):
            out[place] = values[run]
            place += 1
    return out


def counted(keys):
    largest = -1
    for i in range(keys.shape[0]):
        largest = max(largest, keys[i])
    counts = np.zeros(largest + 1, np.int64)
    for i in range(keys.shape[0]):
        counts[keys[i]] += 1
    return counts, counts.sum(), (counts * 2)[1:]


def in_a_loop(sizes):
    total = 0.0
    for i in range(sizes.shape[0]):
        t = np.ones(sizes[i])
        t[1:] = 2
        total += t.sum()
    return total


def element(x, k):
    u = np.zeros(int(x[0]))
    u[k] = 1
    return u


def read_by_threads(x, y, k):
    table = np.empty(int(x[0]))
    for i in range(table.shape[0]):
        table[i] = i * i
    for i in range(y.shape[0]):
        s = 0.0
        for j in range(k[i]):
            s += table[j]
        y[i] = s


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "int8", "bool", "float16"])
def test_an_array_has_as_many_elements_as_data_say(kind):
    values = np.arange(4).astype(kind)
    check(of_a_sum, (np.array([2, 0, 3, 1]), values), (np.zeros(4, int), values), (np.zeros(0, int), values[:0]))
    check(of_a_sum, (np.array([2, 0, 3, 1], np.int32), values), settings=({},))


def test_results_are_the_same_in_each_setting():
    check(counted, (np.array([3, 1, 1, 0]),), (np.zeros(0, int),), (np.random.default_rng(0).integers(0, 90, 5000),))
    check(in_a_loop, (np.array([3, 1, 0, 7]),), (np.ones(1, int),))
    check(read_by_threads, (np.array([2000.0]), np.zeros(3000), np.random.default_rng(0).integers(0, 2000, 3000)), bound=1e-12)


def test_matrices_are_stored_row_by_row():
    def rows(x, y):
        n = int(x[0])
        A = np.full((n, y.shape[0]), 3)
        for i in range(n):
            A[i, i % 3] = y[i % 3]
        return A, A.T * 2, A.sum(), A.shape[0]

    check(rows, (np.array([5.0]), np.arange(3)), (np.zeros(1), np.arange(3)), (np.ones(1), np.arange(3)))


def test_indices_are_those_of_the_array():
    check(element, (np.array([4.0]), 3), (np.array([4.0]), -4))
    kernel = polyml.kernel(fallback="error")(element)
    with pytest.raises(BoundsError, match=r"`u\[k\]` is out of bounds: index 4 in dimension 0"):
        kernel(np.array([4.0]), 4)


def test_a_negative_size_raises_what_numpy_raises():
    for function, given in ((element, (np.array([-1.0]), 0)), (in_a_loop, (np.array([2, -1]),))):
        with pytest.raises(ValueError, match="^negative dimensions are not allowed$"):
            polyml.kernel(fallback="error")(function)(*given)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_size_that_is_no_number_raises_what_its_conversion_raises(threads):
    kernel = polyml.kernel(fallback="error", threads=threads)(element)
    with pytest.raises(ValueError, match="NaN cannot be converted to an integer in `element`"):
        kernel(np.array([np.nan]), 0)
    for infinite in (np.inf, -np.inf):
        with pytest.raises(OverflowError, match="perhaps infinity, was converted to one in `element`"):
            kernel(np.array([infinite]), 0)


def test_an_error_before_the_conversion_comes_first():
    def checked(x):
        if x[0] < 0:
            raise KeyError("negative")
        return np.zeros(int(x[1]))

    with pytest.raises(KeyError, match="negative"):
        polyml.kernel(fallback="error")(checked)(np.array([-1, np.nan]))


def test_more_than_there_is_memory_for_is_an_error():
    with pytest.raises(MemoryError):
        polyml.kernel(fallback="error")(element)(np.array([1e15]), 0)


def test_an_array_that_is_returned_twice_runs_as_plain_python():
    def twice(x):
        u = np.zeros(int(x[0]))
        return u, u

    one, other = polyml.kernel(fallback="silent")(twice)(np.array([3.0]))
    assert one is other
