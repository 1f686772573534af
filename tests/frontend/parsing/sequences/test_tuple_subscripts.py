"""Tuples with names as subscripts: of numbers, of index arrays, and tuples from outside of the kernel."""

import numpy as np
import pytest

import polyml
from tests.frontend.parsing.compared import assert_python

PLACE = (1, 2)


def element(A, i):
    t = i, i + 1
    A[t] = 3
    A[t] += A[PLACE] / 2
    return A[t], A


def largest(A):
    t = np.unravel_index(np.argmax(A), A.shape)
    A[t] = -1
    return A[t], A


def above(A):
    upper = np.triu_indices(A.shape[0], 1)
    return A[upper], A[upper].size


def below_stored(A):
    lower = np.tril_indices(A.shape[0])
    A[lower] = 0
    return A


def rows(A):
    t = (1,)
    s = A[t].max()
    for k in range(A.shape[0]):
        place = (k, k)
        s = max(s, A[place] + A[0][(k,)])
    return s


def too_many(A):
    t = (1, 2, 0)
    return A[t]


@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "i4"])
def test_subscripts_are_the_parts_of_a_tuple(kind):
    A = (np.random.default_rng(0).random((4, 4)) * 100).astype(kind)
    for i in (0, 2, -4):
        assert_python(element, A, i)
    for function in (largest, above, below_stored, rows):
        assert_python(function, A)
    assert_python(above, A[:1, :1])


def test_indices_outside_raise_the_error_of_python():
    with pytest.raises(IndexError):
        polyml.kernel(fallback="error")(element)(np.ones((4, 4)), 3)
    with pytest.raises(IndexError, match="too many indices"):
        polyml.kernel(fallback="silent")(too_many)(np.ones((4, 4)))
