"""syrk: the lower triangle of C := alpha A A^T + beta C, with C (N, N), A (N, M)."""

import numpy as np

import polyml
from polyml.kernels._data import uniform
from polyml.kernels._sizes import size_table

SIZES = size_table("M N", (20, 30), (60, 80), (200, 240), (1000, 1200), (2000, 2600))
OUTPUTS = ("C",)


@polyml.kernel
def syrk(alpha, beta, C, A):
    for i in range(C.shape[0]):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(A.shape[1]):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]


def reference(alpha, beta, C, A):
    return {"C": np.tril(alpha * (A @ A.T) + beta * C) + np.triu(C, 1)}


def inputs(size, rng, dtype=np.float64):
    m, n = size["M"], size["N"]
    return {"alpha": 1.5, "beta": 1.2, "C": uniform(rng, (n, n), dtype), "A": uniform(rng, (n, m), dtype)}


def flops(size):
    m, n = size["M"], size["N"]
    return n * (n + 1) // 2 * (1 + 2 * m) + n * m


def terms(size):
    return size["M"] + 4
