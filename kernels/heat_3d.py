"""heat-3d: the heat equation in three dimensions, explicit in time; A, B (N, N, N)."""

import numpy as np

import polyml
from polyml.kernels._data import largest, uniform
from polyml.kernels._sizes import size_table

SIZES = size_table("TSTEPS N", (20, 10), (40, 20), (100, 40), (500, 120), (1000, 200))
OUTPUTS = ("A", "B")


@polyml.kernel
def heat_3d(tsteps, A, B):
    for t in range(1, tsteps + 1):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[0] - 1):
                for k in range(1, A.shape[0] - 1):
                    B[i, j, k] = (
                        0.125 * (A[i + 1, j, k] - 2.0 * A[i, j, k] + A[i - 1, j, k])
                        + 0.125 * (A[i, j + 1, k] - 2.0 * A[i, j, k] + A[i, j - 1, k])
                        + 0.125 * (A[i, j, k + 1] - 2.0 * A[i, j, k] + A[i, j, k - 1])
                        + A[i, j, k]
                    )
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[0] - 1):
                for k in range(1, A.shape[0] - 1):
                    A[i, j, k] = (
                        0.125 * (B[i + 1, j, k] - 2.0 * B[i, j, k] + B[i - 1, j, k])
                        + 0.125 * (B[i, j + 1, k] - 2.0 * B[i, j, k] + B[i, j - 1, k])
                        + 0.125 * (B[i, j, k + 1] - 2.0 * B[i, j, k] + B[i, j, k - 1])
                        + B[i, j, k]
                    )


def reference(tsteps, A, B):
    """Returns {"A": ..., "B": ...} after all time steps: each point is 1/4 of itself and 1/8 of each of its six neighbours."""
    A, B = A.copy(), B.copy()
    for _ in range(tsteps):
        _step(A, B)
        _step(B, A)
    return {"A": A, "B": B}


def _step(old, new):
    new[1:-1, 1:-1, 1:-1] = 0.25 * old[1:-1, 1:-1, 1:-1] + 0.125 * (
        old[2:, 1:-1, 1:-1] + old[:-2, 1:-1, 1:-1]
        + old[1:-1, 2:, 1:-1] + old[1:-1, :-2, 1:-1]
        + old[1:-1, 1:-1, 2:] + old[1:-1, 1:-1, :-2]
    )  # fmt: skip


def inputs(size, rng, dtype=np.float64):
    n = size["N"]
    a = uniform(rng, (n, n, n), dtype)
    return {"tsteps": size["TSTEPS"], "A": a, "B": a.copy()}


def flops(size):
    return 2 * 15 * size["TSTEPS"] * max(size["N"] - 2, 0) ** 3


def terms(size):
    """Returns 15 roundings for each half step, whose weights are positive and add up to 1, so that errors do not grow."""
    return 2 * 15 * size["TSTEPS"]


def magnitude(tsteps, A, B):
    scale = largest(A, B)
    return {"A": scale, "B": scale}
