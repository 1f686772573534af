"""float16 and bfloat16: every operation is float32's and rounded, sums are taken in float32."""

import ml_dtypes
import numpy as np

from tests.arrays.corpus import floats, integers, program

H, B = "f2", ml_dtypes.bfloat16


@program(floats(9, 7, dtype=H), floats(7, dtype=H))
def arithmetic(A, x):
    return A * x - A / (np.abs(x) + 1), A // 2, A % 2, -A, A**2, A > x, np.maximum(A, x), np.where(A > 0, A, 1)


@program(floats(40, dtype=H), floats(40), integers(40))
def conversions(a, b, c):
    a[1:] += b[1:] * 0.1
    return a.astype(np.float32), b.astype(np.float16), c.astype(np.float16), a.astype(np.int32), a + c, a * b, a > 0


@program(floats(33, dtype=H))
def functions(a):
    return np.exp(a), np.sqrt(np.abs(a)), np.tanh(a), np.floor(a), np.isnan(a), np.sin(a)


@program(floats(12, 20, dtype=H), floats(20, 9, dtype=H))
def sums_of_products(A, B):
    C = A @ B
    C += 1
    return C, A @ B[:, 0]


@program(floats(6, 30, dtype=H))
def reductions(A):
    return A.sum(axis=1), A.mean(axis=1), A.max(), A.argmin(axis=0), A.std(axis=1) * 1, A.any(), np.cumsum(A[0])


@program(floats(20, dtype=H), 3)
def element_by_element(a, n):
    total = np.float16(0)
    for i in range(n, a.shape[0]):
        a[i] = a[i - 1] * 0.5 + i
        total += a[i]
    return total


@program(integers(9, dtype="i1"), floats(9) > 0)
def of_small_integers(a, b):
    return np.sqrt(np.abs(a)), np.exp(b)


@program(floats(7, 30), np.float16(2))
def made_inside(A, s):
    H = A.astype(np.float16)
    T = np.zeros(7, np.float16)
    T += H.sum(axis=1)
    return H @ H.T, H.mean(), T, (A * s).sum()


@program(floats(300, dtype=H), np.float16(1.5))
def a_number(a, s):
    return a * s, s


@program(floats(9, 7, dtype=B), floats(7, dtype=B))
def arithmetic_of_bfloat16(A, x):
    return A * x - A / (np.abs(x) + 1), A // 2, A % 2, -A, A**2, A > x, np.maximum(A, x), np.where(A > 0, A, 1), A * 2.5


@program(floats(40, dtype=B), floats(40), integers(40), integers(40, dtype="i1"), floats(40, dtype=H))
def conversions_of_bfloat16(a, b, c, d, h):
    a[1:] += b[1:] * 0.1
    made = b.astype(ml_dtypes.bfloat16)
    joined = np.concatenate((a, d))
    chosen = np.where(a > 0, a, b)
    whole, half = a.astype(np.int32), a.astype(np.float16)
    return made, joined, chosen, whole, half, c.astype("bfloat16"), a + c, a * b, a - d, a * h, a.clip(0, 1), a > 0


@program(floats(33, dtype=B))
def functions_of_bfloat16(a):
    return np.exp(a), np.sqrt(np.abs(a)), np.tanh(a), np.floor(a), np.isnan(a), np.sin(a), np.arctan2(a, 2)


@program(floats(12, 20, dtype=B), floats(20, 9, dtype=B), floats(20, 9, dtype="f4"), integers(20, 9, dtype="i1"))
def sums_of_products_of_bfloat16(A, X, Y, Z):
    C = A @ X  # of float32
    C += 1
    return C, A @ X[:, 0], np.dot(A, X), np.inner(A, X.T), np.dot(A, Z), A @ Z, np.einsum("ij,jk->ik", A, Y)


@program(floats(6, 30, dtype=B))
def reductions_of_bfloat16(A):
    return A.max(), A.argmin(axis=0), A.any(), np.cumsum(A[0]), A.min(axis=1), A.sum(axis=1, dtype=np.float32)


@program(floats(20, dtype=B), 3)
def element_by_element_of_bfloat16(a, n):
    total = ml_dtypes.bfloat16(0)
    for i in range(n, a.shape[0]):
        a[i] = a[i - 1] * 0.5 + i
        total += a[i]
    return total


@program(floats(7, 30), ml_dtypes.bfloat16(2))
def bfloat16_made_inside(A, s):
    H = A.astype(ml_dtypes.bfloat16)
    T = np.zeros(7, ml_dtypes.bfloat16)
    T += H[:, 0]
    return H @ H.T, T, A * s, H * s, s
