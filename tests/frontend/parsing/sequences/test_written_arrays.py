"""`np.array` and `np.asarray` of lists, arrays and numbers, and lists as operands of NumPy's functions."""

import numpy as np
import pytest

from tests.frontend.parsing.compared import assert_python, refusal

TABLE = ((1, 2), (3, 4))


def of_constants(A, x, n):
    return np.array([1.0, 2.0, 3.0]), np.array(TABLE), np.array([]), np.array([[True], [False]])


def of_numbers(A, x, n):
    return np.array([[A[0, 0], 1], [2, x]]), np.array((n, x)), np.array([n > 1, x > 0.5])


def of_rows(A, x, n):
    return np.array([A[0], A[1]]), np.array([[A[0], A[1]], [A[1], A[0]]]), np.array([A[1], A[0, ::-1]])


def copied(A, x, n):
    B, C = np.array(A), np.asarray(A)
    B[0] = 0
    return B, C[0, 1], np.array(x), np.array(n)


def of_a_type(A, x, n):
    return np.array([x, 2.7], dtype=int), np.array([1, n], dtype=A.dtype), np.array([1, 2], dtype=np.float32) * x


def in_loops(A, x, n):
    B = np.zeros(A.shape[0])
    v = np.array([0.0, 1.0])
    for i in range(A.shape[0]):
        w = np.array([A[i, 0], 2.0, x])
        v = np.array([v[1], v[0] + v[1]])
        for k in range(3):
            B[i] += abs(w[k])
    return B, v


def sizes(A, x, n):
    return np.array(A.shape), np.prod(A.shape), np.array(A.shape, dtype=np.float32)


def indices(A, x, n):
    return A[np.array([0, 1, 0])], A[[n - 3, 1]]


def rotated(A, x, n):
    M = np.array([[np.cos(x), -np.sin(x)], [np.sin(x), np.cos(x)]])
    return M @ A[:2, :2]


def joined(A, x, n):
    return np.append(A[0], x), np.append(A[0], [1, n]), np.append(A, A, axis=0), np.hstack([x, A[0], n]), np.vstack([x, n])


def lists_as_operands(A, x, n):
    return np.dot(A[0, :3], [1, 2, 3]), np.sum([x, n]), np.concatenate(([0.0], A[0], [x, n])), np.stack([[x, n], [1, 2]])


def stored(A, x, n):
    A[0] = [x, n, 2, x]
    A[1:] = [[1, 2, 3, 4], [0, 1, 0, 1]]
    A[:, 0] = [k + 1 for k in range(3)]


COMPILED = [
    of_constants,
    of_numbers,
    of_rows,
    copied,
    of_a_type,
    in_loops,
    sizes,
    indices,
    rotated,
    joined,
    lists_as_operands,
    stored,
]


@pytest.mark.parametrize("x", [0.25, 2, np.float32(0.5), np.int8(3)], ids=repr)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i1", "u8", "?", "c8"])
@pytest.mark.parametrize("function", COMPILED, ids=lambda f: f.__name__)
@pytest.mark.sweep(keep=60)
def test_results_are_those_of_numpy(function, dtype, x):
    assert_python(function, (np.arange(12).reshape(3, 4) % 5).astype(dtype), x, 3)


def test_rows_may_be_empty_and_of_one_element():
    for shape in ((2, 0), (2, 1)):
        assert_python(of_rows, np.ones(shape), 0.5, 3)


def outside(A, x, n):
    return np.array([A[0, 0], A[n, n]])


def too_small(A, x, n):
    return np.array([n, 300], dtype=np.int8)


def not_a_number(A, x, n):
    return np.array([x, 1.0], dtype=int)


def test_errors_are_those_of_python():
    A = np.ones((2, 4))
    assert_python(outside, A, 0.5, 3)
    assert_python(not_a_number, A, float("nan"), 3)
    assert_python(too_small, A, 0.5, 3, compiles=False)


def ragged(A, x, n):
    return np.array([A[0], A[0, 1:]])


def test_rows_of_different_lengths_run_as_python():
    assert_python(ragged, np.ones((2, 4)), 0.5, 3, compiles=False)


def test_what_is_refused_says_what_is_compiled():
    def of_lists(A):
        return np.array([[1, 2], [3]], dtype=object)

    def with_ndmin(A):
        return np.array([1, 2], ndmin=2)

    A = np.ones((2, 4))
    assert "an array of lists of different lengths, or of shapes" in refusal(of_lists, A)
    assert "`np.array` with ndmin=" in refusal(with_ndmin, A)
