"""Shapes of arrays as a whole: compared with each other and with tuples; numbers in tuples; branches that ranks decide."""

import numpy as np
import pytest

from tests.frontend.parsing.compared import assert_python, refusal


def required(A, B, n):
    if not A.shape == B.shape:
        raise AssertionError
    return (A + B).sum()


def raised(A, B, n):
    if A.shape != B.shape or len(A.shape) != A.ndim:
        raise ValueError("shapes")
    return A.size


def with_tuples(A, B, n):
    return A.shape == (3, 4), A.shape != (n, 4), (3, 4) == B.shape, A.shape == (3, 4, 5), A.shape[:1] == (n,), () == B.shape


def named(A, B, n):
    s, t = A.shape, (n, 4)
    u = s
    return s == B.shape, t == (3, 2), t != (n, n), u == t, (A.shape, n) == (B.shape, 3)


def in_chains_and_loops(A, B, n):
    count = 0
    for i in range(n):
        if (i, n) == (1, 3) or i in (0, 2, 7):
            count += i + 1
    while A.shape == B.shape and n > 0:
        n -= 2
    return count, n, A.shape == B.shape == (3, 4), 1 if A.shape == B.shape else n


def same_shape(A, B):
    return A.shape == B.shape


def in_functions(A, B, n):
    return same_shape(A, B), same_shape(A, A), same_shape(A[0], B.T)


def by_ranks(A, B, n):
    if B.ndim == 1:
        total = B[0] * A[0, 0]
        for i in range(B.shape[0]):
            total += B[i]
    elif B.ndim == 2:
        total = A[0, 0] + 0
        for i in range(B.shape[0]):
            total += B[i, 0]
    else:
        raise ValueError("rank")
    return total


ALL = [required, raised, with_tuples, named, in_chains_and_loops, in_functions, by_ranks]


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (3,), (3, 1), (1, 4)], ids=str)
@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_shapes_are_those_of_python(function, shape):
    assert_python(function, np.ones((3, 4)), np.ones(shape), 3)


def test_shapes_of_empty_arrays():
    assert_python(with_tuples, np.ones((0, 4)), np.ones(0), 0)
    assert_python(required, np.ones((0, 4)), np.ones((0, 4)), 0)


def test_a_rank_that_no_branch_takes():
    assert_python(by_ranks, np.ones((3, 4)), np.ones((1, 1, 1)), 3)


@pytest.mark.parametrize("x", [0.5, 1, np.float32(1), np.int8(0), float("nan"), True], ids=repr)
def test_members_of_tuples_of_known_numbers(x):
    def members(x, y, n):
        return n in (1, 2, 3), x in (0, 1), n not in (5, 6), y in [0.5, 3], (n, x) == (3, 0.5), (x, y) != (1, 1.0)

    for n in (3, 5):
        assert_python(members, x, np.float64(0.5), n)
        assert_python(members, np.int16(3), x, n)


def test_what_is_refused_says_what_is_compiled():
    def ordered(A):
        return A.shape < (3, 4)

    def of_numbers(A):
        return (A[0], 1) == (A[1], 1)

    def member(x, y):
        return x in (y, 1)

    assert "an order of tuples" in refusal(ordered, np.ones(3))
    assert "parts that are arrays or may be NaN" in refusal(of_numbers, np.ones(3))
    assert "`x in (1, 2)`" in refusal(member, 1, 2)
