"""np.indices, np.mgrid and np.ogrid in kernels, beside NumPy's."""

import numpy as np
import pytest
from numpy import mgrid as grid_of

import polyml
from tests.frontend.library.compare import check, runs_as_python


def places(n, m):
    return np.indices((n, m)), np.indices((n,)), np.indices((n, m, 2), dtype=np.float32)


def places_of(A):
    I, J = np.indices(A.shape)
    return I * A + J, np.indices(A.shape, dtype=np.uint8)


def of_ints(n, m):
    return np.mgrid[0:n, 0:m], np.mgrid[0:n], np.mgrid[1:n:2, -3:m, 0:4:3], grid_of[n:0:-1, 0:1], np.mgrid[0:m,]


def of_floats(n):
    halves = np.mgrid[0:1:0.1, 0:n], np.mgrid[0:1:0.1], np.mgrid[0:n:2.5]
    return *halves, np.mgrid[0:1:5j], np.mgrid[-1:1:5j, 0:n:3j], np.mgrid[0:1:1j, 0:1:0j]


def of_counts(n):
    return np.mgrid[-1 : 1 : n * 1j, 0 : 1 : 1j * n]


def of_arguments(a, b, h):
    return np.mgrid[a:b:h, 0:1:h], np.ogrid[a:b:h]


def of_elements(x):
    return np.mgrid[0 : x[0], 0 : x[1] : 0.5]


def open_grids(n, m):
    y, x = np.ogrid[-1:1:7j, 0:m]
    z, u, v = np.ogrid[0:n, 0:1:0.3, 0:m:2]
    return x * x + y * y, y, x, z + u * v, np.ogrid[0:n], np.ogrid[5:1, 0:3], np.ogrid[0:n,]


def disc(A, r):
    y, x = np.ogrid[: A.shape[0], : A.shape[1]]
    mask = (x - 2) ** 2 + (y - 2) ** 2 <= r * r
    A[mask] = 0.0
    return mask


def rays(n, m):
    X, Y = np.mgrid[0:n, 0:m]
    return np.sqrt(X**2 + Y**2)


def test_places_are_numpys():
    check(places, (3, 4), (1, 1), (0, 2))
    for kind in ("float64", "float32", "int64", "bool"):
        check(places_of, (np.arange(12).reshape(3, 4).astype(kind),), (np.ones((1, 0), kind),), settings=({},))


def test_grids_are_numpys():
    check(of_ints, (5, 6), (1, 0), (0, 0))
    check(of_floats, (5,), (1,), bound=1e-15)
    check(of_floats, (5,), settings=({"fp": "strict"},))
    check(of_counts, (5,), (1,), (0,), bound=1e-15)
    check(of_arguments, (0.0, 1.0, 0.25), (0, 4, 1), (0, 4, 3), (0.1, 0.9, 0.1), bound=1e-15)
    check(of_elements, (np.array([3.0, 2.5]),), (np.array([3, 2]),), (np.array([0.0, 1.0]),))
    check(rays, (300, 200), (1, 1), bound=1e-15)


def test_open_grids_are_numpys():
    check(open_grids, (5, 6), (1, 1), bound=1e-15)
    check(disc, (np.ones((9, 7)), 2), (np.ones((1, 1)), 5), (np.ones((0, 3)), 5))


def unpacked_by_steps(a, n):
    return np.mgrid[0:a, 0:n]


def test_errors_are_numpys():
    with pytest.raises(ValueError, match="^negative dimensions are not allowed$"):
        polyml.kernel(fallback="error")(of_elements)(np.array([-3.0, 1.0]))
    with pytest.raises(ValueError, match="^cannot convert float NaN to integer$"):
        polyml.kernel(fallback="error")(of_elements)(np.array([np.nan, 1.0]))
    with pytest.raises(OverflowError, match="^cannot convert float infinity to integer$"):
        polyml.kernel(fallback="error")(of_elements)(np.array([np.inf, 1.0]))
    runs_as_python(unpacked_by_steps, -3, 2)


def not_slices(n):
    return np.mgrid[0:n, 3]


def without_an_end(n):
    return np.ogrid[0:, 0:n]


def of_four_dimensions(n):
    return np.mgrid[0:n, 0:n, 0:n, 0:n]


def sparse_places(A):
    return np.indices((2, 3), sparse=True)


def test_other_grids_are_left_to_python():
    for function in (not_slices, without_an_end, of_four_dimensions, sparse_places):
        runs_as_python(function, 3)
    runs_as_python(unpacked_by_steps, np.int32(3), 2)
    runs_as_python(unpacked_by_steps, np.float32(3), 2)
    with pytest.raises(polyml.NotAffineError, match="np.indices with sparse="):
        polyml.kernel(fallback="error")(sparse_places)(3)
