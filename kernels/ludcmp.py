"""ludcmp: solves A x = b by LU factorisation without pivoting; A (N, N) becomes L and U; b, x, y (N,)."""

import numpy as np

import polyml
from polyml.kernels._data import factorable, largest, uniform
from polyml.kernels._sizes import size_table

SIZES = size_table("N", (40,), (120,), (400,), (2000,), (4000,))
OUTPUTS = ("x", "y", "A")


@polyml.kernel
def ludcmp(A, b, x, y):
    for i in range(A.shape[0]):
        for j in range(i):
            w = A[i, j]
            for k in range(j):
                w -= A[i, k] * A[k, j]
            A[i, j] = w / A[j, j]
        for j in range(i, A.shape[0]):
            w = A[i, j]
            for k in range(i):
                w -= A[i, k] * A[k, j]
            A[i, j] = w
    for i in range(A.shape[0]):
        w = b[i]
        for j in range(i):
            w -= A[i, j] * y[j]
        y[i] = w
    for i in range(A.shape[0] - 1, -1, -1):
        w = y[i]
        for j in range(i + 1, A.shape[0]):
            w -= A[i, j] * x[j]
        x[i] = w / A[i, i]


def reference(A, b, x, y):
    """Returns {"x": ..., "y": ..., "A": L and U}, by rank-1 updates and substitution column by column."""
    A, y = A.copy(), b.copy()
    n = A.shape[0]
    for k in range(n):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
        y[k + 1 :] -= A[k + 1 :, k] * y[k]
    x = y.copy()
    for k in reversed(range(n)):
        x[k] /= A[k, k]
        x[:k] -= A[:k, k] * x[k]
    return {"x": x, "y": y, "A": A}


def inputs(size, rng, dtype=np.float64):
    n = size["N"]
    return {
        "A": factorable(rng, n, dtype),
        "b": uniform(rng, (n,), dtype),
        "x": np.zeros(n, dtype),
        "y": np.zeros(n, dtype),
    }


def flops(size):
    n = size["N"]
    return n * n * (n - 1) - (n - 1) * n * (2 * n - 1) // 6 + 2 * n * (n - 1) + n


def terms(size):
    return 3 * size["N"] + 4


def magnitude(A, b, x, y):
    """Returns the scale of each output's errors: the backward error (Higham, Theorem 9.4) times the condition number, about 5."""
    scale = 5.0 * max(largest(A), largest(b))
    return {"x": scale, "y": scale, "A": scale}
