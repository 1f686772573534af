"""Kernels with `assert`, in a file of their own: pytest changes the statement in files of tests."""

import numpy as np


def halved(A):
    n = 0
    while A[0] > 1:
        A[0] = A[0] / 2
        n += 1
        assert n < 10
    return n


def checked(A, x):
    assert (A * x[0] >= 0).all() and not np.any(x > 5), "some are negative"
    return A.sum()


def sizes(A, B, n):
    assert A.shape[0] == B.shape[0], "sizes differ"
    if n < 2:
        raise ValueError("n")
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            for k in range(A.shape[0]):
                A[i, j] += B[i, k] * B[k, j]
    return n


def formatted_test(A):
    assert A[0] >= 0, A[0]


def fails(A):
    A[0] = 1
    assert False, "always"


def holds(A):
    assert True
    A[0] = 1
