"""durbin: solves the Yule-Walker equations T y = -r, T[i, j] = r[|i - j| - 1] with unit diagonal; r, y (N,)."""

import numpy as np

import polyml
from polyml.kernels._data import largest
from polyml.kernels._sizes import size_table

SIZES = size_table("N", (40,), (120,), (400,), (2000,), (4000,))
OUTPUTS = ("y",)


@polyml.kernel
def durbin(r, y):
    z = np.empty_like(y)
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, r.shape[0]):
        beta = (1 - alpha * alpha) * beta
        total = 0.0
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha


def reference(r, y):
    """Returns {"y": the solution} of the Yule-Walker equations, by Levinson's recursion on whole vectors."""
    solution = np.zeros_like(r)
    error = r.dtype.type(1.0)
    for k in range(r.shape[0]):
        reflection = -(r[k] + r[:k][::-1] @ solution[:k]) / error
        solution[:k] += reflection * solution[:k][::-1].copy()
        solution[k] = reflection
        error = error * (1.0 - reflection * reflection)
    return {"y": solution}


def inputs(size, rng, dtype=np.float64):
    """Returns the arguments with correlations r whose absolute values add up to 0.45, so that T is diagonally dominant."""
    n = size["N"]
    r = rng.uniform(-1.0, 1.0, n) / np.arange(1, n + 1)
    return {"r": (0.45 * r / max(np.sum(np.abs(r)), 1e-300)).astype(dtype), "y": np.zeros(n, dtype)}


def flops(size):
    n = size["N"]
    return 2 * n * (n - 1) + 5 * (n - 1) if n else 0


def terms(size):
    return 4 * size["N"] + 4


def magnitude(r, y):
    """Returns the scale of y's errors, twice the largest entry of r: T is diagonally dominant with norm at most 1.9."""
    return {"y": 2.0 * largest(r)}
