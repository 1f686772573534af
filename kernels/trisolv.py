"""trisolv: solves L x = b by forward substitution, with L (N, N) lower triangular; b, x (N,)."""

import numpy as np

import polyml
from polyml.kernels._data import factorable, largest, uniform
from polyml.kernels._sizes import size_table

SIZES = size_table("N", (40,), (120,), (400,), (2000,), (4000,))
OUTPUTS = ("x",)


@polyml.kernel
def trisolv(L, x, b):
    for i in range(L.shape[0]):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]


def reference(L, x, b):
    """Returns {"x": the solution of L x = b}, by substitution column by column."""
    x = b.copy()
    for k in range(L.shape[0]):
        x[k] /= L[k, k]
        x[k + 1 :] -= L[k + 1 :, k] * x[k]
    return {"x": x}


def inputs(size, rng, dtype=np.float64):
    n = size["N"]
    return {"L": np.tril(factorable(rng, n, dtype)), "x": np.zeros(n, dtype), "b": uniform(rng, (n,), dtype)}


def flops(size):
    return size["N"] ** 2


def traffic_bytes(size, item_bytes):
    n = size["N"]
    return (n * (n + 1) // 2 + 2 * n) * item_bytes


def terms(size):
    return size["N"] + 2


def magnitude(L, x, b):
    """Returns the scale of x's errors: the backward error (Higham, Theorem 8.5) times the condition number, about 5."""
    return {"x": 5.0 * largest(b)}
