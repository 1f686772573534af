"""Sums of several products are added up term by term."""

import numpy as np

from tests.passing import before_and_after


def commutator(A, B, C):
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            C[i] += A[i, k] * B[k, i] - A[k, i] * B[i, k]


def difference(A, B, C):
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            C[i] += A[i, k] - B[i, k]


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
