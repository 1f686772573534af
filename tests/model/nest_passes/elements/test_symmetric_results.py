"""Half of a symmetric result is computed and the rest copied; a result that is not symmetric is computed whole."""

import numpy as np
import pytest

import polyml
from tests.passing import before_and_after


def square(A, w, C):
    C[:] = A.T @ A


def scaled(A, w, C):
    C[:] = A.T @ A / 3


def weighted(A, w, C):
    C[:] = (A.T[:, None, :] * w * A.T[None, :, :]).sum(axis=2)


def distances(A, w, C):
    C[:] = ((A.T[:, None, :] - A.T[None, :, :]) ** 2).sum(axis=2)


def in_loops(A, w, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[0]):
            s = 1.0
            for k in range(A.shape[0]):
                s += A[k, j] * A[k, i]
            C[i, j] = s * 2


def new_result(A, w, C):
    return A.T @ A


def of_rows(A, w, C):
    C[: A.shape[0], : A.shape[0]] = A @ A.T


def batched(A, w, C):
    D = np.zeros((3, A.shape[1], A.shape[1]))
    for b in range(3):
        D[b] = A.T @ A + b
    return D


def of_two(A, w, C):
    C[:] = A.T @ (A + 1)


def added_up(A, w, C):
    C += A.T @ A


def uneven(A, w, C):
    C[:, 1:] = A.T @ A[:, 1:]


def scaled_by_rows(A, w, C):
    C[:] = A.T @ A
    C[:] = C * A.sum(axis=0)[:, None]


def differences(A, w, C):
    C[:] = (A.T[:, None, :] - A.T[None, :, :]).sum(axis=2)


def given(dtype=float, n=23, m=17):
    rng = np.random.default_rng(0)
    return rng.integers(-4, 5, (n, m)).astype(dtype), rng.integers(1, 4, n).astype(dtype), np.zeros((max(n, m),) * 2)[:m, :m]


SYMMETRIC = [square, scaled, weighted, distances, new_result, batched]
OTHERS = [of_two, added_up, uneven, differences]


@pytest.mark.parametrize("function", [*SYMMETRIC, *OTHERS, scaled_by_rows, in_loops])
@pytest.mark.parametrize("shape", [(23, 17), (1, 1), (0, 5), (5, 0), (64, 70)])
def test_results_are_those_of_numpy(function, shape):
    wanted, got = given(float, *shape), given(float, *shape)
    right, made = function(*wanted), polyml.kernel(function, cache=False, fp="reassociate")(*got)
    np.testing.assert_allclose(got[2], wanted[2], rtol=1e-12, atol=1e-12)
    if right is not None:
        np.testing.assert_allclose(made, right, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function", SYMMETRIC)
def test_half_is_computed_and_half_is_copied(function):
    gone, come = before_and_after("symmetric_results", function, *given())
    copies = [line for line in come if line.endswith("]") and "+" not in line]
    assert len(copies) == 1 and any("range(_i" in line for line in come)


@pytest.mark.parametrize("function", OTHERS)
def test_a_result_that_is_not_symmetric_or_was_there_before_is_computed_whole(function):
    assert before_and_after("symmetric_results", function, *given()) == ([], [])


def test_what_is_done_to_a_symmetric_result_behind_it_may_be_anything():
    gone, come = before_and_after("symmetric_results", scaled_by_rows, *given())
    assert (gone, come) != ([], [])


def test_the_order_of_factors_stays_where_it_counts():
    assert before_and_after("symmetric_results", weighted, *given(), fp="strict") == ([], [])
    assert before_and_after("symmetric_results", square, *given(), fp="strict") != ([], [])


@pytest.mark.parametrize("function", [square, scaled, distances])
def test_both_halves_are_equal_to_the_last_bit(function):
    A, w, C = given()
    A[:] = np.random.default_rng(5).standard_normal(A.shape)
    polyml.kernel(function, cache=False)(A, w, C)
    np.testing.assert_array_equal(C, C.T)
