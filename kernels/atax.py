"""atax: y := A^T (A x), with A (M, N), x and y (N,), tmp = A x (M,)."""

import numpy as np

import polyml
from polyml.kernels._data import uniform
from polyml.kernels._sizes import size_table

SIZES = size_table("M N", (38, 42), (116, 124), (390, 410), (1900, 2100), (1800, 2200))
OUTPUTS = ("y", "tmp")


@polyml.kernel
def atax(A, x, y, tmp):
    for i in range(A.shape[1]):
        y[i] = 0.0
    for i in range(A.shape[0]):
        tmp[i] = 0.0
        for j in range(A.shape[1]):
            tmp[i] = tmp[i] + A[i, j] * x[j]
        for j in range(A.shape[1]):
            y[j] = y[j] + A[i, j] * tmp[i]


def reference(A, x, y, tmp):
    product = A @ x
    return {"y": product @ A, "tmp": product}


def inputs(size, rng, dtype=np.float64):
    m, n = size["M"], size["N"]
    return {
        "A": uniform(rng, (m, n), dtype),
        "x": uniform(rng, (n,), dtype),
        "y": np.zeros(n, dtype),
        "tmp": np.zeros(m, dtype),
    }


def flops(size):
    return 4 * size["M"] * size["N"]


def traffic_bytes(size, item_bytes):
    m, n = size["M"], size["N"]
    return (m * n + 2 * n + m) * item_bytes


def terms(size):
    return size["M"] + size["N"] + 2
