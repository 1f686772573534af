"""Numbers of a call that no loop or subscript depends on are no parameters."""

import numpy as np

from tests.passing import before_and_after


def scaled(A, k):
    for i in range(A.shape[0]):
        A[i] = A[i] * k


def first(A, k):
    for i in range(k):
        A[i] = A[i] * k


def test_an_integer_that_is_only_a_value_is_no_parameter():
    assert before_and_after("value_arguments", scaled, np.arange(8.0), 3) == (["parameter k = k"], [])


def test_an_integer_that_ends_a_loop_stays_one():
    assert before_and_after("value_arguments", first, np.arange(8.0), 3) == ([], [])
