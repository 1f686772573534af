"""Products of halves with sums in float32, which matrix instructions compute."""

import numpy as np


def product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += np.float32(A[i, k]) * np.float32(B[k, j])


def both_transposed(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[0]):
                C[i, j] += np.float32(A[k, i]) * np.float32(B[j, k])


def batched(C, A, B):
    for b in range(C.shape[0]):
        for i in range(C.shape[1]):
            for j in range(C.shape[2]):
                for k in range(A.shape[2]):
                    C[b, i, j] += np.float32(A[b, i, k]) * np.float32(B[k, b, j])
