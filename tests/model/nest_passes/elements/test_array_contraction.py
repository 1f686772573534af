"""Local arrays become scalars wherever the loops that use them can be one loop, and nowhere else."""

import numpy as np
import pytest

from tests.model.nest_passes.test_copy_coalescing import check
from tests.passing import before_and_after


def rows_that_shrink(A, B, C):
    for i in range(A.shape[1]):
        C[i, i:] = A[:, i] @ A[:, i:] / 3


def two_products(A, B, C):
    for i in range(C.shape[0]):
        C[i, : i + 1] += 2 * (A[: i + 1] @ B[i] + B[: i + 1] @ A[i])


def past_what_stands_between(A, B, C):
    for i in range(C.shape[0]):
        below = A[i, :i] @ B[:i]
        C[:i] += np.outer(A[i, :i], B[i])
        C[i] = 2 * C[i] + 3 * below


def of_sums_along_columns(A, B, C):
    C[0] = A.sum(axis=0) * 2 + B.sum(axis=0)


def used_twice(A, B, C):
    T = A * B + C
    B[:] = T * T
    C[:] = T + A


def summed_and_stored(A, B, C):
    T = A * B + B
    C[0, 0] = T.sum()
    B[:] = T * T


def transposed_loops(A, B, C):
    T = A * B + B
    C[:] = T * T
    B[:] = T.T


def later_rows(A, B, C):
    T = A * B + B
    A[1:] = T[:-1] * T[1:]
    C[:] = T + T[::-1]


def neighbours_of_what_is_changed(A, B, C):
    T = B[1:] * B[:-1] + A[1:]
    B[1:] = T * T
    C[1:] = T + 1 / (2 + A[1:] * A[1:])


def kept_for_the_next_iteration(A, B, C):
    T = np.zeros(A.shape[1])
    for i in range(A.shape[0]):
        C[i] = T * 2 + T * T
        T[:] = A[i] * B[i] + B[i]


def given():
    rng = np.random.default_rng(0)
    return [rng.integers(-4, 5, (6, 6)).astype(float) for _ in range(3)]


@pytest.mark.parametrize(
    "function", [rows_that_shrink, two_products, past_what_stands_between, of_sums_along_columns, used_twice, summed_and_stored]
)
def test_an_array_that_one_loop_makes_and_uses_is_a_scalar(function):
    assert check(function, given()) == []


@pytest.mark.parametrize("function", [transposed_loops, later_rows, neighbours_of_what_is_changed, kept_for_the_next_iteration])
def test_an_array_stays_where_one_loop_would_not_do(function):
    assert check(function, given()) != []


def test_the_nest_is_that_of_the_loops():
    gone, come = before_and_after("array_contraction", rows_that_shrink, *given())
    assert [line for line in come if "=" in line] == [
        "_product = 0.0",
        "_product = _product + A[_i3, i]*A[_i3, _i4 + i]",
        "C[i, _i4 + i] = _product/3.0",
    ]
    assert "array _product: f64[A_1] (local, perhaps not allocated)" in gone


def sums(A, B, C):
    for i in range(A.shape[0]):
        C[i, i:] = (A[i, i:] * B[i, i:]).sum() + A[:, i:].sum(axis=0)


def test_single_precision_is_rounded_as_before():
    rng = np.random.default_rng(1)
    arrays = [rng.integers(-9, 9, (7, 7)).astype(np.float32) for _ in range(3)]
    check(sums, arrays)
