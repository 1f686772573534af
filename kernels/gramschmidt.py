"""gramschmidt: A = Q R by modified Gram-Schmidt, with A and Q (M, N), R (N, N). A is overwritten.

PolyBench's sizes have M < N: columns from M on depend on those before them, so that nothing but rounding errors is
left of them to normalise. Rows of R and columns of Q from M on are therefore not determined by the input.
"""

import math

import numpy as np

import polyml
from polyml.kernels._data import largest
from polyml.kernels._sizes import size_table

SIZES = size_table("M N", (20, 30), (60, 80), (200, 240), (1000, 1200), (2000, 2600))
OUTPUTS = ("R", "Q")


@polyml.kernel
def gramschmidt(A, R, Q):
    for k in range(A.shape[1]):
        nrm = 0.0
        for i in range(A.shape[0]):
            nrm += A[i, k] * A[i, k]
        R[k, k] = math.sqrt(nrm)
        for i in range(A.shape[0]):
            Q[i, k] = A[i, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = 0.0
            for i in range(A.shape[0]):
                R[k, j] += Q[i, k] * A[i, j]
            for i in range(A.shape[0]):
                A[i, j] = A[i, j] - Q[i, k] * R[k, j]


def reference(A, R, Q):
    """Returns {"R": ..., "Q": ...}, where Householder's QR factorises the first M columns, with signs that make R's diagonal
    positive.
    """
    rank = min(A.shape)
    q, upper = np.linalg.qr(A[:, :rank])
    q = q * np.where(np.diag(upper) < 0.0, -1.0, 1.0).astype(A.dtype)
    R, Q = R.copy(), Q.copy()
    rows, columns = np.triu_indices(rank, 0, A.shape[1])
    R[rows, columns] = (q.T @ A)[rows, columns]
    Q[:, :rank] = q
    return {"R": R, "Q": Q}


def inputs(size, rng, dtype=np.float64):
    """Returns the arguments with a matrix A whose leading square block is 3 I + G / sqrt(M), with a condition number of about 5."""
    m, n = size["M"], size["N"]
    a = rng.standard_normal((m, n)) / np.sqrt(max(m, 1)) + 3.0 * np.eye(m, n)
    return {"A": a.astype(dtype), "R": np.zeros((n, n), dtype), "Q": np.zeros((m, n), dtype)}


def flops(size):
    m, n = size["M"], size["N"]
    return n * (3 * m + 1) + 2 * m * n * (n - 1)


def terms(size):
    return 4 * size["M"] + 8


def magnitude(A, R, Q):
    """Returns the scale of each output's errors.

    Modified Gram-Schmidt loses orthogonality in proportion to the condition number (Higham, Theorem 19.13).
    """
    return {"R": 5.0 * largest(A), "Q": 5.0}


def determined(size):
    rank = min(size["M"], size["N"])
    return {"R": np.s_[:rank], "Q": np.s_[:, :rank]}
