"""The kernels that are timed, as loops, and what NumPy computes in their place."""

from __future__ import annotations

import numpy as np


def product(C, A, B):
    """C = A B."""
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = 0
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def product_of_halves(C, A, B):
    """C = A B, with sums in float32."""
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = 0
            for k in range(A.shape[1]):
                C[i, j] += np.float32(A[i, k]) * np.float32(B[k, j])


def softmax(y, x):
    """The exponentials of each row, divided by their sum."""
    for i in range(x.shape[0]):
        most = x[i, 0]
        for j in range(1, x.shape[1]):
            most = max(most, x[i, j])
        total = x[i, 0] * 0
        for j in range(x.shape[1]):
            y[i, j] = np.exp(x[i, j] - most)
            total += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] / total


def layernorm(y, x, scale, shift):
    """Each row with mean 0 and variance 1, times `scale`, plus `shift`."""
    n = x.shape[1]
    for i in range(x.shape[0]):
        mean = x[i, 0] * 0
        for j in range(n):
            mean += x[i, j]
        mean = mean / np.float32(n)
        variance = mean * 0
        for j in range(n):
            variance += (x[i, j] - mean) * (x[i, j] - mean)
        factor = np.float32(1) / np.sqrt(variance / np.float32(n) + np.float32(1e-5))
        for j in range(n):
            y[i, j] = (x[i, j] - mean) * factor * scale[j] + shift[j]


def sweep(B, A):
    """One sweep of jacobi-2d: the mean of five points."""
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            B[i, j] = np.float32(0.2) * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])


def convolution(y, x, w):
    """y[n, f, i, j], the sum over c, p and q of x[n, c, i + p, j + q] w[f, c, p, q]: pictures are padded before."""
    for n in range(y.shape[0]):
        for f in range(y.shape[1]):
            for i in range(y.shape[2]):
                for j in range(y.shape[3]):
                    y[n, f, i, j] = 0
                    for c in range(w.shape[1]):
                        for p in range(w.shape[2]):
                            for q in range(w.shape[3]):
                                y[n, f, i, j] += x[n, c, i + p, j + q] * w[f, c, p, q]


def convolution_stride_2(y, x, w):
    """The same for every other row and column."""
    for n in range(y.shape[0]):
        for f in range(y.shape[1]):
            for i in range(y.shape[2]):
                for j in range(y.shape[3]):
                    y[n, f, i, j] = 0
                    for c in range(w.shape[1]):
                        for p in range(w.shape[2]):
                            for q in range(w.shape[3]):
                                y[n, f, i, j] += x[n, c, 2 * i + p, 2 * j + q] * w[f, c, p, q]


def softmax_by_numpy(x: np.ndarray) -> np.ndarray:
    shifted = np.exp(x.astype(float) - x.max(1, keepdims=True))
    return shifted / shifted.sum(1, keepdims=True)


def layernorm_by_numpy(x: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> np.ndarray:
    wide = x.astype(float)
    return (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * scale + shift


def sweep_by_numpy(A: np.ndarray) -> np.ndarray:
    B = np.zeros(A.shape)
    B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
    return B


def convolution_by_numpy(x: np.ndarray, w: np.ndarray, stride: int) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(float), w.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    return np.einsum("ncijpq,fcpq->nfij", windows, w.astype(float), optimize=True)
