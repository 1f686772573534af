"""Conditions that compute maxima and minima: what they give, bit by bit, and that they have lanes."""

import numpy as np
import pytest

import polyml

VALUES = [0.5, -0.0, 0.0, np.nan, 3.0, -2.0, 3.0, np.inf, 1.0, np.nan, -np.inf, 2.0]


def largest(A):
    x = A[0]
    for i in range(A.shape[0]):
        if A[i] > x:
            x = A[i]
    return x


def smallest_size(A):
    x = abs(A[0])
    for i in range(1, A.shape[0]):
        if x > abs(A[i]):
            x = abs(A[i])
    return x


def kept_above(A, B):
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            if B[j] < A[i]:
                A[i] = B[j]


def kernel(function, **settings):
    return polyml.kernel(function, cache=False, fallback="error", fp="strict", **settings)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1"])
@pytest.mark.parametrize("function", [largest, smallest_size], ids=lambda function: function.__name__)
def test_a_condition_gives_what_python_gives(function, dtype):
    called = kernel(function)
    for shift in range(len(VALUES)):
        values = np.roll(VALUES * 3, shift)
        A = np.nan_to_num(values, posinf=90, neginf=7).astype(dtype) if dtype[0] != "f" else values.astype(dtype)
        got, wanted = called(A), function(A)
        assert type(got) is type(wanted) and got.tobytes() == wanted.tobytes()


def test_an_element_may_be_what_is_replaced():
    A, B = np.array(VALUES), np.array(VALUES[::-1])
    got, wanted = A.copy(), A.copy()
    kernel(kept_above)(got, B)
    kept_above(wanted, B)
    assert got.tobytes() == wanted.tobytes()


def test_a_maximum_that_is_written_as_a_condition_has_lanes():
    called = polyml.kernel(largest, cache=False, threads=1)
    A = np.random.default_rng(0).random(1000)
    assert called(A) == A.max()
    assert "its iterations are lanes" in called.explain()


def test_a_number_of_another_type_stays_a_condition():
    def counted(A):
        x = 0
        for i in range(A.shape[0]):
            if A[i] > x:
                x = int(A[i])
        return x

    assert kernel(counted)(np.array([1.5, 7.9, 3.0])) == 7
