"""trmm: B := alpha A^T B, with A (M, M) unit lower triangular (its diagonal is not read), B (M, N)."""

import numpy as np

import polyml
from polyml.kernels._data import uniform
from polyml.kernels._sizes import size_table

SIZES = size_table("M N", (20, 30), (60, 80), (200, 240), (1000, 1200), (2000, 2600))
OUTPUTS = ("B",)


@polyml.kernel
def trmm(alpha, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            for k in range(i + 1, B.shape[0]):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] = alpha * B[i, j]


def reference(alpha, A, B):
    return {"B": alpha * (B + np.tril(A, -1).T @ B)}


def inputs(size, rng, dtype=np.float64):
    m, n = size["M"], size["N"]
    return {"alpha": 1.5, "A": uniform(rng, (m, m), dtype), "B": uniform(rng, (m, n), dtype)}


def flops(size):
    m, n = size["M"], size["N"]
    return n * m * m


def terms(size):
    return size["M"] + 3
