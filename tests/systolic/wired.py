"""Kernels whose values are used on both sides of where they are made, for arrays with wires."""

from __future__ import annotations

import numpy as np

from tests.systolic.designs import zeros


def floyd_warshall(P):
    for k in range(P.shape[0]):
        for i in range(P.shape[0]):
            for j in range(P.shape[0]):
                P[i, j] = min(P[i, j], P[i, k] + P[k, j])


def compared(P):
    for k in range(P.shape[0]):
        for i in range(P.shape[0]):
            for j in range(P.shape[0]):
                P[i, j] = P[i, j] if P[i, j] < P[i, k] + P[k, j] else P[i, k] + P[k, j]


def closure(R):
    for k in range(R.shape[0]):
        for i in range(R.shape[0]):
            for j in range(R.shape[0]):
                R[i, j] = R[i, j] | R[i, k] & R[k, j]


def by_columns(R):
    for k in range(R.shape[0]):
        for j in range(R.shape[0]):
            for i in range(R.shape[0]):
                R[i, j] = R[i, j] | R[i, k] & R[k, j]


def from_the_last(P):
    for k in range(P.shape[0]):
        for i in range(P.shape[0] - 1, -1, -1):
            for j in range(P.shape[0]):
                P[i, j] = max(P[i, j], min(P[i, k], P[k, j]))


def eliminated(A):
    for k in range(A.shape[0]):
        for i in range(k + 1, A.shape[0]):
            for j in range(A.shape[0]):
                A[i, j] -= A[i, k] * A[k, j]


def reduced(A):
    """Gauss and Jordan: row k is what the iteration before made."""
    for k in range(A.shape[0]):
        for i in range(A.shape[0]):
            if i != k:
                for j in range(A.shape[1]):
                    A[i, j] = A[i, j] - A[i, k] * A[k, j]


def scaled(A):
    """The same, of row k scaled by its own statement."""
    for k in range(A.shape[0]):
        for j in range(k + 1, A.shape[0]):
            A[k, j] = A[k, j] * 3
        for i in range(A.shape[0]):
            if i != k:
                for j in range(k + 1, A.shape[0]):
                    A[i, j] = A[i, j] - A[i, k] * A[k, j]


def rows_alone(A):
    for k in range(A.shape[1]):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] += 2 * A[i, k]


def spread(x):
    for t in range(x.shape[0]):
        for i in range(x.shape[0]):
            x[i] = 2 * x[i] + x[t]


def with_weights(A, b):
    """And an operand that every column shares."""
    for k in range(A.shape[0]):
        for i in range(A.shape[0]):
            for j in range(A.shape[0]):
                A[i, j] = A[i, j] + A[i, k] * A[k, j] + b[j]


def of_two(A, B):
    """Statements that need each other's values."""
    for k in range(A.shape[0]):
        for i in range(A.shape[0]):
            for j in range(A.shape[0]):
                A[i, j] = A[i, j] + A[i, k] * B[k, j]
                B[i, j] = B[i, j] - A[i, j]


WIRED = {
    floyd_warshall: (zeros(6, 6),),
    compared: (zeros(5, 5),),
    closure: (zeros(5, 5).astype(np.int64),),
    by_columns: (zeros(5, 5).astype(np.int64),),
    from_the_last: (zeros(5, 5),),
    eliminated: (zeros(6, 6),),
    reduced: (zeros(5, 6),),
    scaled: (zeros(5, 5),),
    rows_alone: (zeros(4, 6),),
    spread: (zeros(7),),
    with_weights: (zeros(5, 5), zeros(5)),
    of_two: (zeros(4, 4), zeros(4, 4)),
}
