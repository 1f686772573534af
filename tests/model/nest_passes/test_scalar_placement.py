"""A scalar that ends up in an element lives in that element."""

import numpy as np

from tests.passing import before_and_after


def lower_part(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s = B[i, j]
            for k in range(j):
                s -= A[i, k] * A[k, j]
            B[i, j] = s


def reads_the_element(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s = B[i, j]
            for k in range(j):
                s -= A[i, k] * B[i, j]
            B[i, j] = s


def matrices():
    rng = np.random.default_rng(0)
    return rng.random((8, 8)), rng.random((8, 8))


def test_the_sum_is_taken_in_the_element():
    gone, come = before_and_after("scalar_placement", lower_part, *matrices())
    assert gone == ["array s: f64 (local)", "s = B[i, j]", "s = s - A[i, k]*A[k, j]", "B[i, j] = s"]
    assert come == ["B[i, j] = B[i, j]", "B[i, j] = B[i, j] - A[i, k]*A[k, j]", "B[i, j] = B[i, j]"]


def test_an_element_that_is_read_meanwhile_keeps_its_value():
    assert before_and_after("scalar_placement", reads_the_element, *matrices()) == ([], [])
