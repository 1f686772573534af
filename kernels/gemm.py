"""gemm: C := alpha A B + beta C, with C (NI, NJ), A (NI, NK), B (NK, NJ)."""

import numpy as np

import polyml
from polyml.kernels._data import uniform
from polyml.kernels._sizes import size_table

SIZES = size_table(
    "NI NJ NK", (20, 25, 30), (60, 70, 80), (200, 220, 240), (1000, 1100, 1200), (2000, 2300, 2600)
)  # fmt: skip
OUTPUTS = ("C",)


@polyml.kernel
def gemm(alpha, beta, C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] *= beta
        for k in range(A.shape[1]):
            for j in range(C.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


def reference(alpha, beta, C, A, B):
    return {"C": alpha * (A @ B) + beta * C}


def inputs(size, rng, dtype=np.float64):
    ni, nj, nk = size["NI"], size["NJ"], size["NK"]
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "C": uniform(rng, (ni, nj), dtype),
        "A": uniform(rng, (ni, nk), dtype),
        "B": uniform(rng, (nk, nj), dtype),
    }


def flops(size):
    ni, nj, nk = size["NI"], size["NJ"], size["NK"]
    return ni * nj + ni * nk + 2 * ni * nj * nk


def terms(size):
    return size["NK"] + 4
