"""jacobi-1d: three-point average, from A to B and back; A, B (N,)."""

import numpy as np

import polyml
from polyml.kernels._data import largest, uniform
from polyml.kernels._sizes import size_table

SIZES = size_table("TSTEPS N", (20, 30), (40, 120), (100, 400), (500, 2000), (1000, 4000))
OUTPUTS = ("A", "B")


@polyml.kernel
def jacobi_1d(tsteps, A, B):
    for t in range(tsteps):
        for i in range(1, A.shape[0] - 1):
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1])
        for i in range(1, A.shape[0] - 1):
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1])


def reference(tsteps, A, B):
    A, B = A.copy(), B.copy()
    for _ in range(tsteps):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])
    return {"A": A, "B": B}


def inputs(size, rng, dtype=np.float64):
    n = size["N"]
    return {"tsteps": size["TSTEPS"], "A": uniform(rng, (n,), dtype), "B": uniform(rng, (n,), dtype)}


def flops(size):
    return 2 * 3 * size["TSTEPS"] * max(size["N"] - 2, 0)


def terms(size):
    """Returns 3 roundings for each half step, whose weights are positive and add up to less than 1, so that errors do not grow."""
    return 2 * 3 * size["TSTEPS"]


def magnitude(tsteps, A, B):
    scale = largest(A, B)
    return {"A": scale, "B": scale}
