"""lu: A := L and U in one array with A = L U, L unit lower triangular, without pivoting; A (N, N)."""

import numpy as np

import polyml
from polyml.kernels._data import factorable, largest
from polyml.kernels._sizes import size_table

SIZES = size_table("N", (40,), (120,), (400,), (2000,), (4000,))
OUTPUTS = ("A",)


@polyml.kernel
def lu(A):
    for i in range(A.shape[0]):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


def reference(A):
    """Returns {"A": L and U in one array}, by elimination with rank-1 updates."""
    A = A.copy()
    for k in range(A.shape[0]):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return {"A": A}


def inputs(size, rng, dtype=np.float64):
    return {"A": factorable(rng, size["N"], dtype)}


def flops(size):
    n = size["N"]
    return n * n * (n - 1) - (n - 1) * n * (2 * n - 1) // 6


def terms(size):
    return size["N"] + 2


def magnitude(A):
    """Returns the scale of A's errors: the backward error (Higham, Theorem 9.3) times the condition number, about 5."""
    return {"A": 5.0 * largest(A)}
