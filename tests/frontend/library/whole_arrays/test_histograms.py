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


def of_edges(x, edges):
    counts, same = np.histogram(x, edges)
    return counts, same, np.histogram(x, bins=edges, density=True)[0]


def of_edges_alone(x, edges):
    return np.histogram(x, edges)[0]


def of_all(x, n):
    return np.histogram(x), np.histogram(x, n), np.histogram(x, bins=7, density=True)


def of_all_weighted(x, w):
    return np.histogram(x, 5, weights=w)


def of_rows_alone(A, edges, out):
    for i in range(A.shape[0]):
        h, _ = np.histogram(A[i], edges)
        out[i] = h


def between(x, a, b):
    return np.histogram(x, 5, (a, b))[0]


def of_pairs(x, y, n):
    return np.histogram2d(x, y, n)


def of_pairs_in_a_range(x, y):
    sums = np.histogram2d(x, y, bins=[4, 7], range=[[0, 1], [-1, 2]], density=True)
    return *sums, *np.histogram2d(x, y, (3, 2), ((0, 2), (0, 0)))


def of_pairs_with_weights(x, y, w):
    return np.histogram2d(x, y, weights=w)


def of_pairs_between_edges(x, y, rows, columns):
    return np.histogram2d(x, y, (rows, columns))


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


@pytest.mark.parametrize("kind", ["float64", "int64", "int8", "uint8", "uint64", "bool"])
def test_ranges_of_data_are_numpys(kind):
    x = numbers(kind)
    check(of_all, (x, 3), (x[::-2], 1), (x[:1], 2), (x[:7], 100), (x.reshape(10, 20), 4), settings=({},))
    check(of_all_weighted, (x, np.arange(200.0)), settings=({},), bound=1e-13)


def test_ranges_of_data_are_the_same_in_each_setting():
    x = np.random.default_rng(0).normal(size=200_000)
    check(of_all, (x, 100), (np.repeat(x[:9], 5), 4), (x * 1e-300, 5), (x * 1e300, 5))
    big = np.random.default_rng(0).integers(-(2**63), 2**63, 500)
    check(of_all, (big, 9), (big // 2**10, 7), (big.astype(np.uint64), 9), (np.array([2**62, 2**62 + 2**20]), 1), settings=({},))


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "int64", "int8", "uint64", "bool"])
def test_counts_between_edges_are_numpys(kind):
    x = numbers(kind)
    uneven = [[0, 1, 3, 8], [0, 0, 2, 2, 5, 5], [4], [], [2, 2], [-3, 2, 2, 2, 9], np.sort(np.random.default_rng(2).random(50) * 9)]
    edges = [*(np.array(each, float) for each in uneven), np.linspace(-1, 9, 31), np.logspace(-3, 1, 60), np.arange(9.0)]
    check(of_edges, *((x, each) for each in edges if each.size > 1), settings=({},))
    check(of_edges_alone, *((x, each) for each in edges), (x[:0], edges[0]), (x[::-3], edges[0]), settings=({},))
    check(of_edges_alone, (x.reshape(10, 20), edges[0]), settings=({},))
    if kind != "bool":
        whole = np.arange(8).astype(kind)
        check(of_edges_alone, (x, whole), (x[:60], whole[::2]), settings=({},))
        check(of_rows_alone, (x.reshape(10, 20), whole, np.zeros((10, 7), int)), settings=({},))


def test_counts_between_odd_edges_are_numpys():
    x = np.concatenate([np.random.default_rng(0).normal(size=1000), [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1e308, -1e308]])
    inf, nan = np.inf, np.nan
    odd = [
        [-inf, 0, inf],
        [0, inf],
        [-inf, -1, 0],
        [-inf, inf],
        [-1e308, 0, 1e308],
        [0, 1e-320, 1],
        [1, nan],
        [nan, 1, 2],
        [0, nan, 1],
        [inf, inf],
    ]
    check(of_edges_alone, *((x, np.array(each, float)) for each in odd), (x, np.nextafter(x[0], [0, 9])))
    big = np.array([2**53, 2**53 + 1, 2**62, 2**62 + 1, 5])
    check(of_edges_alone, (big, np.array([0, 2**53 + 1, 2**62, 2**62 + 1])), (big, np.array([0, 2.0**53, 2.0**62])))


def test_counts_between_edges_are_the_same_in_each_setting():
    x = np.random.default_rng(0).normal(size=200_000)
    check(of_edges_alone, (x, np.linspace(-3, 3, 101)), (x, np.logspace(-3, 1, 60)), (x, np.array([0.0, 1.0])))


@pytest.mark.parametrize("x, text", [
    ([1.0, np.nan], r"autodetected range of \[nan, nan\] is not finite"),
    ([np.nan, 1.0], r"autodetected range of \[nan, nan\] is not finite"),
    ([np.inf, np.nan], r"autodetected range of \[nan, nan\] is not finite"),
    ([1.0, np.inf], r"autodetected range of \[1.0, inf\] is not finite"),
    ([-np.inf, np.inf], r"autodetected range of \[-inf, inf\] is not finite"),
    ([1e17, 1e17 + 16], "Too many bins for data range. Cannot create 10 finite-sized bins."),
    ([1e17, 1e17], "Too many bins for data range. Cannot create 10 finite-sized bins."),
])  # fmt: skip
def test_ranges_that_are_none_raise_value_errors(x, text):
    for setting in ({}, {"threads": 2}):
        with pytest.raises(ValueError, match=f"^{text}$"):
            polyml.kernel(fallback="error", **setting)(of_all)(np.array(x), 3)
    with pytest.raises(ValueError):
        of_all(np.array(x), 3)


def test_errors_are_numpys():
    with pytest.raises(ValueError, match="^`bins` must be positive, when an integer$"):
        polyml.kernel(fallback="error")(counts)(np.ones(3), 0)
    with pytest.raises(ValueError, match="^`bins` must increase monotonically, when an array$"):
        polyml.kernel(fallback="error")(of_edges_alone)(np.ones(3), np.array([1.0, 3.0, 2.0]))
    with pytest.raises(polyml.NotAffineError, match="np.histogram of integers of two types"):
        polyml.kernel(fallback="error")(of_edges_alone)(np.arange(3), np.arange(3, dtype=np.uint64))
    for function, given in (
        (of_edges, (np.ones(3) * 1j, np.arange(3.0))),
        (of_edges, (np.ones(3), np.ones((2, 2)))),
        (counts, (np.ones(3, np.float32), 3)),
        (counts, (np.ones(3), 2.5)),
        (of_edges_alone, (np.arange(3), np.arange(3, dtype=np.uint64))),
        (between, (np.ones(3), 2.0, 1.0)),
        (between, (np.ones(3), 0.0, np.inf)),
        (weighted, (np.ones(3), np.ones(2))),
    ):
        runs_as_python(function, *given)


def test_pairs_are_counted_as_in_numpy():
    x, y = np.random.default_rng(0).random((2, 50)) * 3 - 1
    whole = np.arange(50) % 9 - 3
    check(of_pairs, (x, y, 4), (whole, y, 3), (whole, whole, 1), (x[:0], y[:0], 2), (x[:1], y[:1], 3), (whole.astype("i1"), x, 6))
    check(of_pairs_in_a_range, (x, y), (x[:0], y[:0]))
    check(of_pairs_with_weights, (x, y, x * y))
    rows, columns = np.array([0, 0.2, 0.5, 0.5, 1.0]), np.array([-1, 0, 2])
    check(of_pairs_between_edges, (x, y, rows, columns), (x, y, rows[:1], columns), settings=({}, {"threads": 2}))
    check(of_pairs_between_edges, (np.append(x, [1, 0, 0.5, np.nan]), np.append(y, [2.0, -1, 0, 0]), rows, columns), settings=({},))


def test_pairs_that_cannot_be_counted_raise_the_errors_of_numpy():
    x, y = np.random.default_rng(0).random((2, 9))
    for function, given in (
        (of_pairs, (x, y, 0)), (of_pairs, (x, y[:4], 3)), (of_pairs, (x * np.nan, y, 3)), (of_pairs, (x / 0.0, y, 3)),
        (of_pairs_between_edges, (x, y, np.array([1.0, 0.5]), np.array([0, 1]))),
        (of_pairs_between_edges, (x, y, np.array([0.5, 1.0]), np.array([1, 0]))),
    ):  # fmt: skip
        with np.errstate(all="ignore"), pytest.raises(ValueError) as expected:
            function(*given)
        with np.errstate(all="ignore"), pytest.raises(ValueError) as found:
            polyml.kernel(fallback="error")(function)(*given)
        assert str(found.value) == str(expected.value)
    runs_as_python(of_pairs, x.astype("f4"), y, 3)
    runs_as_python(of_pairs_with_weights, x, y, y[:3])
