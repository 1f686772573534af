"""symm: C := alpha A B + beta C, with C, B (M, N) and A (M, M) symmetric, of which the lower triangle is read."""

import numpy as np

import polyml
from polyml.kernels._data import uniform
from polyml.kernels._sizes import size_table

SIZES = size_table("M N", (20, 30), (60, 80), (200, 240), (1000, 1200), (2000, 2600))
OUTPUTS = ("C",)


@polyml.kernel
def symm(alpha, beta, C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            temp2 = 0.0
            for k in range(i):
                C[k, j] += alpha * B[i, j] * A[i, k]
                temp2 += B[k, j] * A[i, k]
            C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * temp2


def reference(alpha, beta, C, A, B):
    lower = np.tril(A)
    return {"C": alpha * ((lower + np.tril(A, -1).T) @ B) + beta * C}


def inputs(size, rng, dtype=np.float64):
    m, n = size["M"], size["N"]
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "C": uniform(rng, (m, n), dtype),
        "A": uniform(rng, (m, m), dtype),
        "B": uniform(rng, (m, n), dtype),
    }


def flops(size):
    m, n = size["M"], size["N"]
    return n * (2 * m * (m - 1) + 6 * m)


def terms(size):
    return size["M"] + 6
