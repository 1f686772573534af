"""2mm: D := alpha A B C + beta D, with tmp = alpha A B (NI, NJ), A (NI, NK), B (NK, NJ), C (NJ, NL), D (NI, NL)."""

import numpy as np

import polyml
from polyml.kernels._data import uniform
from polyml.kernels._sizes import size_table

TITLE = "2mm"
SIZES = size_table(
    "NI NJ NK NL",
    (16, 18, 22, 24), (40, 50, 70, 80), (180, 190, 210, 220), (800, 900, 1100, 1200), (1600, 1800, 2200, 2400),
)  # fmt: skip
OUTPUTS = ("D", "tmp")


@polyml.kernel
def k2mm(alpha, beta, tmp, A, B, C, D):
    for i in range(tmp.shape[0]):
        for j in range(tmp.shape[1]):
            tmp[i, j] = 0.0
            for k in range(A.shape[1]):
                tmp[i, j] += alpha * A[i, k] * B[k, j]
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            D[i, j] *= beta
            for k in range(tmp.shape[1]):
                D[i, j] += tmp[i, k] * C[k, j]


def reference(alpha, beta, tmp, A, B, C, D):
    product = alpha * (A @ B)
    return {"D": product @ C + beta * D, "tmp": product}


def inputs(size, rng, dtype=np.float64):
    ni, nj, nk, nl = size["NI"], size["NJ"], size["NK"], size["NL"]
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "tmp": np.zeros((ni, nj), dtype),
        "A": uniform(rng, (ni, nk), dtype),
        "B": uniform(rng, (nk, nj), dtype),
        "C": uniform(rng, (nj, nl), dtype),
        "D": uniform(rng, (ni, nl), dtype),
    }


def flops(size):
    ni, nj, nk, nl = size["NI"], size["NJ"], size["NK"], size["NL"]
    return ni * nk + 2 * ni * nj * nk + ni * nl + 2 * ni * nl * nj


def terms(size):
    return size["NJ"] + size["NK"] + 5
