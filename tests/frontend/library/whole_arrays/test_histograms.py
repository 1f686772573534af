"""np.histogram in kernels, beside NumPy's."""

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check, runs_as_python


def counts(x, n):
    some, edges = np.histogram(x, 10, (0, 1))
    others, wide = np.histogram(x, bins=n, range=(-3.5, 7.25))
    return some, edges, others, wide, np.histogram(x, 4, (2, 2))[0]


def shares(x):
    h, edges = np.histogram(x, 7, (-1, 9), density=True)
    return h, edges


def weighted(x, w):
    return np.histogram(x, 12, (-2.0, 9.0), weights=w)


def of_rows(A, out):
    for i in range(A.shape[0]):
        h, _ = np.histogram(A[i], 5, (0, 8))
        out[i] = h


def without_a_range(x):
    return np.histogram(x)[0]


def of_edges(x, edges):
    return np.histogram(x, edges)[0]


def between(x, a, b):
    return np.histogram(x, 5, (a, b))[0]


def numbers(kind, size=200):
    x = np.random.default_rng(0).random(size) * 12 - (0 if kind[0] in "ub" else 3)
    x[:60] = np.random.default_rng(1).integers(0, 8, 60)
    return x.astype(kind)


@pytest.mark.parametrize("kind", ["float64", "int64", "int8", "uint8", "uint64", "bool"])
def test_counts_are_numpys(kind):
    x = numbers(kind)
    check(counts, (x, 3), (x[::-2], 1), (x[:0], 100), (x[:1], 2), settings=({},))
    check(of_rows, (x.reshape(10, 20), np.zeros((10, 5), int)), settings=({},))


def test_numbers_on_edges_are_where_numpy_has_them():
    x = np.concatenate([np.linspace(low, high, bins * 3 + 1) for low, high, bins in ((0, 1, 10), (-3.5, 7.25, 3), (-1, 9, 7))])
    x = np.concatenate([x, np.nextafter(x, 10), np.nextafter(x, -10), [np.nan, np.inf, -np.inf]])
    check(counts, (x, 3), (x, 17), (x, 10))
    check(shares, (x,), bound=1e-15)


def test_weights_are_added_up():
    x = np.random.default_rng(0).random(200_000) * 12 - 3
    check(weighted, (x, x * 2), (x[:9], x[:9]), (x[:0], x[:0]), bound=1e-12)


def test_errors_are_numpys():
    with pytest.raises(ValueError, match="^`bins` must be positive, when an integer$"):
        polyml.kernel(fallback="error")(counts)(np.ones(3), 0)
    with pytest.raises(polyml.NotAffineError, match="np.histogram without range="):
        polyml.kernel(fallback="error")(without_a_range)(np.ones(3))
    for function, given in (
        (without_a_range, (np.ones(3),)),
        (counts, (np.ones(3, np.float32), 3)),
        (counts, (np.ones(3), 2.5)),
        (of_edges, (np.ones(3), np.arange(4))),
        (between, (np.ones(3), 2.0, 1.0)),
        (between, (np.ones(3), 0.0, np.inf)),
        (weighted, (np.ones(3), np.ones(2))),
    ):
        runs_as_python(function, *given)
