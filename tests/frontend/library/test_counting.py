"""np.bincount and np.repeat in kernels, beside NumPy's."""

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check, runs_as_python


def counts(x):
    return np.bincount(x)


def at_least(x, w):
    return np.bincount(x, minlength=9), np.bincount(x, weights=w), np.bincount(x, w, 3)


def repeated(x, k):
    return np.repeat(x, k), x.repeat(k)


def of_groups(x, k):
    groups = np.repeat(np.arange(x.shape[0]), k)
    return np.bincount(groups, minlength=3), x[groups].sum()


def in_loops(A, out):
    for i in range(A.shape[0]):
        out[i] = np.bincount(A[i]).max()


@pytest.mark.parametrize("kind", ["int64", "int32", "int8", "uint8", "bool"])
def test_numbers_of_each_type_are_counted(kind):
    x = (np.random.default_rng(0).random(40) * 7).astype(kind)
    check(counts, (x,), (x[:0],), (x[::3],), settings=({},))
    check(at_least, (x, np.random.default_rng(1).random(40)), (x, x), (x, np.ones(40, np.float32)), settings=({},))


@pytest.mark.parametrize("kind", ["float64", "complex64", "int8", "bool"])
def test_each_value_is_repeated_as_often_as_its_count_says(kind):
    x = np.arange(5).astype(kind)
    if kind != "complex64":
        check(repeated, (x, np.array([2, 0, 3, 1, 1])), (x, 3), (x, 0), (x[:0], np.zeros(0, int)), (x, np.zeros(5, np.int8)))
    runs_as_python(repeated, x, np.array([2]))


def test_results_are_the_same_in_each_setting():
    x, k = np.random.default_rng(0).random(50), np.random.default_rng(1).integers(0, 4, 50)
    check(of_groups, (x, k), (x, k * 0 + 1), bound=1e-12)
    check(in_loops, (k.reshape(10, 5), np.zeros(10)))


def test_what_numpy_refuses_raises_its_error():
    for function, given, text in (
        (counts, (np.array([1, -1]),), "'list' argument must have no negative elements"),
        (repeated, (np.ones(2), np.array([1, -1])), "repeats may not contain negative values."),
        (repeated, (np.ones(2), -1), "negative dimensions are not allowed"),
    ):
        with pytest.raises(ValueError, match=f"^{text}$"):
            polyml.kernel(fallback="error")(function)(*given)
    runs_as_python(counts, np.array([1, 2], np.uint64))
    runs_as_python(counts, np.ones(3))
    runs_as_python(at_least, np.array([1, 2]), np.ones(3))
    runs_as_python(at_least, np.zeros(0, int), np.ones(0))
