"""cholesky: the lower triangle of A := L with A = L L^T, A (N, N) symmetric positive definite; the upper one stays."""

import numpy as np

import polyml
from polyml.kernels._data import largest, positive_definite
from polyml.kernels._sizes import size_table

SIZES = size_table("N", (40,), (120,), (400,), (2000,), (4000,))
OUTPUTS = ("A",)


@polyml.kernel
def cholesky(A):
    for i in range(A.shape[0]):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = np.sqrt(A[i, i])


def reference(A):
    return {"A": np.linalg.cholesky(A) + np.triu(A, 1)}


def inputs(size, rng, dtype=np.float64):
    return {"A": positive_definite(rng, size["N"], dtype)}


def flops(size):
    n = size["N"]
    return n * (n + 1) * (2 * n + 1) // 6


def terms(size):
    return size["N"] + 2


def magnitude(A):
    """Returns the scale of A's errors: the backward error (Higham, Theorem 10.3) times the condition number, at most about 5."""
    return {"A": 5.0 * largest(A)}
