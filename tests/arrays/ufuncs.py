"""NumPy's operators as functions, results in given arrays, masks on both sides, arrays made inside expressions."""

import numpy as np

from tests.arrays.corpus import floats, integers, program


@program(floats(5, 6), floats(6), integers(6), floats(5, 6, dtype="f4"))
def operators(A, x, i, F):
    total = np.add(A, x) - np.subtract(A, np.multiply(x, 2)) + np.true_divide(A, np.add(np.square(x), 1))
    bits = np.bitwise_and(i, 6) | np.bitwise_xor(i, 3) | np.left_shift(i, 2) | np.right_shift(i, np.bitwise_or(1, 0))
    return total, bits, np.mod(i, 4), np.floor_divide(A, 0.3), np.negative(F), np.positive(i), np.invert(i), np.add(2, 3)


@program(floats(5, 6), integers(6))
def comparisons(A, i):
    m = np.logical_and(np.greater(A, 0), np.not_equal(i, 2))
    return m, np.logical_or(A, i), np.logical_not(i), np.logical_xor(m, A > 1), np.less_equal(i, 300), np.equal(A, A), np.less(1, 2)


@program(floats(7), integers(7))
def angles(x, i):
    return np.deg2rad(x), np.rad2deg(i), np.deg2rad(90)


@program(floats(4), floats(3), integers(5, 2), integers(3))
def outer_operations(x, y, K, k):
    D = np.subtract.outer(x, np.add.outer(y, k))
    D[:] = np.minimum(D, np.multiply.outer(x, np.maximum.outer(y, k)))
    return D, np.less_equal.outer(K, k), np.hypot.outer(x, y), np.add.outer(2, k), np.true_divide.outer(x, 4)


@program(floats(6, 6), floats(6))
def rows_and_columns_that_are_overwritten(P, x):
    for k in range(P.shape[0]):
        P[:] = np.minimum(P, np.add.outer(P[:, k], P[k]))
        x /= x[k] + 3
    P[1:] = P[1:] * P[0, :, None][1:] - P[2]
    P *= P[3, 3]
    P[:, ::-1] += P[2, ::2].sum() + P[:, 4, None]


@program(floats(5, 6), floats(5, 6), floats(5))
def into_given_arrays(A, B, s):
    np.add(A, B, out=A)
    np.multiply(A, 2, B)
    np.sqrt(np.abs(A), out=A)
    np.sum(A, axis=1, out=s)
    np.copyto(B[1:], A[:-1])
    B[0].fill(3)
    A.T[2].fill(s[0])


@program(floats(5, 6), floats(5, 6), floats(1, 6))
def masks_on_both_sides(A, B, c):
    A[A > 0] = B[A > 0]
    m = B < 0
    B[m] = B[m] * 2 + np.sqrt(np.abs(A[m])) + c[0, 1]
    A[m] *= B[m]
    A[~m] += 1


@program(floats(8), floats(8))
def masks_of_views(x, y):
    a, b = x[::2], y[::-2]
    a[a > 0] = b[a > 0] - a[a > 0]
    m = x > 0.5
    y[m] = x[::-1][m]


@program(4, floats(5, 6))
def made_in_expressions(n, A):
    B = np.zeros((n, 6)) + A[:4]
    B -= np.ones_like(B) * 0.5
    C = np.full(3, n) * 2.5
    S = T = np.zeros(3)
    S[0] = 1
    return B, C, T, np.full_like(A, 7)


@program(floats(4, 5, 6), floats(6, 5, 3), integers(5, 6))
def tensor_products(A, B, I):
    return np.tensordot(A, B, axes=1), np.tensordot(A, B, axes=([1, 2], [1, 0])), np.tensordot(A, I), np.tensordot(A[0], I)


@program(floats(5, 5), floats(7), integers(7, dtype="i4"), floats(5, 5, dtype="f4"), 3)
def more_functions_of_arrays(A, x, i, F, n):
    a, b, c = np.tri(n, 4, 1), np.trace(A), A.diagonal() * 2
    d, e, f = np.diff(A, axis=0), np.diff(i), np.diff(x > 0)
    return a, b, c, d, e, f, np.round(x * 2), np.around(i), F.round(), np.ptp(A, axis=1), np.amax(A), np.average(A, axis=0)


@program(floats(5, 5), floats(7), integers(7, dtype="i4"), floats(5, 5, dtype="f4"))
def types_asked_for(A, x, i, F):
    y = x.astype(i.dtype) + i
    return y, F.var(dtype=np.float64), np.std(F, axis=0, dtype="f8"), np.cumsum(i, dtype=float), np.cumprod(x), A.astype(F.dtype)


@program(floats(5, 5), floats(7), integers(7))
def norms(A, x, i):
    return (
        np.linalg.norm(x),
        np.linalg.norm(A),
        np.linalg.norm(A, axis=1),
        np.linalg.norm(i),
        np.linalg.norm(A, axis=0, keepdims=True),
    )


@program(floats(5, 6), floats(4))
def rearranged_views(A, x):
    B = np.fliplr(A)
    B[0] = 1
    C = np.moveaxis(A, 0, 1)
    C[:, 1] += np.flipud(A)[0]
    return x[np.newaxis] * x[:, np.newaxis], np.ascontiguousarray(A.T) @ np.asarray(A), x[..., np.newaxis] * 1


@program(np.array([5.0, 4, 3, 2, 1]), np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 3, 4, 5, 6]), 1)
def numbers_that_a_mask_changes(A, B, C, k):
    A[A > 2] *= A[0]
    A[A > 2] = A[A > 2] * A[k] + A[0]
    B[B > B[0]] = B[1] * 2
    m = C > 0
    C[m] -= min(C[0], C[1])
    v = C[1:]
    v[m[1:]] = C[1] + 1


@program(np.arange(1.0, 13).reshape(3, 4))
def positional_options(a):
    return np.var(a, 0, None, None, 1), a.std(1, None, None, 1), np.var(a, ddof=30), np.sum(a, 0, None, None, True)


@program(np.array([200, 300, 5]))
def sums_in_small_integers(a):
    return np.sum(a, dtype=np.int8), np.prod(a, dtype=np.int16), np.mean(a, dtype=np.float32), np.cumsum(a, dtype="i1")


@program(floats(9), np.array([1 + 2j, 3, -4j]), 4)
def without_dimensions(x, z, n):
    """Of an array without dimensions: some functions make a number of it, some keep the array, one gives it a dimension."""
    a, b = np.real(np.where(n > 2, z[0], z[1])), np.imag(np.where(n > 2, z[0], z[1]))
    c, d = np.where(n > 2, z[0], z[1]).imag, np.where(n > 2, x[0], x[1]).real
    e, f = np.flip(np.where(n > 2, z[0], z[1])), np.flip(np.where(n > 2, x[0], x[1]))
    g, h = np.ascontiguousarray(np.where(n > 2, z[0], z[1])), np.conj(np.where(n > 2, z[0], z[1]))
    return a, b, c, d, e, f, g, h, np.where(n > 2, x[0], x[1]) + 1, np.real(z[0])


@program(np.array([True, False, True, True, False, False, True, True, False, True, True]), floats(11, dtype="f2"))
def decided_by_the_type(b, x):
    """`b[0] > 1` is known where the lanes of the loop are not: LLVM aborts where it finds that out itself."""
    y = (b[::-1] * np.where(x > 0, b, b[::-1])) / ((b[0] > 1) + 1.5)
    return y, np.sqrt(np.abs(x)), (b >= 0) * 1.5, np.where(b[3] < 0, 1.5, x)
