"""gesummv: y := alpha A x + beta B x, with A, B (N, N); tmp, x, y (N,)."""

import numpy as np

import polyml
from polyml.kernels._data import uniform
from polyml.kernels._sizes import size_table

SIZES = size_table("N", (30,), (90,), (250,), (1300,), (2800,))
OUTPUTS = ("y", "tmp")


@polyml.kernel
def gesummv(alpha, beta, A, B, tmp, x, y):
    for i in range(A.shape[0]):
        tmp[i] = 0.0
        y[i] = 0.0
        for j in range(A.shape[0]):
            tmp[i] = A[i, j] * x[j] + tmp[i]
            y[i] = B[i, j] * x[j] + y[i]
        y[i] = alpha * tmp[i] + beta * y[i]


def reference(alpha, beta, A, B, tmp, x, y):
    product = A @ x
    return {"y": alpha * product + beta * (B @ x), "tmp": product}


def inputs(size, rng, dtype=np.float64):
    n = size["N"]
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "A": uniform(rng, (n, n), dtype),
        "B": uniform(rng, (n, n), dtype),
        "tmp": np.zeros(n, dtype),
        "x": uniform(rng, (n,), dtype),
        "y": np.zeros(n, dtype),
    }


def flops(size):
    n = size["N"]
    return 4 * n * n + 3 * n


def traffic_bytes(size, item_bytes):
    n = size["N"]
    return (2 * n * n + 3 * n) * item_bytes


def terms(size):
    return size["N"] + 4
