"""np.gradient, np.trapezoid, np.convolve and their kin in kernels, beside NumPy's."""

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check, runs_as_python

KINDS = ["complex128", "float64", "float32", "int64", "uint8"]


def slopes(x, dx):
    return np.gradient(x), np.gradient(x, 0.5), np.gradient(x, dx)


def slopes_of_rows(A):
    return np.gradient(A, axis=0), np.gradient(A, 0.25, axis=1), np.gradient(A, axis=-1)


def integrals(x, A):
    return np.trapezoid(x), np.trapezoid(x, dx=0.5), np.trapezoid(A), np.trapezoid(A, np.arange(A.shape[1]) * 2)


def neighbours(x):
    return np.ediff1d(x)


def convolved(x, w):
    return np.convolve(x, w), np.convolve(w, x), np.convolve(x, w, "same"), np.convolve(x, w, mode="valid"), np.correlate(x, w)


def smoothed_in_a_loop(A, w, out):
    for i in range(A.shape[0]):
        out[i] = np.convolve(A[i], w, mode="same")


def vector_products(a, b, A, B):
    return np.cross(a, b), np.cross(A, B)


def numbers(kind, size=20):
    return (np.random.default_rng(0).random(size) * 9).astype(kind)


def bound(kind):
    return 1e-5 if kind == "float32" else 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_each_type_gives_numpys_results(kind):
    x = numbers(kind)
    check(slopes, (x, 2), (x[:2], 0.5), (x[::2], 3.0), settings=({},), bound=bound(kind))
    check(slopes_of_rows, (x.reshape(4, 5),), (x.reshape(4, 5).T,), (x.reshape(10, 2),), settings=({},), bound=bound(kind))
    check(integrals, (x, x.reshape(4, 5)), (x[:1], x[:5].reshape(5, 1)), settings=({},), bound=bound(kind))
    check(neighbours, (x,), (x[:1],), settings=({},))
    check(convolved, (x, x[:3]), (x[:4], x[4:8]), (x[:1], x[:1]), settings=({},), bound=bound(kind))
    check(vector_products, (x[:3], x[3:6], x[:12].reshape(4, 3), x[6:18].reshape(4, 3)), settings=({},), bound=bound(kind))


def test_results_are_the_same_in_each_setting():
    x = numbers(float, 3000)
    check(slopes, (x, 0.1), bound=1e-12)
    check(integrals, (x, x.reshape(30, 100)), bound=1e-10)
    check(convolved, (x, x[:33]), bound=1e-11)
    check(smoothed_in_a_loop, (x.reshape(30, 100), x[:7], np.zeros((30, 100))), bound=1e-12)


def test_errors_are_numpys():
    kernel = polyml.kernel(fallback="silent")
    with pytest.raises(ValueError, match="^Shape of array too small to calculate a numerical gradient, at least"):
        kernel(slopes)(np.ones(1), 1.0)
    with pytest.raises(ValueError, match="^v cannot be empty$"):
        kernel(convolved)(np.ones(2), np.ones(0))
    for function, given in (
        (slopes, (np.ones(3, bool), 1)),
        (slopes, (np.ones((2, 2)), 1)),
        (slopes, (np.ones(3), np.arange(3.0))),
        (neighbours, (np.ones(3, bool),)),
        (neighbours, (np.ones(0),)),
        (convolved, (np.ones(2), np.arange(5.0))),
        (vector_products, (np.ones(2), np.ones(2), np.ones((2, 3)), np.ones((2, 3)))),
    ):
        runs_as_python(function, *given)
