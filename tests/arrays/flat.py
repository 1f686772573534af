"""Programs over matrices that lie flat in vectors, as they come from C."""

import numpy as np

from tests.arrays.corpus import floats, integers, program


@program(floats(30), floats(20), floats(24), 6, 5, 4)
def product(C, A, B, n, m, k):
    A = A.copy()
    for i in range(m):
        for j in range(n):
            for l in range(k):
                C[i * n + j] += A[i * k + l] * B[l * n + j]


@program(floats(48), floats(48), 6, 8)
def five_points(B, A, rows, columns):
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            p = i * columns + j
            B[p] = A[p] + 0.25 * (A[p - 1] + A[p + 1] + A[p - columns] + A[p + columns])


@program(integers(60), 3, 4)
def volume(A, n, m):
    for t in range(60):
        A[t] += t // (n * m) + t % m
    for i in range(A.shape[0] // (n * m)):
        A[(i * n + 1) * m] += 1


@program(integers(5, 6))
def by_the_array_s_own_size(A):
    flat = np.zeros(A.size, A.dtype)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            flat[i * A.shape[1] + j] = A[i, j]
    return flat
