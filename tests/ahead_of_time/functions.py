"""Functions of which tests build libraries."""

import numpy as np


def gemm(alpha, A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


def shifted(A, B):
    for i in range(A.shape[0]):
        A[i] = B[i + 1]


def scaled(A, factor):
    B = A * factor
    return B, B.sum(), A


def rotated(z, A, w):
    for i in range(A.shape[0]):
        A[i] = A[i] * z + w
    s = A[0] * z
    return s


def grid(n, x):
    A = np.zeros((n + 1, 2 * n))
    for i in range(n + 1):
        for j in range(2 * n):
            A[i, j] = x + i * j
    return A


def gathered(A, index, out):
    for i in range(out.shape[0]):
        out[i] = A[index[i]]


def mixed(b, i1, u2, i4, u8, f4, h, flag, n, A):
    A[0] = i1
    A[1] = u2
    A[2] = i4
    A[3] = u8 % 1000
    A[4] = f4
    A[5] = h
    if b:
        A[6] = 1.0
    if flag:
        A[7] = n


def doubled_halves(A, B):
    for i in range(A.shape[0]):
        A[i] = A[i] * 2
        B[i] = B[i] * 2


def powers(n, A):
    s = 1
    for i in range(A.shape[0]):
        s = s * n
        A[i] = s
    return s


def prefix(A, B):
    for i in range(1, A.shape[0]):
        A[i] = A[i - 1] + B[i]


def heat(T, steps):
    for t in range(steps):
        S = T.copy()
        for i in range(1, T.shape[0] - 1):
            for j in range(1, T.shape[1] - 1):
                T[i, j] = 0.25 * (S[i - 1, j] + S[i + 1, j] + S[i, j - 1] + S[i, j + 1])


def both(A, flags, x):
    any_above = False
    for i in range(A.shape[0]):
        flags[i] = A[i] > x
        if A[i] > x:
            any_above = True
    return any_above


def product_of_bytes(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += np.int32(A[i, k]) * np.int32(B[k, j])
