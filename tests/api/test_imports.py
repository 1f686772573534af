"""Imports of math and NumPy inside of kernels."""

from __future__ import annotations

import numpy as np
import pytest

import polyml


def imports(A):
    import math
    import math as m
    from math import sqrt

    import numpy as n
    from numpy import linalg

    for i in range(A.shape[0]):
        A[i] = math.sin(A[i]) + m.pi + sqrt(A[i])
    return n.cos(A).sum() + linalg.norm(A)


def again(A):
    from math import pi as x

    A[0] = x
    x = 2.0
    for i in range(A.shape[0]):
        A[i] += x


@pytest.mark.parametrize("function", [imports, again])
@pytest.mark.parametrize("A", [np.ones(3), np.arange(4, dtype=np.float32), np.ones(1)], ids=["f64", "f32", "one"])
def test_imports_of_math_and_numpy_are_compiled(function, A):
    kernel, got, wanted = polyml.kernel(function, cache=False, fallback="error", fp="strict"), A.copy(), A.copy()
    results = kernel(got), function(wanted)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)
    assert kernel.compiled and type(results[0]) is type(results[1])
    np.testing.assert_allclose(*(np.asarray(r, float) for r in results), rtol=1e-6)


def other(A):
    import bisect

    return bisect.bisect(A, 2)


def in_a_branch(A):
    if A[0] > 1:
        import math

        A[0] = math.pi
    return A


@pytest.mark.parametrize("function", [other, in_a_branch])
def test_others_are_left_to_python(function):
    with pytest.raises(polyml.LanguageError, match="is not part of the language"):
        polyml.kernel(function, cache=False, fallback="error")(np.ones(3))
    kernel = polyml.kernel(function, cache=False, fallback="silent")
    np.testing.assert_array_equal(kernel(np.arange(3.0) + 2), function(np.arange(3.0) + 2))
