"""doitgen: A[r, q, p] := sum over s of A[r, q, s] C4[s, p] (multiresolution analysis).

A is (NR, NQ, NP), C4 (NP, NP), sum_ (NP,) holds one row.
"""

import numpy as np

import polyml
from polyml.kernels._data import uniform
from polyml.kernels._sizes import size_table

SIZES = size_table("NQ NR NP", (8, 10, 12), (20, 25, 30), (40, 50, 60), (140, 150, 160), (220, 250, 270))
OUTPUTS = ("A",)


@polyml.kernel
def doitgen(A, C4, sum_):
    for r in range(A.shape[0]):
        for q in range(A.shape[1]):
            for p in range(A.shape[2]):
                sum_[p] = 0.0
                for s in range(A.shape[2]):
                    sum_[p] += A[r, q, s] * C4[s, p]
            for p in range(A.shape[2]):
                A[r, q, p] = sum_[p]


def reference(A, C4, sum_):
    return {"A": A @ C4}


def inputs(size, rng, dtype=np.float64):
    nq, nr, np_ = size["NQ"], size["NR"], size["NP"]
    return {
        "A": uniform(rng, (nr, nq, np_), dtype),
        "C4": uniform(rng, (np_, np_), dtype),
        "sum_": np.zeros(np_, dtype),
    }


def flops(size):
    return 2 * size["NR"] * size["NQ"] * size["NP"] ** 2


def terms(size):
    return size["NP"] + 1
