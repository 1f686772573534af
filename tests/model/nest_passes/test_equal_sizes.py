"""Sizes that every compiled call has equal are one parameter."""

import numpy as np
import pytest

import polyml
from tests.passing import before_and_after


def total(A, B):
    C = A + B
    for i in range(A.shape[0]):
        C[i] += B[i]
    return C


def test_an_array_of_the_same_size_has_no_parameter_of_its_own():
    gone, come = before_and_after("equal_sizes", total, np.arange(8.0), np.ones(8))
    assert gone == ["array B: f64[B_0] (argument)"] and come == ["array B: f64[A_0] (argument)"]


def test_a_call_with_other_sizes_is_still_told_so():
    with pytest.raises(ValueError):
        total(np.ones(3), np.ones(4))
    with pytest.raises(ValueError):
        polyml.kernel(total, cache=False)(np.ones(3), np.ones(4))
