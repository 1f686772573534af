"""Array expressions become loops over elements."""

import numpy as np

from tests.passing import before_and_after


def second_difference(A, B):
    B[1:-1] = (A[:-2] + A[2:]) / 2


def test_an_array_expression_is_a_loop_over_its_elements():
    gone, come = before_and_after("lower", second_difference, np.arange(8.0) ** 2, np.zeros(8))
    assert gone == ["B[1:-1] = (A[:-2] + A[2:])/2"]
    assert come[0].startswith("require B.shape[0] - 2 == A.shape[0] - 2")
    assert come[1:] == ["for _i1 in range(0, B.shape[0] - 2):", "whole B![_i1 + 1] = (A![_i1] + A![_i1 + 2])/2"]


def by_element(A, B):
    for i in range(A.shape[0]):
        B[i] = 2 * A[i]


def test_loops_over_elements_stay():
    assert before_and_after("lower", by_element, np.ones(3), np.zeros(3)) == ([], [])
