"""complex64 and complex128: pairs of real numbers."""

import numpy as np

from tests.arrays.corpus import complexes, floats, integers, program


@program(complexes(9, 7), complexes(7), floats(7), 2 - 1j)
def arithmetic(A, z, x, c):
    A -= z
    return A * z, A / (z + 3), -A, A**2, A * x, x - A, 1j * x, A + c, A == z, A > z, z**-2, z**1.5, A ** (x + 1j)


@program(complexes(40, dtype="c8"), complexes(40), floats(40), integers(40), floats(40, dtype="f4"), floats(40, dtype="f2"))
def conversions(a, b, x, i, f, h):
    a[1:] += b[1:] * 0.1
    a[:3] = i[:3]
    b[5:9] = x[5:9]
    return (
        a + b,
        a * 2.5,
        a * 2j,
        a * x,
        a + i,
        a * f,
        f * 1j,
        h * 1j,
        i * 1j,
        a.astype(np.complex128),
        b.astype("c8"),
        a != 0,
        b.astype(bool),
    )


@program(complexes(33), complexes(33, dtype="c8"))
def parts(a, b):
    a.real[3:] += b.imag[3:]
    a.imag = 2
    x = b.real
    b.imag[0] = x[1] + x[2]
    x *= 2
    return (
        a[0].real,
        a[1].imag,
        a.real.copy(),
        a.imag * 1,
        np.real(b) + np.imag(a),
        abs(a),
        np.abs(b),
        np.angle(a),
        a.conj(),
        np.conj(b) * b,
        (a * b).imag,
    )


@program(complexes(33), complexes(9, dtype="c8"))
def functions(a, b):
    return np.exp(a), np.sqrt(a), np.log(a), np.sin(a), np.tanh(a), np.arcsin(a), np.sqrt(b), np.exp(b), np.cos(b)


@program(complexes(33), complexes(9, dtype="c8"))
def more_functions(a, b):
    return np.log2(a), np.log10(a), np.log1p(a), np.exp2(a), np.expm1(a), np.reciprocal(a), np.square(a), np.sign(a), np.rint(b * 3)


@program(complexes(30), complexes(30))
def choices(a, b):
    c = np.where(a.real > 0, a, b * 1j)
    c[np.abs(c) > 1] = 0
    return c, np.maximum(a, b), np.minimum(a, b), np.fmax(a, 1), np.where(b == b, 1, a), np.isnan(a), np.isfinite(a / 0)


@program(complexes(6, 30), complexes(6, 30, dtype="c8"))
def reductions(A, B):
    return (
        A.sum(axis=1),
        A.mean(axis=0),
        A.prod(axis=1),
        B.sum(),
        B.mean(axis=1),
        A.std(axis=1),
        B.var(),
        A.max(),
        A.argmin(axis=0),
        A.any(),
        np.all(A),
        np.cumsum(A[0]),
        np.vdot(A, B),
        np.vdot(A[0], A[1]),
    )


@program(complexes(12, 20), complexes(20, 9), floats(20, 9), complexes(12, 20, dtype="c8"))
def sums_of_products(A, B, X, C):
    D = A @ B
    D += 1j
    return D, A @ X, A @ B[:, 0], np.einsum("ij,ij->i", A, C), C @ C.T, C @ C.conj().T, np.outer(A[0], B[:, 0])


@program(complexes(20), 3, 1j)
def element_by_element(a, n, c):
    total = a[0] * 1j
    z = c
    for i in range(n, a.shape[0]):
        a[i] = a[i - 1] * 0.5 + i * c
        z = z * a[i] + 1
        if abs(z) > 2:
            z = z / abs(z)
        if a[i].real < 0:
            total += a[i].conjugate()
    return total, z, z.real, abs(total), z == 1


@program(7, complexes(5), np.complex64(1 - 2j), 2j)
def made_inside(n, a, s, c):
    Z = np.zeros((n, 5), complex)
    O = np.ones(n, dtype=np.complex64)
    F = np.full((2, n), c)
    G = np.full(n, 1 + 2j, "c8")
    E = np.eye(3, dtype="c16")
    Z += a
    Y = np.zeros_like(a)
    H = np.full_like(a, c)
    O[1:] = s
    return Z, O, F, G, E, Y, H, complex(n, 2), complex(3), np.complex64(c), s, s * c, c


@program(
    np.array([0, -0.0, 1, np.inf, np.nan, -np.inf, 3]) + 0j,
    np.array([1j, complex(0, np.inf), complex(np.nan, 0), 2, 0, 1, complex(-3, -0.0)]),
)
def special_values(a, b):
    return (
        a + b,
        a - b,
        a > b,
        a <= b,
        np.maximum(a, b),
        np.fmin(a, b),
        np.isinf(a),
        abs(a),
        np.sign(b),
        -a,
        b.conj(),
        a == 0,
        a / 2,
    )


@program(complexes(8, 8))
def rearranged(A):
    B = A.T.conj()
    C = A[::-1, 1::2] * 1j
    D = A[:, ::3].copy()
    A[1:] = A[:-1]
    return B, C, D + 1, np.concatenate((B, C), axis=1), np.tril(A), np.roll(A, 2, axis=0), A[2] * 2


@program(complexes(16))
def transform(x):
    """A discrete Fourier transform as a sum."""
    n = x.shape[0]
    k = np.arange(n)
    W = np.exp(-2j * np.pi * k[:, None] * k / n)
    return W @ x


@program(complexes(40, 40), 20)
def escape_times(c, steps):
    z = np.zeros_like(c)
    count = np.zeros(c.shape, np.int64)
    for _ in range(steps):
        inside = z.real * z.real + z.imag * z.imag < 4
        z[:] = np.where(inside, z * z + c, z)
        count += inside
    return count
