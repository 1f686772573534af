"""Axes, ranks and subscripts that NumPy refuses are errors where they are evaluated: not in a branch that data leave out, and behind what
stands before them.
"""

import numpy as np
import pytest

from tests.frontend.parsing.compared import assert_python, refusal


def sum_along(A, v, c):
    A[0] = 7
    return A.sum(axis=2) if c > 0 else A.sum(axis=0)


def products_over_axes(A, v, c):
    A[0] = 7
    if c > 0:
        return np.tensordot(A, A, axes=((0, 1), (0,)))
    return A @ v


def product_over_one_axis_twice(A, v, c):
    A[0] = 7
    if c > 0:
        return np.tensordot(A, A, axes=((0, 0), (0, 1)))
    return A * v


def put_together(A, v, c):
    A[0] = 7
    if c > 0:
        return np.concatenate((A, v))
    return A + v


def stacked(A, v, c):
    A[0] = 7
    s = 0.0
    if c > 0:
        s = np.stack((A, v))[0, 0]
    return s


def diagonal(A, v, c):
    A[0] = 7
    s = 0.0
    if c > 0:
        s = np.diag(A[:, :, None])[0]
    return s


def letters(A, v, c):
    A[0] = 7
    s = np.zeros(3)
    if c > 0:
        s[:] = np.einsum("ijk->i", A)
    return s


def swapped(A, v, c):
    A[0] = 7
    if c > 0:
        return A.swapaxes(0, 2) * 2
    return A * 2


def widened(A, v, c):
    A[0] = 7
    s = 1.0
    if c > 0:
        s = np.expand_dims(A, 7).sum()
    return s


def subscripts(A, v, c):
    A[0] = 7
    s = v[1:]
    if c > 0:
        return A[1:, 0, 2]
    return s


FUNCTIONS = [
    sum_along, products_over_axes, product_over_one_axis_twice, put_together, stacked, diagonal, letters, swapped, widened, subscripts,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_error_is_raised_where_it_is_evaluated(function):
    given = np.arange(12.0, dtype=np.float32).reshape(3, 4), np.arange(4.0)
    assert_python(function, *given, 0, compiles=False)
    assert_python(function, *given, 1, compiles=False)  # what stands before it is written
    assert "error: " in refusal(function, *given, 0)
