"""Kernels whose loops are triangular, strided, backwards, imperfect or carried, one statement per line, on integers."""

import numpy as np


def matmul(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def batched(C, A, B):
    for b in range(C.shape[0]):
        for i in range(C.shape[1]):
            for j in range(C.shape[2]):
                for k in range(A.shape[2]):
                    C[b, i, j] += A[b, i, k] * B[b, k, j]


def lower_update(C, A, m):
    for i in range(C.shape[0]):
        for k in range(m):
            for j in range(i + 1):
                C[i, j] += A[i, k] * A[j, k]


def solve(L, x, B):
    for i in range(L.shape[0]):
        for j in range(i):
            for k in range(B.shape[1]):
                B[i, k] -= L[i, j] * B[j, k]
        x[i] = B[i, 0]


def lu(A):
    for i in range(A.shape[0]):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] = A[i, j] + A[j, j]
        for j in range(i, A.shape[0]):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


def row_dots(y, A, x):
    for i in range(A.shape[0]):
        y[i] = 7
        for j in range(A.shape[1]):
            y[i] += A[i, j] * x[j]


def five_points(B, A):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            B[i, j] = A[i, j] + A[i - 1, j] - A[i + 1, j] + A[i, j - 1] * A[i, j + 1]


def recurrence(A):
    for i in range(1, A.shape[0]):
        for j in range(1, A.shape[1]):
            A[i, j] = A[i, j] + A[i, j - 1] * 3


def columns(A):
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i - 1, j] - A[i, j]


def in_place(A):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            A[i, j] = A[i - 1, j] + A[i, j - 1] - A[i, j + 1]


def strided(A, B):
    for i in range(0, A.shape[0], 2):
        for j in range(1, A.shape[1], 3):
            A[i, j] = B[j, i] - A[i, j]


def backwards(A, B):
    for i in range(A.shape[0] - 1, -1, -1):
        for j in range(A.shape[1] - 1, -1, -1):
            A[i, j] = B[i, A.shape[1] - 1 - j] * 5


def upper(A, s):
    for i in range(A.shape[0]):
        for j in range(i, A.shape[1]):
            s[j] += A[i, j]


def band(A, w):
    for i in range(A.shape[0]):
        for j in range(max(0, i - w), min(A.shape[1], i + w + 1)):
            A[i, j] = A[i, j] * 2 + i - j


def scattered(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            A[2 * i + j] = B[i, j] + A[2 * i + j]


def halves(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] = A[(i + j) // 2] - B[i, j]


def guarded(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if i % 2 == 0:
                A[i, j] += B[i, j]
            if j >= i:
                B[i, j] = A[i, j] - j


def closure(P):
    for k in range(P.shape[0]):
        for i in range(P.shape[0]):
            for j in range(P.shape[0]):
                P[i, j] = min(P[i, j], P[i, k] + P[k, j])


def largest(A, m):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            m[0] = max(m[0], A[i, j])


def two_in_one(A, B, C):
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = B[i, j] + C[i - 1, j]
            C[i, j] = A[i, j] * B[i - 1, j]


def arguments_for(kernel, sizes, dtype=np.int64, seed=0):
    """Arguments of a kernel by name. sizes: three extents."""
    rng = np.random.default_rng([seed, *sizes])
    n, m, k = sizes

    def numbers(*shape):
        return rng.integers(-99, 100, shape).astype(dtype)

    made = {
        matmul: lambda: {"C": numbers(n, m), "A": numbers(n, k), "B": numbers(k, m)},
        lower_update: lambda: {"C": numbers(n, n), "A": numbers(n, k), "m": k},
        solve: lambda: {"L": numbers(n, n), "x": numbers(n), "B": numbers(n, max(m, 1))},
        lu: lambda: {"A": numbers(n, n)},
        row_dots: lambda: {"y": numbers(n), "A": numbers(n, m), "x": numbers(m)},
        five_points: lambda: {"B": numbers(n, m), "A": numbers(n, m)},
        strided: lambda: {"A": numbers(n, m), "B": numbers(m, n)},
        backwards: lambda: {"A": numbers(n, m), "B": numbers(n, m)},
        upper: lambda: {"A": numbers(n, m), "s": numbers(m)},
        band: lambda: {"A": numbers(n, m), "w": k // 2},
        scattered: lambda: {"A": numbers(2 * n + m), "B": numbers(n, m)},
        halves: lambda: {"A": numbers((n + m) // 2 + 1), "B": numbers(n, m)},
        guarded: lambda: {"A": numbers(n, m), "B": numbers(n, m)},
        closure: lambda: {"P": numbers(n, n)},
        largest: lambda: {"A": numbers(n, m), "m": numbers(1)},
        two_in_one: lambda: {"A": numbers(n, m), "B": numbers(n, m), "C": numbers(n, m)},
    }
    return made.get(kernel, lambda: {"A": numbers(n, m)})()


KERNELS = (
    matmul, lower_update, solve, lu, row_dots, five_points, recurrence, columns, in_place, strided, backwards, upper,
    band, scattered, halves, guarded, closure, largest, two_in_one,
)  # fmt: skip
