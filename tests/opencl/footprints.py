"""Kernels whose threads share what they load in several ways: columns, halos, windows, several sums at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def transposed(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[j, i] = A[i, j]


def turned(A, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            B[j, i] = A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i - 1, j] + A[i + 1, j]


def mirrored(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[j, A.shape[0] - 1 - i] = A[i, j] + A[i, A.shape[1] - 1 - j]


def upper(A, B):
    for i in range(A.shape[0]):
        for j in range(i + 1):
            B[i, j] = A[j, i] + B[i, j]


def convolution(X, W, Y):
    for f in range(Y.shape[0]):
        for i in range(Y.shape[1]):
            for j in range(Y.shape[2]):
                for c in range(X.shape[0]):
                    for r in range(W.shape[2]):
                        for s in range(W.shape[3]):
                            Y[f, i, j] += X[c, i + r, j + s] * W[f, c, r, s]


def contraction(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                for m in range(A.shape[2]):
                    C[i, j] += A[i, k, m] * B[m, j, k]


def triangles(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                for m in range(k, A.shape[1] - 2):
                    C[i, j] += A[i, k] * B[m, j]


def correlation(x, A, y):
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            for k in range(A.shape[1]):
                y[i, j] += A[i, k] * x[j + k]


SHAPES: dict[Callable[..., None], tuple[tuple[int, ...], ...]] = {
    transposed: ((37, 70), (70, 37)),
    turned: ((66, 67), (67, 66)),
    mirrored: ((66, 35), (35, 66)),
    upper: ((70, 70), (70, 70)),
    convolution: ((3, 12, 22), (9, 3, 3, 3), (9, 10, 20)),
    contraction: ((17, 5, 19), (19, 20, 5), (17, 20)),
    triangles: ((17, 7), (7, 20), (17, 20)),
    correlation: ((40,), (17, 21), (17, 20)),
}
NAMES = {function.__name__: function for function in SHAPES}


def arguments(name: str) -> tuple[np.ndarray, ...]:
    """Returns arrays of small whole numbers, whose sums are exact in any order."""
    rng = np.random.default_rng(0)
    return tuple(rng.integers(-9, 10, shape).astype(np.float32) for shape in SHAPES[NAMES[name]])
