"""Updates that pass a value along a loop are marked as scans."""

import numpy as np

from tests.passing import before_and_after


def prefix_sum(A, X):
    for i in range(1, A.shape[0]):
        X[i] = X[i - 1] + A[i]


def doubled(A, X):
    for i in range(1, A.shape[0]):
        X[i] = 2 * X[i - 1] + A[i]


def squared(A, X):
    for i in range(1, A.shape[0]):
        X[i] = X[i - 1] * X[i - 1] + A[i]


def test_a_prefix_sum_is_a_scan():
    assert before_and_after("mark_scans", prefix_sum, np.arange(8.0), np.zeros(8)) == ([], ["scan S0: + over X"])


def test_a_sum_that_is_multiplied_by_a_constant_first_is_one_too():
    assert before_and_after("mark_scans", doubled, np.arange(8.0), np.zeros(8)) == ([], ["scan S0: + over X"])
    assert before_and_after("mark_scans", doubled, np.arange(8.0), np.zeros(8), fp="strict") == ([], [])


def test_an_order_that_must_stay_and_other_recurrences_are_none():
    assert before_and_after("mark_scans", prefix_sum, np.arange(8.0), np.zeros(8), fp="strict") == ([], [])
    assert before_and_after("mark_scans", squared, np.arange(8.0), np.zeros(8)) == ([], [])
