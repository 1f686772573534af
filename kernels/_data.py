"""Random arguments of the kernels.

PolyBench's own initial values are linear in the subscripts and so hide errors, since a difference of neighbours is constant
there. These have no structure beyond what the algorithm needs.
"""

from __future__ import annotations

import numpy as np


def uniform(rng: np.random.Generator, shape, dtype) -> np.ndarray:
    """Returns an array of independent random values in [-1, 1)."""
    return rng.uniform(-1.0, 1.0, shape).astype(dtype)


def positive_definite(rng: np.random.Generator, n: int, dtype) -> np.ndarray:
    """Returns a random dense symmetric n x n matrix with eigenvalues in about [1, 5]: I + G G^T / n with G normal."""
    g = rng.standard_normal((n, n))
    return (np.eye(n) + g @ g.T / max(n, 1)).astype(dtype)


def factorable(rng: np.random.Generator, n: int, dtype) -> np.ndarray:
    """Returns a random dense unsymmetric n x n matrix, 3 I + G / sqrt(n) with G normal, which LU factors stably without pivoting.

    The singular values of G / sqrt(n) are at most about 2, so that the symmetric part is positive definite.
    """
    return (3.0 * np.eye(n) + rng.standard_normal((n, n)) / np.sqrt(max(n, 1))).astype(dtype)


def largest(*arrays: np.ndarray) -> float:
    """Returns the largest absolute value in the arrays, 0 where all are empty."""
    return max((float(np.max(np.abs(a))) for a in arrays if a.size), default=0.0)
