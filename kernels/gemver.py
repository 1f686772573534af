"""gemver: A := A + u1 v1^T + u2 v2^T; x := x + beta A^T y + z; w := w + alpha A x. A is (N, N), the rest (N,)."""

import numpy as np

import polyml
from polyml.kernels._data import uniform
from polyml.kernels._sizes import size_table

SIZES = size_table("N", (40,), (120,), (400,), (2000,), (4000,))
OUTPUTS = ("A", "x", "w")


@polyml.kernel
def gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            x[i] = x[i] + beta * A[j, i] * y[j]
    for i in range(A.shape[0]):
        x[i] = x[i] + z[i]
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            w[i] = w[i] + alpha * A[i, j] * x[j]


def reference(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = x + beta * (y @ A) + z
    return {"A": A, "x": x, "w": w + alpha * (A @ x)}


def inputs(size, rng, dtype=np.float64):
    n = size["N"]
    values = {"alpha": 1.5, "beta": 1.2, "A": uniform(rng, (n, n), dtype)}
    return values | {name: uniform(rng, (n,), dtype) for name in ("u1", "v1", "u2", "v2", "w", "x", "y", "z")}


def flops(size):
    n = size["N"]
    return 10 * n * n + n


def traffic_bytes(size, item_bytes):
    n = size["N"]
    return (2 * n * n + 10 * n) * item_bytes


def terms(size):
    return 2 * size["N"] + 12
