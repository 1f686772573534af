"""jacobi-2d: five-point average, from A to B and back; A, B (N, N)."""

import numpy as np

import polyml
from polyml.kernels._data import largest, uniform
from polyml.kernels._sizes import size_table

SIZES = size_table("TSTEPS N", (20, 30), (40, 90), (100, 250), (500, 1300), (1000, 2800))
OUTPUTS = ("A", "B")


@polyml.kernel
def jacobi_2d(tsteps, A, B):
    for t in range(tsteps):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[0] - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, 1 + j] + A[1 + i, j] + A[i - 1, j])
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[0] - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, 1 + j] + B[1 + i, j] + B[i - 1, j])


def reference(tsteps, A, B):
    A, B = A.copy(), B.copy()
    for _ in range(tsteps):
        _step(A, B)
        _step(B, A)
    return {"A": A, "B": B}


def _step(old, new):
    new[1:-1, 1:-1] = 0.2 * (old[1:-1, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:] + old[2:, 1:-1] + old[:-2, 1:-1])


def inputs(size, rng, dtype=np.float64):
    n = size["N"]
    return {"tsteps": size["TSTEPS"], "A": uniform(rng, (n, n), dtype), "B": uniform(rng, (n, n), dtype)}


def flops(size):
    return 2 * 5 * size["TSTEPS"] * max(size["N"] - 2, 0) ** 2


def terms(size):
    """Returns 5 roundings for each half step, whose weights are positive and add up to 1, so that errors do not grow."""
    return 2 * 5 * size["TSTEPS"]


def magnitude(tsteps, A, B):
    scale = largest(A, B)
    return {"A": scale, "B": scale}
