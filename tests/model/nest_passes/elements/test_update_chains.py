"""Updates of the same elements are one update, where nothing between them could tell."""

import numpy as np
import pytest

import polyml
from tests.passing import before_and_after


def twice(A, B, C):
    C *= 3
    C += A * B


def of_a_product(A, B, C):
    for i in range(C.shape[0]):
        C[i, : i + 1] *= 3
        C[i, : i + 1] += 2 * (A[: i + 1] @ B[i])


def stored_over(A, B, C):
    C[:] = A * 2
    C[:] = B + 1


def past_another_array(A, B, C):
    C -= A
    A[0, 0] += 1
    B += 1
    C /= B + 7


def read_between(A, B, C):
    C *= 3
    B[:] = C[::-1]
    C += 1


def operands_change(A, B, C):
    C *= A
    A += 1
    C += 1


def of_a_part(A, B, C):
    C *= 3
    C[1:] += A[1:]


def of_neighbours(A, B, C):
    C *= 3
    C[1:] = C[1:] + C[:-1]


def in_one_block(A, B, C):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] *= 3
            B[i, j] += 1
            C[i, j] += A[i, j]


def operands_change_in_one_block(A, B, C):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] *= B[i, j]
            B[i, j] += 1
            C[i, j] += A[i, j]


def of_neighbours_in_one_block(A, B, C):
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] *= 3
            C[i, j] += C[i - 1, j]


def used_twice(A, B, C):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] += A[i, j] * B[i, j]
            C[i, j] *= C[i, j]


def under_a_condition(A, B, C):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] *= 3
            if i < j:
                C[i, j] += A[i, j]


def random(dtype=float):
    rng = np.random.default_rng(0)
    return [rng.integers(-4, 5, (9, 9)).astype(dtype) for _ in range(3)]


CHAINS = [twice, of_a_product, in_one_block]
APART = [operands_change_in_one_block, of_neighbours_in_one_block, used_twice, under_a_condition]
OTHERS = [*APART, stored_over, past_another_array, read_between, operands_change, of_a_part, of_neighbours]


@pytest.mark.parametrize("function", [*CHAINS, *OTHERS])
@pytest.mark.parametrize("dtype", [float, np.float32])
def test_results_are_those_of_numpy(function, dtype):
    wanted, got = random(dtype), random(dtype)
    function(*wanted)
    polyml.kernel(function, cache=False, fp="strict")(*got)
    for a, b in zip(wanted, got):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("function", CHAINS)
def test_two_updates_are_one(function):
    gone, come = before_and_after("update_chains", function, *random())
    assert len([line for line in gone if line.startswith("C[")]) == 2
    assert len([line for line in come if line.startswith("C[")]) == 1


@pytest.mark.parametrize("function", [*APART, read_between, operands_change, of_a_part, of_neighbours])
def test_updates_stay_that_others_see_or_of_other_elements(function):
    assert before_and_after("update_chains", function, *random()) == ([], [])


def test_an_update_that_is_stored_over_is_gone():
    gone, come = before_and_after("update_chains", stored_over, *random())
    assert (gone[-1], come) == ("C[_i1, _i2] = A[_i1, _i2]*2.0", [])


def test_an_update_moves_past_what_does_not_touch_it():
    gone, come = before_and_after("update_chains", past_another_array, *random())
    assert (gone, come) == ([], [])  # A changes between, which the first one reads
