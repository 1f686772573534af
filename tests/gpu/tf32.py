"""Products of float32 whose operands are rounded to tf32, 11 bits, and what NumPy computes in their place."""

import numpy as np

MANTISSA = 13  # bits of float32 that tf32 has not


def rounded(values):
    """The float32 numbers to the nearest numbers of 11 bits, ties away from zero, by arithmetic on their parts."""
    wide = np.asarray(values, np.float64)
    parts, exponents = np.frexp(np.where(np.isfinite(wide), wide, 0.0))
    least = np.maximum(exponents - 11, -126 - 10)  # the exponent of the last bit: of subnormal numbers always the same
    units = np.ldexp(parts, exponents - least)
    nearest = np.ldexp(np.copysign(np.floor(np.abs(units) + 0.5), units), least)
    with np.errstate(over="ignore"):
        return np.where(np.isfinite(wide), nearest, wide).astype(np.float32)


def product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def left_transposed(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[0]):
                C[i, j] += A[k, i] * B[k, j]


def right_transposed(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += B[j, k] * A[i, k]


def both_transposed(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[0]):
                C[i, j] += A[k, i] * B[j, k]


def batched(C, A, B):
    for b in range(C.shape[0]):
        for i in range(C.shape[1]):
            for j in range(C.shape[2]):
                for k in range(A.shape[2]):
                    C[b, i, j] += A[b, i, k] * B[b, k, j]


def layer(C, A, B):
    for b in range(C.shape[0]):
        for i in range(C.shape[1]):
            for j in range(C.shape[2]):
                C[b, i, j] = 0
                for k in range(A.shape[2]):
                    C[b, i, j] += A[b, i, k] * B[k, j]


# by name: the kernel, the shapes of A and B for n, m and k, and the axes of the sum
PRODUCTS = {
    "product": (product, ("nk", "km"), "ik,kj->ij"),
    "left_transposed": (left_transposed, ("kn", "km"), "ki,kj->ij"),
    "right_transposed": (right_transposed, ("nk", "mk"), "ik,jk->ij"),
    "both_transposed": (both_transposed, ("kn", "mk"), "ki,jk->ij"),
}


def operands(name, n, m, k, rng):
    """A and B with numbers from a normal distribution, in the shapes of one of PRODUCTS."""
    sizes = {"n": n, "m": m, "k": k}
    return [rng.standard_normal([sizes[each] for each in shape]).astype(np.float32) for shape in PRODUCTS[name][1]]
