"""seidel-2d: nine-point average in place (Gauss-Seidel); A (N, N)."""

import numpy as np

import polyml
from polyml.kernels._data import largest, uniform
from polyml.kernels._sizes import size_table

NUMPY = False
SIZES = size_table("TSTEPS N", (20, 40), (40, 120), (100, 400), (500, 2000), (1000, 4000))
OUTPUTS = ("A",)

_ROWS_AT_ONCE = 16  # rows of 2000 doubles that stay in a level 2 cache


@polyml.kernel
def seidel_2d(tsteps, A):
    for t in range(tsteps):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[0] - 1):
                A[i, j] = (
                    A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                    + A[i, j - 1] + A[i, j] + A[i, j + 1]
                    + A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                ) / 9.0  # fmt: skip


def reference(tsteps, A):
    """Returns {"A": A after all time steps}, computed in wavefronts.

    Row i of step t runs in wavefront w = i + 2 t, together with rows i - 2, i - 4, ... of later steps. Within a row, x[j] = (s[j] +
    x[j-1]) / 9 is solved by recursive doubling of the lag; after five doublings what is left out is x[j-32] / 9^32, far below
    rounding.
    """
    A = A.copy()
    n = A.shape[0]
    for front in range(1, n - 1 + 2 * (tsteps - 1)):
        last = min(tsteps - 1, (front - 1) // 2)
        first = max(0, -((n - 2 - front) // 2))
        for step in range(first, last + 1, _ROWS_AT_ONCE):
            count = min(_ROWS_AT_ONCE, last + 1 - step)
            _relax(A, np.arange(count) * -2 + front - 2 * step)
    return {"A": A}


def _relax(A, rows):
    """Runs one Gauss-Seidel step on some rows of A in place, no two of which are neighbours."""
    above, here, below = A[rows - 1], A[rows], A[rows + 1]
    x = above[:, :-2] + above[:, 1:-1] + above[:, 2:] + here[:, 1:-1] + here[:, 2:]
    x += below[:, :-2] + below[:, 1:-1] + below[:, 2:]
    x[:, 0] += here[:, 0]
    x /= 9.0
    for lag in (1, 2, 4, 8, 16):
        x[:, lag:] += x[:, :-lag] / 9.0**lag
    A[rows, 1:-1] = x


def inputs(size, rng, dtype=np.float64):
    n = size["N"]
    return {"tsteps": size["TSTEPS"], "A": uniform(rng, (n, n), dtype)}


def flops(size):
    return 9 * size["TSTEPS"] * max(size["N"] - 2, 0) ** 2


def terms(size):
    """Returns 14 roundings for each time step, whose weights are positive and add up to 1, so that errors do not grow."""
    return 14 * size["TSTEPS"]


def magnitude(tsteps, A):
    return {"A": largest(A)}
