"""Every expression gets its type, and every conversion is written."""

import numpy as np
import pytest

from tests.passing import before_and_after


def increment(A, B):
    for i in range(A.shape[0]):
        B[i] = A[i] + 1


@pytest.mark.parametrize("element, value", [("f8", "A[i] + 1.0"), ("f4", "to_f64(A[i] + 1.0.f32)")])
def test_conversions_follow_from_the_types_of_the_arguments(element, value):
    gone, come = before_and_after("infer", increment, np.arange(8, dtype=element), np.zeros(8))
    assert gone == ["untyped def increment(A, B):", "B[i] = A[i] + 1"]
    assert come == [f"def increment(A: f{8 * int(element[1])}[:], B: f64[:]):", f"B[i] = {value}"]
