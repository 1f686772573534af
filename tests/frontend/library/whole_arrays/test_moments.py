"""np.average, np.cov and np.corrcoef in kernels, beside NumPy's."""

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check, runs_as_python

KINDS = ["float64", "float32", "int64", "int8", "bool", "complex128", "uint64"]


def of_vectors(x, w):
    mean, scale = np.average(x, weights=w, returned=True)
    return np.average(x, weights=w), np.average(x), np.average(x, weights=w, axis=0), mean, scale


def of_matrices(A, W, v, w):
    some = np.average(A, weights=W), np.average(A, axis=0, weights=W), np.average(A, 1, W, True), np.average(A, axis=(0, 1))
    others = np.average(A, axis=0, weights=v), np.average(A, axis=1, weights=w), np.average(A, axis=-1, weights=w, keepdims=True)
    return some, others, np.average(A, axis=1, keepdims=True)


def of_rows(A, w):
    out = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        out[i] = np.average(A[i], weights=w)
    return out


def covariances(A, B):
    some = np.cov(A), np.cov(A, bias=True), np.cov(A, ddof=0), np.cov(A, rowvar=False), np.cov(A.T, ddof=2)
    return some, np.cov(A[0], A[1]), np.cov(A, B), np.cov(A[0], B[0])[0, 1]


def correlations(A):
    return np.corrcoef(A), np.corrcoef(A, rowvar=False), np.corrcoef(A[0], A[1])[0, 1]


def with_the_first(A):
    out = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        out[i] = np.corrcoef(A[i], A[0])[0, 1]
    return out


def numbers(kind, shape, seed=0):
    x = np.random.default_rng(seed).random(shape) * 9 - (0 if kind[0] in "ub" else 3)
    return x.astype(kind)


def bound_of(kind):
    return 1e-5 if kind == "float32" else 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_averages_are_numpys(kind):
    x, w = numbers(kind, 9), numbers("int64", 9, 1) ** 2 + 1
    for weights in (w, w * 0.5, (w * 0.5).astype(np.float32)):
        check(of_vectors, (x, weights), settings=({},), bound=bound_of(kind))
    A, W = numbers(kind, (6, 9)), numbers("float64", (6, 9), 1) ** 2
    check(of_matrices, (A, W, w[:6], w), settings=({},), bound=bound_of(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_covariances_are_numpys(kind):
    A, B = numbers(kind, (6, 9)), numbers("float64", (3, 9), 1)
    check(covariances, (A, B), (A[:4], B[:1]), settings=({},), bound=1e-12)
    if kind not in ("complex128", "bool"):
        check(correlations, (A,), settings=({},), bound=1e-12)


def test_results_are_the_same_in_each_setting():
    A, w = numbers("float64", (40, 300)), numbers("float64", 300, 1) ** 2
    check(of_rows, (A, w), (A[:1], w), (A[:, :1], w[:1]), bound=1e-12)
    check(covariances, (A, A[:3]), bound=1e-12)
    check(correlations, (A,), (np.where(A > 5, np.nan, A),), bound=1e-12)
    check(with_the_first, (A,), bound=1e-12)


def test_weights_without_a_sum_raise_what_numpy_raises():
    with pytest.raises(ZeroDivisionError, match="^Weights sum to zero, can't be normalized$"):
        polyml.kernel(fallback="error")(of_vectors)(np.ones(2), np.array([1.0, -1.0]))


def of_one_vector(x):
    return np.cov(x)


def of_one_vector_in_ways(x):
    return np.cov(x), np.cov(x, bias=True), np.cov(x, ddof=0) * 2


def with_frequencies(A):
    return np.cov(A, fweights=np.arange(A.shape[1]))


def without_an_axis(A, w):
    return np.average(A, weights=w)


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "bool", "complex128"])
def test_the_covariance_of_one_vector_is_its_variance(kind):
    x = np.arange(9).astype(kind)
    check(of_one_vector, (x,), (x[:2],), settings=({},), bound=1e-12)
    check(of_one_vector_in_ways, (x,), (x[2:5],), bound=1e-12)


def test_other_calls_are_left_to_python():
    runs_as_python(of_one_vector, np.ones((1, 3)))
    runs_as_python(with_frequencies, np.ones((2, 3)))
    runs_as_python(without_an_axis, np.ones((2, 3)), np.ones(3))
    runs_as_python(of_vectors, np.ones(3), np.ones(2))
    runs_as_python(of_rows, np.ones((2, 3)), np.ones(2))
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        polyml.kernel(fallback="silent")(of_one_vector)(np.ones((2, 1)))
    with pytest.raises(polyml.NotAffineError, match="np.cov with weights"):
        polyml.kernel(fallback="error")(with_frequencies)(np.ones((2, 3)))
