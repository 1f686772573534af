"""Kernels of one loop per operation, so that each is a nest that runs in lanes; and values to try them on."""

import numpy as np


def integer_operations(A, B, R):
    n = A.shape[0]
    for i in range(n):
        R[0, i] = A[i] + B[i]
    for i in range(n):
        R[1, i] = A[i] - B[i]
    for i in range(n):
        R[2, i] = A[i] * B[i]
    for i in range(n):
        R[3, i] = A[i] // B[i]
    for i in range(n):
        R[4, i] = A[i] % B[i]
    for i in range(n):
        R[5, i] = A[i] << B[i]
    for i in range(n):
        R[6, i] = A[i] >> B[i]
    for i in range(n):
        R[7, i] = A[i] & B[i]
    for i in range(n):
        R[8, i] = A[i] | B[i]
    for i in range(n):
        R[9, i] = A[i] ^ B[i]
    for i in range(n):
        R[10, i] = min(A[i], B[i])
    for i in range(n):
        R[11, i] = max(A[i], B[i])
    for i in range(n):
        R[12, i] = -A[i]
    for i in range(n):
        R[13, i] = ~A[i]
    for i in range(n):
        R[14, i] = abs(A[i])
    for i in range(n):
        R[15, i] = np.sign(A[i])
    for i in range(n):
        R[16, i] = A[i] ** 3
    for i in range(n):
        R[17, i] = A[i] if A[i] < B[i] else 7
    for i in range(n):
        R[18, i] = np.minimum(A[i], B[i])
    for i in range(n):
        R[19, i] = np.maximum(A[i], B[i])
    for i in range(n):
        R[20, i] = np.square(A[i])


INTEGER_ROWS = 21


def float_operations(A, B, R):
    n = A.shape[0]
    for i in range(n):
        R[0, i] = A[i] + B[i]
    for i in range(n):
        R[1, i] = A[i] - B[i]
    for i in range(n):
        R[2, i] = A[i] * B[i]
    for i in range(n):
        R[3, i] = A[i] / B[i]
    for i in range(n):
        R[4, i] = A[i] // B[i]
    for i in range(n):
        R[5, i] = A[i] % B[i]
    for i in range(n):
        R[6, i] = min(A[i], B[i])
    for i in range(n):
        R[7, i] = max(A[i], B[i])
    for i in range(n):
        R[8, i] = -A[i]
    for i in range(n):
        R[9, i] = abs(A[i])
    for i in range(n):
        R[10, i] = np.sqrt(A[i])
    for i in range(n):
        R[11, i] = np.floor(A[i])
    for i in range(n):
        R[12, i] = np.ceil(A[i])
    for i in range(n):
        R[13, i] = np.trunc(A[i])
    for i in range(n):
        R[14, i] = np.rint(A[i])
    for i in range(n):
        R[15, i] = np.copysign(A[i], B[i])
    for i in range(n):
        R[16, i] = np.fmod(A[i], B[i])
    for i in range(n):
        R[17, i] = np.sign(A[i])
    for i in range(n):
        R[18, i] = np.reciprocal(A[i])
    for i in range(n):
        R[19, i] = A[i] ** 2
    for i in range(n):
        R[20, i] = A[i] if A[i] < B[i] else -B[i]
    for i in range(n):
        R[21, i] = A[i] if not A[i] < B[i] and A[i] != 0 else 1.0
    for i in range(n):
        R[22, i] = A[i] * B[i] - A[i]


FLOAT_ROWS = 23


def float_extremes(A, B, R):
    n = A.shape[0]
    for i in range(n):
        R[0, i] = np.minimum(A[i], B[i])
    for i in range(n):
        R[1, i] = np.maximum(A[i], B[i])


def float_extremes_of_numbers(A, B, R):
    """Which of two equal zeros comes out differs between NumPy's own float types."""
    n = A.shape[0]
    for i in range(n):
        R[0, i] = np.fmin(A[i], B[i])
    for i in range(n):
        R[1, i] = np.fmax(A[i], B[i])


def truth_values(A, B, P, Q):
    n = A.shape[0]
    for i in range(n):
        P[0, i] = A[i] < B[i]
    for i in range(n):
        P[1, i] = A[i] <= B[i]
    for i in range(n):
        P[2, i] = A[i] == B[i]
    for i in range(n):
        P[3, i] = A[i] != B[i]
    for i in range(n):
        P[4, i] = A[i] > B[i] and B[i] > 0
    for i in range(n):
        P[5, i] = A[i] >= B[i] or not A[i] > 0
    for i in range(n):
        P[6, i] = Q[i] & P[0, i] | P[1, i] ^ Q[i]
    for i in range(n):
        P[7, i] = not Q[i]
    for i in range(n):
        P[8, i] = Q[i] + P[0, i]
    for i in range(n):
        A[i] = B[i] if Q[i] else A[i] + Q[i]


def float_tests(A, P):
    n = A.shape[0]
    for i in range(n):
        P[0, i] = np.isnan(A[i])
    for i in range(n):
        P[1, i] = np.isinf(A[i])
    for i in range(n):
        P[2, i] = np.isfinite(A[i])


def casts(F, G, I, U, S, T, P, R):
    n = F.shape[0]
    for i in range(n):
        R[0, i] = I[i]
    for i in range(n):
        R[1, i] = U[i]
    for i in range(n):
        R[2, i] = S[i] + T[i]
    for i in range(n):
        R[3, i] = G[i]
    for i in range(n):
        R[4, i] = P[i]
    for i in range(n):
        S[i] = np.int8(F[i])
    for i in range(n):
        T[i] = np.uint8(I[i])
    for i in range(n):
        I[i] = np.int64(F[i])
    for i in range(n):
        U[i] = np.uint32(F[i])
    for i in range(n):
        G[i] = np.float32(F[i])
    for i in range(n):
        P[i] = F[i] != 0


def indices(R, k):
    n = R.shape[1]
    for i in range(n):
        R[0, i] = i
    for i in range(n):
        R[1, i] = 3 * i - k
    for i in range(n):
        R[2, i] = (i + k) // 3
    for i in range(n):
        R[3, i] = i % 5
    for i in range(n):
        R[4, i] = n - i
    for i in range(n):
        R[5, i] = 2 * i if i < k else -i


def pairs(values):
    """Every value with every other, as two arrays."""
    first, second = np.meshgrid(values, values)
    return first.ravel().copy(), second.ravel().copy()


def integers(dtype):
    info = np.iinfo(dtype)
    near = [info.min, info.min + 1, info.max, info.max - 1, info.max // 3, info.bits, info.bits - 1, 0, 1, 2, 3, 7]
    return np.array(near + ([-1, -2, -3, -7] if info.min else [5, 9]), dtype)


def floats(dtype):
    info = np.finfo(dtype)
    return np.array(
        [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.25, -1e10, 0.1, np.inf, -np.inf, np.nan, info.max, info.tiny, 5e-324],
        np.float64,
    ).astype(dtype)  # fmt: skip
