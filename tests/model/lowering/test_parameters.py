"""Numbers of a call that no loop or subscript depends on are no parameters."""

import numpy as np
import pytest

import polyml
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


@polyml.kernel(cache=False)
def compared(g, b, flags):
    flags[0] = g > 0
    flags[1] = b
    flags[2] = 1 if g >= 1 else 0
    flags[3] = g == 1


@pytest.mark.parametrize("g", range(-3, 5))
def test_a_comparison_of_a_number_is_not_the_number(g):
    got, wanted = np.zeros(4, bool), np.zeros(4, bool)
    compared(g, g % 2 == 0, got)
    compared.py_func(g, g % 2 == 0, wanted)
    assert got.tolist() == wanted.tolist()
