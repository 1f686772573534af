"""mvt: x1 := x1 + A y_1 and x2 := x2 + A^T y_2, with A (N, N), the rest (N,)."""

import numpy as np

import polyml
from polyml.kernels._data import uniform
from polyml.kernels._sizes import size_table

SIZES = size_table("N", (40,), (120,), (400,), (2000,), (4000,))
OUTPUTS = ("x1", "x2")


@polyml.kernel
def mvt(x1, x2, y_1, y_2, A):
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            x1[i] = x1[i] + A[i, j] * y_1[j]
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            x2[i] = x2[i] + A[j, i] * y_2[j]


def reference(x1, x2, y_1, y_2, A):
    return {"x1": x1 + A @ y_1, "x2": x2 + y_2 @ A}


def inputs(size, rng, dtype=np.float64):
    n = size["N"]
    vectors = {name: uniform(rng, (n,), dtype) for name in ("x1", "x2", "y_1", "y_2")}
    return vectors | {"A": uniform(rng, (n, n), dtype)}


def flops(size):
    return 4 * size["N"] ** 2


def traffic_bytes(size, item_bytes):
    n = size["N"]
    return (n * n + 6 * n) * item_bytes


def terms(size):
    return size["N"] + 2
