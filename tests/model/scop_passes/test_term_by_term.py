"""Sums of several products are added up term by term, and numbers multiply one factor of a product first."""

import numpy as np
import pytest

import polyml
from tests.passing import before_and_after


def commutator(A, B, C):
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            C[i] += A[i, k] * B[k, i] - A[k, i] * B[i, k]


def difference(A, B, C):
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            C[i] += A[i, k] - B[i, k]


def outer(A, B, C):
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            for j in range(A.shape[1]):
                C[j] += 3.0 * (B[i, j] * A[i, k])


def halved(A, B, C):
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            C[i] -= A[i, k] * B[k, i] * A[k, k] * 0.5


def elementwise(A, B, C):
    for i in range(A.shape[0]):
        C[i] += 3.0 * (A[i, i] * B[i, i])


def changed(function, **settings):
    rng = np.random.default_rng(0)
    gone, come = before_and_after("term_by_term", function, rng.random((8, 8)), rng.random((8, 8)), np.zeros(8), **settings)
    return [line.partition("  #")[0] for line in (*gone, *come)]


def test_products_are_added_one_by_one():
    assert changed(commutator) == [
        "S0  C[i] = C[i] + (A[i, k]*B[k, i] - A[k, i]*B[i, k])",
        "S0  C[i] = C[i] + A[i, k]*B[k, i] - A[k, i]*B[i, k]",
    ]


def test_sums_without_products_stay():
    assert changed(difference) == []


def test_numbers_multiply_a_factor_that_does_not_move_along_the_sums():
    assert changed(outer) == [
        "S0  C[j] = C[j] + 3.0*(B[i, j]*A[i, k])",
        "S0  C[j] = C[j] + 3.0*A[i, k]*B[i, j]",
    ]
    assert changed(halved) == [
        "S0  C[i] = C[i] - A[i, k]*B[k, i]*A[k, k]*0.5",
        "S0  C[i] = C[i] - 0.5*A[k, k]*A[i, k]*B[k, i]",
    ]


def test_the_order_of_factors_stays_where_nothing_is_added_up():
    assert changed(elementwise) == []


@pytest.mark.parametrize("function", [commutator, outer, halved])
@pytest.mark.parametrize(("fp", "error"), [("reassociate", 1e-13), ("strict", 0.0)])
def test_results_are_those_of_python(function, fp, error):
    rng = np.random.default_rng(1)
    A, B, wanted = (rng.random(shape) for shape in ((9, 9), (9, 9), 9))
    got = wanted.copy()
    polyml.kernel(function, cache=False, fallback="error", check=True, fp=fp)(A, B, got)
    function(A, B, wanted)
    np.testing.assert_allclose(got, wanted, rtol=error, atol=0)
