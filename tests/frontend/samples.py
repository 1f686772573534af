"""Kernels that between them use every construct of the language, each with arguments.

`SAMPLES` maps a name to (function, a maker of arguments from a random generator). Sizes are unequal and odd.
"""

from __future__ import annotations

import math
from math import hypot as length

import numpy as np

STEP = 3
SCALE = 0.75
EXACT = np.float32(0.1)
VERBOSE = False
LIMIT = np.int16(7)
real = np.float32


def gemm(alpha, beta, C, A, B):
    """Docstring."""
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] *= beta
        for k in range(A.shape[1]):
            for j in range(C.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k][j]


def triangular(A):
    n = len(A)
    for i in range(n):
        for j in range(i + 1):
            A[i, j] = A[i][j] - i * 2 + j
        for j in range(n - 1, i, -1):
            A[i, j] = A[j, i]


def steps(A, B):
    for i in range(0, A.shape[0], 2):
        A[i] += 1
    for i in range(A.shape[0] - 1, -1, -STEP):
        A[i] -= B[i]
    for i in range(3, 3):
        A[i] = 0
    for _ in range(2):
        for _ in range(3):
            A[0] += 0.5
    else:
        A[1] = 2


def negative_subscripts(A, n):
    for i in range(n):
        A[-1 - i] = A[i] + A[(i + 3) % n] - A[i // 2]
    A[-1] = A[-len(A)]


def branches(A, B):
    for i in range(A.shape[0]):
        if i < 2:
            A[i] = 1
        elif i % 2 == 0 and not i == 4:
            A[i] = B[i] if B[i] > 0.5 else -B[i]
        elif B[i] > 0.2 or i == 5:
            A[i] = 2 * B[i]
        else:
            pass
    if VERBOSE:
        print("not part of the language, and never looked at")
    if 0 < STEP <= 3:
        A[0] = STEP


def reductions(A, B):
    total = 0.0
    largest = A[0]
    smallest = A[0]
    count = 0
    for i in range(A.shape[0]):
        total += A[i] * B[i]
        largest = max(largest, A[i])
        smallest = min(smallest, A[i], B[i])
        if A[i] > 0.5:
            count += 1
    return total, largest, smallest, count


def single(A):
    s = 0.0
    for i in range(A.shape[0]):
        s += A[i]
    return s / len(A)


def mean_f32(A, B):
    mean = 0.0
    for i in range(A.shape[0]):
        mean += A[i]
    mean /= A.shape[0]
    for i in range(A.shape[0]):
        B[i] = (A[i] - mean) * 0.1 + EXACT
    return mean


def reused_names(A, K):
    x = A[0]
    A[1] = x
    x = 2
    A[x] = 5
    for x in range(2):
        A[x] += x
    x = K[0]
    return x


def assigned_parameters(n, x, A):
    n = n + 1
    x *= 2
    for i in range(n - 1):
        A[i] = x
        x = x + 0.25
    return x, n


def tuples(A):
    n, m = A.shape
    a, b = A[0, 0], A[n - 1, m - 1]
    a, b = b, a
    A[0, 0], A[n - 1, m - 1] = a, b
    A[0, 1], A[1, 0] = A[1, 0], A[0, 1]
    c = d = a + 1
    A[1, 1] = A[2, 1] = c
    p, q = 1, 2
    i = A[p, q] = 2
    return a, b, d, i, p + q


def allocations(A, n):
    Z = np.zeros(n)
    ones = np.ones((n, 3), dtype=np.int32)
    F = np.full((2, n), 7)
    G = np.full(n, A[0])
    E = np.empty(A.shape, dtype="f4")
    L = np.full_like(A, 2)
    W = np.zeros_like(A, dtype=float)
    V = np.zeros([n], A.dtype)
    for i in range(A.shape[0]):
        E[i] = A[i] / 3
    Z = np.ones_like(E)
    Z[0] = 0.1
    U = np.full(3, True)
    return Z, ones, F, G, E, L, W, V, U


def temporaries_per_iteration(A, B):
    for i in range(A.shape[0]):
        T = np.zeros(A.shape[1])
        for j in range(A.shape[1]):
            T[j] = A[i, j] * 2
        for j in range(A.shape[1]):
            B[i, j] = T[A.shape[1] - 1 - j]


def mathematics(A, B):
    for i in range(A.shape[0]):
        x = A[i]
        B[i] = math.sqrt(x) + math.exp(-x) + math.log1p(x) + math.fabs(-x) + math.atan2(x, 2) + math.erf(x)
        B[i] += np.sin(x) * np.cos(x) + np.tanh(x) + np.arctan2(x, 0.5) + length(x, 1)
        B[i] += np.maximum(x, 0.25) + np.minimum(x, 2) + np.fabs(x) + np.abs(-x) + np.rint(x) + np.floor(x)
        B[i] += math.pi + np.e + math.floor(x * 10) + abs(-x) + pow(x, 2) + np.power(x, 2) + math.pow(x, 0.5)
        B[i] += np.sign(x) + np.square(x) + np.reciprocal(x + 1) + np.cbrt(x) + np.hypot(x, x) + np.copysign(x, -1)


def outside_domains(A, x, zero):
    A[0] = math.sqrt(-1.0)
    A[1] = math.log(0)
    A[2] = math.exp(x * 1000)
    A[3] = x / zero
    A[4] = -x / zero
    A[5] = zero / zero
    A[6] = (-x) ** 0.5
    A[7] = zero**-1
    A[8] = x // zero
    A[9] = x % zero
    A[10] = np.sqrt(-1.0)
    A[11] = np.float64(x) / 0
    A[12] = 7 // (len(A) - 13)
    A[13] = 7 % (len(A) - 13)


def python_integers(n, m, A):
    A[0] = n // m + n % m - (-n) // m * ((-n) % m)
    A[1] = n << 3 | m & 6 ^ 5
    A[2] = n >> 1
    A[3] = -(n**2) + abs(-m) + ~n + (+m)
    A[4] = n / m
    A[5] = min(n, m, 3) + max(n, m)
    A[6] = (n > m) + (n < m) + True
    A[7] = 2**-1 + 2**5
    A[8] = int(n / m) + int(-2.7) + bool(n)
    return n * m, n > m, n and m, n > 1 and m > 1, not n, m if n > m else n


def numpy_integers(K, J, U):
    for i in range(K.shape[0]):
        K[i] = K[i] // J[i] + K[i] % 3 - (K[i] & J[i] | 5) ^ (K[i] >> 1)
        J[i] = -J[i] * 2 + abs(J[i]) + ~J[i]
        U[i] = U[i] * U[i] + 200
        U[i] = U[i] << 2
        if U[i] < 300 and U[i] > -1 and K[i] != U[i]:
            U[i] //= 3
        J[i] = K[i] ** 2
        J[i] %= 7
    return K[0] + LIMIT, U[0] * J[0], K[0] / J[1]


def stores(K, U, F, B, x, n):
    K[0] = x
    K[1] = n
    K[2] = F[0] * 10
    U[0] = F[1] * 100
    U[1] = np.int64(n) * 100
    U[2] = n
    F[2] = x
    F[3] = n
    F[4] = K[1] > 2
    B[0] = F[0]
    B[1] = n - n
    B[2] = K[1] > 2
    K[3] = True
    K[4] = B[0] + B[1]


def casts(A, F, K):
    A[0] = np.float32(0.1)
    A[1] = float(F[0]) * 0.1
    A[2] = F[0] * 0.1
    A[3] = int(A[4] * 100)
    A[4] = np.int8(K[0] * 3)
    A[5] = np.uint8(np.float64(200.5))
    A[6] = real(SCALE) * 0.1
    A[7] = bool(K[0]) + 1
    A[8] = np.bool_(K[0]) * 3
    return np.float32(A[0]), float(F[0]), int(F[0] * 100), bool(F[0]), np.int16(5), float("inf")


def booleans(B, A, K):
    for i in range(A.shape[0]):
        B[i] = A[i] > 0.5
        found = A[i] > 0.25 and i > 1
        B[i] = B[i] & (K[i] < 3) | found
        B[i] = not B[i]
        B[i] ^= True
        A[i] = B[i] * A[i] + (A[i] and K[i])
        A[i] += A[i] or 2.0
    return B[0] + B[1], B[0] * B[1], ~B[0], B[0] and B[1], np.isnan(A[0]), math.isinf(A[0]), not A[0]


def chains(A):
    n = A.shape[-1]
    for i in range(n):
        if 0 < i < n - 1 != 2:
            A[i] = 0 <= A[i] <= 1
    return 1 < n < 100


def annotated(A: np.ndarray, x: float = 2.0, *, n: int = 3) -> float:
    y: float = x
    z: int
    z = n
    for i in range(z):
        A[i] = y
    return y


def zero_dimensional(S, A):
    for i in range(A.shape[0]):
        S[()] += A[i]
    return S


def known_trip_count(A):
    for i in range(3):
        last = A[i]
    return last


def returns_none(A):
    A[0] = 1
    return


def returns_tuple_of_one(A):
    return (A,)


def mixed_paths(F, A, K):
    x = 0
    for i in range(F.shape[0]):
        x = x + F[i]
    y = F[0] if F[0] > 0.5 else A[0]
    A[1] = y
    z = max(K[0], 0)
    w = K[1] if z > 0 else F[1]
    return x, z, w + A[0]


def floats(A, F):
    for i in range(A.shape[0]):
        A[i] = A[i] // 0.3 + A[i] % 0.3 - (-A[i]) % 0.7 + A[i] ** 1.5
        F[i] = F[i] // 0.25 + -F[i] % 0.25 + F[i] ** 2
        A[i] = F[i] * A[i] + F[i] * 2 + 3 * i - True
    return A[0] == F[0], F[1] < 0.1, A[2] >= 1


def triangle_solve(L, x, b):
    for i in range(len(x)):
        s = b[i]
        for j in range(i):
            s -= L[i, j] * x[j]
        x[i] = s / L[i, i]


def closure(weight, power=2):
    def weighted(A):
        for i in range(A.shape[0]):
            A[i] = A[i] * weight + i**power

    return weighted


def random(rng, *shape, dtype="f8"):
    if np.dtype(dtype).kind == "f":
        return (rng.random(shape) * 2 - 0.5).astype(dtype)
    if dtype == "?":
        return rng.random(shape) < 0.5
    return rng.integers(1, 20, shape).astype(dtype)


SAMPLES = {
    "gemm f64": (gemm, lambda r: [1.5, 1.2, random(r, 3, 5), random(r, 3, 4), random(r, 4, 5)]),
    "gemm f32": (gemm, lambda r: [1.5, 2, *(random(r, *s, dtype="f4") for s in ((3, 5), (3, 4), (4, 5)))]),
    "gemm numpy scalar": (
        gemm,
        lambda r: [np.float64(1.1), 2, *(random(r, *s, dtype="f4") for s in ((3, 5), (3, 4), (4, 5)))],
    ),
    "gemm int": (gemm, lambda r: [3, 2, *(random(r, *s, dtype="i4") for s in ((3, 5), (3, 4), (4, 5)))]),
    "triangular": (triangular, lambda r: [random(r, 7, 7)]),
    "triangular i8": (triangular, lambda r: [random(r, 7, 7, dtype="i1")]),
    "steps": (steps, lambda r: [random(r, 11), random(r, 11, dtype="f4")]),
    "negative_subscripts": (negative_subscripts, lambda r: [random(r, 7), 7]),
    "branches": (branches, lambda r: [random(r, 9), random(r, 9, dtype="f4")]),
    "reductions f64": (reductions, lambda r: [random(r, 9), random(r, 9)]),
    "reductions f32": (reductions, lambda r: [random(r, 9, dtype="f4"), random(r, 9, dtype="f4")]),
    "single": (single, lambda r: [random(r, 9, dtype="f4")]),
    "single int": (single, lambda r: [random(r, 9, dtype="u2")]),
    "mean_f32": (mean_f32, lambda r: [random(r, 9, dtype="f4"), random(r, 9, dtype="f4")]),
    "reused_names": (reused_names, lambda r: [random(r, 5, dtype="f4"), random(r, 2, dtype="i2")]),
    "assigned_parameters": (assigned_parameters, lambda r: [4, 1.5, random(r, 4, dtype="f4")]),
    "tuples": (tuples, lambda r: [random(r, 3, 5)]),
    "allocations": (allocations, lambda r: [random(r, 5, dtype="f4"), 4]),
    "allocations u8": (allocations, lambda r: [random(r, 5, dtype="u1"), 4]),
    "temporaries_per_iteration": (temporaries_per_iteration, lambda r: [random(r, 3, 4), random(r, 3, 4, dtype="f4")]),
    "mathematics f64": (mathematics, lambda r: [abs(random(r, 5)), random(r, 5)]),
    "mathematics f32": (mathematics, lambda r: [abs(random(r, 5, dtype="f4")), random(r, 5, dtype="f4")]),
    "python_integers": (python_integers, lambda r: [17, 5, random(r, 9)]),
    "python_integers negative": (python_integers, lambda r: [-17, 5, random(r, 9)]),
    "numpy_integers": (
        numpy_integers,
        lambda r: [random(r, 5, dtype="i4"), random(r, 5, dtype="i8"), random(r, 5, dtype="u1")],
    ),
    "stores": (
        stores,
        lambda r: [
            random(r, 5, dtype="i2"),
            random(r, 5, dtype="u1"),
            random(r, 5, dtype="f4"),
            random(r, 3, dtype="?"),
            -3.7,
            9,
        ],
    ),
    "casts": (casts, lambda r: [random(r, 9), random(r, 2, dtype="f4"), random(r, 2, dtype="i4")]),
    "booleans": (booleans, lambda r: [random(r, 5, dtype="?"), random(r, 5), random(r, 5, dtype="i4")]),
    "chains": (chains, lambda r: [random(r, 9)]),
    "annotated": (annotated, lambda r: [random(r, 4, dtype="f4"), 0.1, 3]),
    "zero_dimensional": (zero_dimensional, lambda r: [np.array(0.5, "f4"), random(r, 4)]),
    "known_trip_count": (known_trip_count, lambda r: [random(r, 4)]),
    "returns_none": (returns_none, lambda r: [random(r, 4)]),
    "returns_tuple_of_one": (returns_tuple_of_one, lambda r: [random(r, 4)]),
    "mixed_paths": (mixed_paths, lambda r: [random(r, 5, dtype="f4"), random(r, 5), random(r, 2, dtype="i2")]),
    "floats": (floats, lambda r: [abs(random(r, 5)), random(r, 5, dtype="f4")]),
    "triangle_solve": (triangle_solve, lambda r: [random(r, 5, 5) + np.eye(5) * 3, random(r, 5), random(r, 5)]),
    "closure": (closure(np.float32(1.25)), lambda r: [random(r, 5, dtype="f4")]),
    "closure int": (closure(3, 3), lambda r: [random(r, 5, dtype="i8")]),
}
