"""bicg: s := A^T r and q := A p, the kernel of BiCGStab, with A (N, M); s, p (M,); q, r (N,)."""

import numpy as np

import polyml
from polyml.kernels._data import uniform
from polyml.kernels._sizes import size_table

SIZES = size_table("M N", (38, 42), (116, 124), (390, 410), (1900, 2100), (1800, 2200))
OUTPUTS = ("s", "q")


@polyml.kernel
def bicg(A, s, q, p, r):
    for i in range(A.shape[1]):
        s[i] = 0.0
    for i in range(A.shape[0]):
        q[i] = 0.0
        for j in range(A.shape[1]):
            s[j] = s[j] + r[i] * A[i, j]
            q[i] = q[i] + A[i, j] * p[j]


def reference(A, s, q, p, r):
    return {"s": r @ A, "q": A @ p}


def inputs(size, rng, dtype=np.float64):
    m, n = size["M"], size["N"]
    return {
        "A": uniform(rng, (n, m), dtype),
        "s": np.zeros(m, dtype),
        "q": np.zeros(n, dtype),
        "p": uniform(rng, (m,), dtype),
        "r": uniform(rng, (n,), dtype),
    }


def flops(size):
    return 4 * size["M"] * size["N"]


def traffic_bytes(size, item_bytes):
    m, n = size["M"], size["N"]
    return (m * n + 2 * m + 2 * n) * item_bytes


def terms(size):
    return max(size["M"], size["N"]) + 1
