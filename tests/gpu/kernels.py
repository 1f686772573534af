"""Kernels, and what their threads load and store, in plain Python."""


def gemm(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def transpose(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[j, i] = A[i, j]


def five_point(A, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            B[i, j] = A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i - 1, j] + A[i + 1, j]


def matvec(A, x, y):
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            y[i] += A[i, k] * x[k]


def triangle(A, B):
    for i in range(A.shape[0]):
        for j in range(i + 1):
            B[i, j] = A[j, i] + A[i, j]


def syrk(C, A):
    for i in range(C.shape[0]):
        for j in range(i + 1):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * A[j, k]


def trmm(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            for k in range(i + 1, B.shape[0]):
                B[i, j] += A[k, i] * B[k, j]


def every_third(x, y):
    for i in range(y.shape[0]):
        y[i] = x[3 * i]


def reflected(x, y):
    for i in range(y.shape[0]):
        y[i] = x[abs(i - y.shape[0] // 2)]


def halved(x, y):
    for i in range(y.shape[0]):
        y[i] = x[i // 2]


def sweeps(A, B, T):
    for t in range(T.shape[0]):
        for i in range(1, A.shape[0] - 1):
            B[i] = A[i - 1] + A[i + 1]
        for i in range(1, A.shape[0] - 1):
            A[i] = B[i]


def dots(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            s = 0.0
            for k in range(A.shape[1]):
                s += A[i, k] * B[j, k]
            C[i, j] = s


def prefix(x):
    for i in range(1, x.shape[0]):
        x[i] = x[i] + x[i - 1]
