"""3mm: G := (A B) (C D), with A (NI, NK), B (NK, NJ), C (NJ, NM), D (NM, NL), E (NI, NJ), F (NJ, NL), G (NI, NL)."""

import numpy as np

import polyml
from polyml.kernels._data import uniform
from polyml.kernels._sizes import size_table

TITLE = "3mm"
SIZES = size_table(
    "NI NJ NK NL NM",
    (16, 18, 20, 22, 24), (40, 50, 60, 70, 80), (180, 190, 200, 210, 220), (800, 900, 1000, 1100, 1200),
    (1600, 1800, 2000, 2200, 2400),
)  # fmt: skip
OUTPUTS = ("G", "E", "F")


@polyml.kernel
def k3mm(E, A, B, F, C, D, G):
    for i in range(E.shape[0]):
        for j in range(E.shape[1]):
            E[i, j] = 0.0
            for k in range(A.shape[1]):
                E[i, j] += A[i, k] * B[k, j]
    for i in range(F.shape[0]):
        for j in range(F.shape[1]):
            F[i, j] = 0.0
            for k in range(C.shape[1]):
                F[i, j] += C[i, k] * D[k, j]
    for i in range(G.shape[0]):
        for j in range(G.shape[1]):
            G[i, j] = 0.0
            for k in range(E.shape[1]):
                G[i, j] += E[i, k] * F[k, j]


def reference(E, A, B, F, C, D, G):
    left, right = A @ B, C @ D
    return {"G": left @ right, "E": left, "F": right}


def inputs(size, rng, dtype=np.float64):
    ni, nj, nk, nl, nm = (size[p] for p in ("NI", "NJ", "NK", "NL", "NM"))
    return {
        "E": np.zeros((ni, nj), dtype),
        "A": uniform(rng, (ni, nk), dtype),
        "B": uniform(rng, (nk, nj), dtype),
        "F": np.zeros((nj, nl), dtype),
        "C": uniform(rng, (nj, nm), dtype),
        "D": uniform(rng, (nm, nl), dtype),
        "G": np.zeros((ni, nl), dtype),
    }


def flops(size):
    ni, nj, nk, nl, nm = (size[p] for p in ("NI", "NJ", "NK", "NL", "NM"))
    return 2 * (ni * nj * nk + nj * nl * nm + ni * nl * nj)


def terms(size):
    return size["NJ"] + size["NK"] + size["NM"] + 3
