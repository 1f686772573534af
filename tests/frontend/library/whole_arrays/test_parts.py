"""np.identity, rot90, kron, extract, column_stack, take_along_axis, sinc, heaviside, nan_to_num and np.add.reduce in kernels, beside NumPy's."""

import numpy as np
import pytest

from tests.frontend.library.compare import check, runs_as_python

KINDS = ["float64", "float32", "int64", "int8", "bool", "complex128"]


def arranged(A, x, y, n):
    turned = np.rot90(A) + 0, np.rot90(A, 2) * 1, np.rot90(A, -1) * 1, np.rot90(A, 3) * 1, np.rot90(A, k=0) * 1, np.rot90(A)
    return turned, np.identity(n), np.identity(3, dtype=np.int32), np.column_stack((x, y)), np.column_stack((x, A[:, :6].T))


def products(x, y, A, B):
    return np.kron(x, y), np.kron(A, B)


def taken(A, x, k):
    order = np.argsort(A, axis=0, kind="stable")
    some = np.take_along_axis(A, k, 1), np.take_along_axis(A, order, axis=0), np.take_along_axis(x, k[0], 0)
    return some, np.extract(x > 3, x), np.extract(k[0], x)


def reduced(A, x):
    some = np.add.reduce(x), np.add.reduce(A), np.multiply.reduce(A, axis=1), np.add.reduce(A, axis=None, dtype=np.complex128)
    return some, np.logical_and.reduce(A), np.logical_or.reduce(A, axis=1), np.add.reduce(A, axis=(0, 1), keepdims=True)


def extremes(A):
    return np.maximum.reduce(A), np.minimum.reduce(A, axis=1), np.maximum.reduce(A, axis=None)


def of_elements(x):
    return (
        np.sinc(x),
        np.heaviside(x, 0.5),
        np.heaviside(x, 1),
        np.degrees(x),
        np.nan_to_num(x),
        np.nan_to_num(x, nan=1.0, posinf=5, neginf=-5.5),
    )


def of_integers(x):
    return np.sinc(x), np.degrees(x)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_each_type_are_numpys(kind):
    rng = np.random.default_rng(0)
    x, y, k = (rng.random(6) * 9).astype(kind), (rng.random(6) * 9).astype(kind), rng.integers(0, 6, (4, 6))
    A, B = (rng.random((4, 6)) * 9).astype(kind), (rng.random((2, 3)) * 9).astype(kind)
    bound = 1e-6 if kind == "float32" else 1e-13
    check(arranged, (np.ones((6, 6), A.dtype), x, y, 4), settings=({},))
    check(products, (x, y, A, B), (x[:1], y, A[:1], B[:, :1]), settings=({},), bound=bound)
    if kind != "complex128":
        check(taken, (A, x, k), (A, x, -k), settings=({},))
        check(extremes, (A,), settings=({},))
    check(reduced, (A, x), settings=({},), bound=bound)


def test_elements_are_numpys():
    x = np.concatenate([np.linspace(-3, 3, 301), [np.nan, np.inf, -np.inf, -0.0]])
    check(of_elements, (x,), (x[:1],), (x[:0],), bound=1e-14)
    check(of_integers, (np.arange(-3, 4),), bound=1e-14)


def test_other_calls_are_left_to_python():
    runs_as_python(of_elements, np.ones(3, np.float32))
    runs_as_python(taken, np.ones((4, 6)), np.ones(6), np.full((4, 6), 9))
    runs_as_python(taken, np.ones((4, 6)), np.ones(6), np.ones((3, 6), int))
    runs_as_python(products, np.ones(2), np.ones(2), np.ones(2), np.ones((2, 2)))
