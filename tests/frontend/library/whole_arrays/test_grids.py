"""np.meshgrid, np.triu_indices, np.fill_diagonal and np.digitize in kernels, beside NumPy's."""

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check, runs_as_python

KINDS = ["float64", "float32", "int64", "int8", "uint64", "bool"]


def points(x, y):
    X, Y = np.meshgrid(x, y)
    U, V = np.meshgrid(x, y, indexing="ij")
    return X, Y, U, V, X[0] + 1


def distances(x, y):
    X, Y = np.meshgrid(x, y)
    return np.sqrt(X**2 + Y**2)


def triangles(n, m):
    i, j = np.triu_indices(n)
    k, l = np.triu_indices(n, k=1)
    p, q = np.tril_indices(n, -1, m)
    return i, j, k, l, p, q


def above_the_diagonal(A):
    i, j = np.triu_indices(A.shape[0], k=1)
    return A[i, j]


def new_diagonal(A, x):
    np.fill_diagonal(A, 3)
    for i in range(2):
        np.fill_diagonal(A, x[i])


def intervals(x, edges):
    return np.digitize(x, edges), np.digitize(x, edges, right=True)


def intervals_of_parts(x, edges):
    return np.digitize(x[1:] * 2, edges[::-1]), np.digitize(x[0], edges)


def numbers(kind, size=20):
    return (np.random.default_rng(0).random(size) * 9).astype(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_grids_of_each_type_are_numpys(kind):
    x = numbers(kind)
    check(points, (x, numbers("float32")), (x[:1], x[:3]), (x[:0], x[:3]), settings=({},))
    check(new_diagonal, (x.reshape(4, 5), x[:2]), (x.reshape(10, 2), x[:2]), (x[:0].reshape(0, 0), x[:2]), settings=({},))


def test_results_are_the_same_in_each_setting():
    check(distances, (np.arange(300.0), np.arange(70.0)), bound=1e-12)
    check(triangles, (5, 7), (1, 1), (0, 2), (40, 3))
    check(above_the_diagonal, (np.arange(25).reshape(5, 5),), (np.ones((1, 1)),))
    check(new_diagonal, (np.ones((300, 300)), np.arange(2)))


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_are_numpys(kind):
    x = numbers(kind)
    edges = np.sort(numbers(kind, 7), kind="stable")
    calls = [(x, e) for e in (edges, edges[::-1], edges[:1], edges[:0], np.append(edges[:1], edges), np.arange(4.0))]
    check(intervals, *calls, (x.reshape(4, 5), edges), (x[:0], edges), settings=({},))
    if kind != "bool":
        check(intervals_of_parts, (x, edges), settings=({},))


def test_edges_that_go_up_and_down_raise_what_numpy_raises():
    nan = np.nan
    check(intervals, (np.arange(5.0), np.array([1.0, nan])), (np.arange(5.0), np.array([1.0, 1.0, 2.0, nan])))
    for edges in ([1.0, 2.0, 1.0], [3.0, 2.0, 2.0, 4.0]):
        with pytest.raises(ValueError, match="^bins must be monotonically increasing or decreasing$"):
            polyml.kernel(fallback="error")(intervals)(np.ones(3), np.array(edges))
    runs_as_python(intervals, np.ones(3) * 1j, np.arange(3.0))
    runs_as_python(intervals, np.ones(3), np.ones((2, 2)))


def test_other_grids_are_left_to_python():
    runs_as_python(points, np.ones((2, 2)), np.ones(3))
    runs_as_python(new_diagonal, np.ones((2, 2, 2)), np.ones(3))
    runs_as_python(new_diagonal, np.ones(2), np.ones(3))
