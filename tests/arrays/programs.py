"""Functions of arrays as NumPy users write them; what NumPy gives is right."""

import numpy as np

from tests.arrays.corpus import floats, integers, program

# Slices as values and as targets


@program(floats(9), floats(9))
def copied(A, B):
    A[:] = B


@program(floats(9), floats(9))
def strided_and_reversed(A, B):
    A[::2] = B[::-2]
    A[1::3] = B[-2::-3]
    A[7:2:-2] -= B[:3]


@program(floats(9), floats(4))
def constant_ends(A, B):
    A[1:5] += B * 2
    A[-3:] = B[:-1]
    A[:-6] -= A[-3:]


@program(floats(6, 7), floats(7), floats(6))
def broadcast(A, b, c):
    A[...] = A + b
    A -= c[:, None]
    A[None, 2:, :] += 1


@program(floats(6, 7), floats(7, 6), floats(6, 6))
def transposed(A, B, C):
    A[:] = B.T
    C[:] = C.T
    C[1:, :-1] = C.T[:-1, 1:]


@program(floats(6, 6))
def shifted_over_itself(A):
    A[1:] = A[:-1]
    A[:, :-1] += A[:, 1:]
    A[2] = A[:, 2]


@program(floats(5, 6))
def views_and_copies(A):
    x = A[2]
    x[1:3] = 7.0
    y = A[:, 3].copy()
    y += 1
    z = A
    z[0] = 2.0
    part = A[1:4, ::2]
    part *= 3
    return y, x[1] + part[0, 0]


@program(floats(8, 8))
def slices_of_loop_variables(A):
    n = A.shape[0]
    for i in range(n):
        A[i, :i] *= 2
        A[i, i:] += A[i, i]
        A[i:, i] -= A[i, : n - i]


@program(floats(7, 7), floats(7, 6))
def temporaries_of_sizes_that_loops_change(A, B):
    for i in range(A.shape[0]):
        A[i, : i + 1] += B[: i + 1] @ B[i]
        y = A[i, i:] * 2
        A[i, i:] = y[::-1]


@program(floats(9), floats(9))
def both_at_once(A, B):
    A[1:], B[1:] = B[:-1] * 1, A[:-1] * 1
    x, y = A, B
    x, y = y, x
    x[0] = 5.0
    return y[0]


@program(floats(4, 5))
def rows_held_while_their_number_changes(A):
    k = 0
    x = A[k]
    k = 2
    x[1:] = 5.0
    y, z = A[1], A[2]
    y, z = z, y[0]
    y[3] = z
    return x[0] + k


@program(floats(7, 8), 2.5, 3)
def allocated(A, x, n):
    B = np.zeros_like(A)
    B[:] = x
    B[n] = A[n] * x
    C = np.ones((A.shape[0], A.shape[1]))
    C *= n
    D = np.full((n, n), x)
    D[1:, 1:] = D[:-1, :-1] * 2
    return B, C, D


@program(floats(6, 7), 3)
def allocated_and_changed_in_loops(A, n):
    total = np.zeros(A.shape[0])
    for j in range(n):
        total += A[:, j]
    B = np.ones((n, n))
    if n > 2:
        B *= 2
    B -= B.T * 0.5
    return total, B


@program(integers(7, dtype="i1"), floats(7) * 300, floats(7, dtype="f4"))
def converted(A, B, C):
    A[:] = B * 0.1
    A[0:3] = 5
    A += True
    C[:] = B
    C += B
    return B.astype(np.float32), A.astype(np.int16) * 100


@program(floats(0), floats(0))
def empty(A, B):
    A[:] = B + 1
    return A.sum(), A[1:].sum(), A[::-1] * 2


@program(floats(3, 1), floats(1, 4), floats(3, 4))
def sizes_of_one(A, B, C):
    C += A
    C *= B
    return A + B, C - B


# Elementwise


@program(floats(5, 6), integers(5, 6), 3)
def operators(a, b, n):
    return a + b, a > b, b // 3, b % 4, -b, ~b, b & n, (a > 0) & (b > 0), b**2, a / n, 2.0**a, b << 2


@program(floats(5, 6), floats(5), floats(6), 2)
def powers_and_diagonals(a, x, y, p):
    return np.abs(a) ** p, np.power(np.abs(a), 1.0 / p), np.diag(x) @ a, a @ np.diag(y), np.diag(x) @ a @ np.diag(y), np.eye(5) @ a


@program(floats(5, 6))
def functions(a):
    return np.where(a > 0, a, 0.0), np.where(a > 0, 1, 0), np.clip(a, -0.3, 0.3), np.minimum(a, 0), np.sqrt(np.abs(a))


@program(floats(5, 6), integers(5, 6), np.array([True, False, True, True, False]), floats(5))
def masked_stores(A, b, m, x):
    A[A > 0.5] = 0.5
    A[~(A > 0) & (b > 3)] *= 2
    b[A.T.T < 0] = 7
    x[m] += 1
    x[np.isnan(x) | (x > 1)] = 0
    small = x < 0
    x[small] = -1
    A[A[::-1] < 0] = 2


@program(np.array([True, False, True]), np.array([True, True, False]))
def truth_values(a, b):
    return a & b, a | b, ~a, a ^ b, a.sum(), a.any(), a.all(), np.where(a, b, True)


@program(floats(5, 6, dtype="f4"), integers(5, 6, dtype="u1"))
def mixed_types(a, b):
    return a + b, a * 2, b + 1, a.mean(axis=0), b.sum(axis=1), b.mean(), np.where(b > 4, a, 0.5), (a * b).sum()


# Reductions


@program(floats(5, 6))
def reductions(A):
    return A.sum(), A.sum(axis=0), A.sum(axis=1, keepdims=True), A.mean(), A.mean(axis=(0, 1)), A.max(axis=0), A.min()


@program(integers(5, 6, dtype="i1"))
def reductions_of_integers(A):
    return A.sum(), A.sum(axis=0), A.mean(axis=1), A.prod(axis=1), A.max(), np.any(A > 3, axis=0), np.all(A > -10)


@program(floats(5, 6), integers(4, 7, dtype="u1"), np.array([1.0, np.nan, 3.0, np.nan]))
def places_of_extrema(A, b, c):
    return A.argmax(axis=1), np.argmin(A, 0, keepdims=True), A.argmax(), b.argmin(), b.argmax(-1), c.argmax(), c.argmin()


@program(floats(4, 5, 6))
def moments(A):
    return A.var(), A.std(axis=1), np.var(A, axis=(0, 2), ddof=1), np.std(A, axis=-1, keepdims=True)


@program(floats(4, 5), integers(6))
def running_sums(A, b):
    return np.cumsum(A, axis=1), A.cumsum(axis=0), np.cumsum(A[0]), b.cumsum()


@program(floats(5, 6), floats(5))
def reductions_of_expressions(A, y):
    return ((A.mean(axis=1) - y) ** 2).mean(), np.sqrt(((A - y[:, None]) ** 2).sum()), (A > 0).sum(axis=0)


@program(floats(5, 6))
def reductions_in_loops(A):
    s = 0.0
    for i in range(A.shape[0]):
        if A[i].max() > 0.5:
            s += A[i].sum() * A[i, ::2].mean()
    return s


@program(floats(5), floats(6, 4))
def reductions_into_elements_from_the_end(x, A):
    x[-1] = A.max()
    x[-2] = (A * 2).sum()
    A[-1, -2] = x.sum()


# Products


@program(floats(5, 6), floats(6, 4), floats(6), floats(5))
def products(A, B, x, y):
    return A @ B, A @ x, y @ A, y @ y, A.dot(x), np.outer(x, y), np.inner(y, y), np.dot(A, B), np.vdot(x, x)


@program(floats(4, 5, 6), floats(4, 6, 3), floats(6, 3), floats(6))
def batched_products(A, B, C, x):
    return A @ B, A @ C, A @ x, np.inner(A, B.transpose(0, 2, 1)[0])


@program(floats(4, 5), floats(5, 6), floats(4, 4), floats(3, 4, 5), floats(5))
def einstein(A, B, C, D, x):
    p, q, r, s = np.einsum("ij,jk->ik", A, B), np.einsum("ij,jk", A, B), np.einsum("ii", C), np.einsum("ii->i", C) * 1
    t, u, v = np.einsum("bij,jk->bik", D, B), np.einsum("...j,j->...", D, x), np.einsum("bij -> jb", D) + 0
    return p, q, r, s, t, u, v, np.einsum("ij,jk,kl->il", A, B, B.T @ x[:, None]), np.einsum("i,j->ij", x, x)


@program(1.5, 1.2, floats(7, 9), floats(7, 5), floats(5, 9))
def gemm(alpha, beta, C, A, B):
    C *= beta
    C += alpha * A @ B


@program(integers(4, 5, dtype="i2"), integers(5, 3, dtype="i2"))
def product_of_integers(A, B):
    return A @ B, (A + 1) @ (B * 2)


# Whole kernels


@program(3, floats(9, 11), floats(9, 11))
def jacobi(T, A, B):
    for t in range(T):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])


@program(floats(7, 9))
def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@program(floats(7, 9), floats(9), floats(9))
def layernorm(x, g, b):
    m = x.mean(axis=1)
    v = x.var(axis=1)
    return (x - m[:, None]) / np.sqrt(v[:, None] + 1e-5) * g + b


@program(floats(6, 6))
def elimination(A):
    for k in range(A.shape[0]):
        A[k + 1 :, k] /= A[k, k] + 20
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])


@program(floats(5, 6, 2))
def shapes(A):
    x = A.transpose(1, 2, 0).copy()
    y = np.swapaxes(A, 0, 2) * 1
    z = A[..., 0] + A[..., 1]
    return x, y, z, A[:, None, :, 0] * 2, np.flip(z, 0) * 1, z.T.T + 0, x.size, y.ndim, len(z), np.expand_dims(z, 1) + 0


@program(floats(6, 8), floats(4, 3, 2), 4)
def reshaped(A, B, n):
    C = A.reshape(6, n, 2).transpose(1, 0, 2) * 2
    D = C.reshape(n, -1) + B.reshape(4, -1)[0].sum()
    E = np.reshape(A * 1, (12, 4))
    E[1:] += D.T[:11]
    return D, E.ravel(), B.flatten() * 3, np.ravel(B.transpose(2, 0, 1)) * 1, (A @ E.reshape(8, 6)).reshape(2, 3, 6)


@program(2, floats(5, 8), floats(8, 24), floats(8, 8))
def attention(heads, x, w, out):
    n, d = x.shape
    qkv = (x @ w).reshape(n, 3, heads, d // heads).transpose(1, 2, 0, 3)
    q, k, v = qkv[0], qkv[1], qkv[2]
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(d // heads)
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    return (p @ v).transpose(1, 0, 2).reshape(n, d) @ out


@program(floats(5, 6), floats(3, 6), floats(6), 4)
def joined(A, B, x, n):
    p, q = np.concatenate((A, B)), np.vstack((A, x))
    r, s = np.hstack((x, x * 2)), np.stack((x, x + 1), axis=1)
    return p, q, r, s, np.concatenate((B.T, A.T), axis=1), np.hstack((A.T, B.T)), np.stack((x, x, x))


@program(floats(5, 6), integers(6, 6), floats(6), 4)
def made_of_numbers(A, b, x, n):
    p, q = np.arange(n) * 2, np.arange(1, A.shape[1] + 1) + x
    r, s = np.arange(9, n, -2) + 0, np.eye(n) + np.eye(n, dtype=np.float32)
    t, u = np.tril(A) + 0, np.triu(b, k=1) * 2
    return p, q, r, s, t, u, np.tril(A > 0, -1) | False, np.diag(b) * 1, np.diag(x) + 1, np.arange(n, dtype=np.float64) / 2


@program(floats(5, 6), floats(6))
def rolled(A, x):
    p, q = np.roll(x, 1) - x, np.roll(A, -2, axis=1) + np.roll(A, 1, axis=0)
    return p, q, np.repeat(x, 2) * 1, np.repeat(A, 3, axis=1) + 0


@program(floats(5, 6), floats(6), floats(5))
def rows(A, x, y):
    for row in A:
        row += x
        x -= row * 0.1
    total = 0.0
    for v in y:
        total += v * v
    return total


@program(floats(9), 4)
def time_loop(u, steps):
    un = u.copy()
    for t in range(steps):
        un[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[:] = un
