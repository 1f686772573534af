"""Sums of products over several loops, for blocks whose threads run positions of merged loops, and sizes that leave parts of tiles."""

import numpy as np


def convolution(y, x, w):
    for n in range(y.shape[0]):
        for f in range(y.shape[1]):
            for i in range(y.shape[2]):
                for j in range(y.shape[3]):
                    y[n, f, i, j] = 0
                    for c in range(w.shape[1]):
                        for p in range(w.shape[2]):
                            for q in range(w.shape[3]):
                                y[n, f, i, j] += x[n, c, 2 * i + p, j + q] * w[f, c, p, q]


def convolution_and_more(y, x, w, b):
    """With a sum that begins elsewhere than at 0, and goes on behind the loops."""
    for n in range(y.shape[0]):
        for f in range(y.shape[1]):
            for i in range(y.shape[2]):
                for j in range(y.shape[3]):
                    y[n, f, i, j] = b[f] * 2 + i
                    for c in range(w.shape[1]):
                        for p in range(w.shape[2]):
                            for q in range(w.shape[3]):
                                y[n, f, i, j] += x[n, c, i + p, j + q] * w[f, c, p, q]
                    y[n, f, i, j] = max(y[n, f, i, j], 0) + b[f]


def contraction(C, A, B):
    for a in range(C.shape[0]):
        for b in range(C.shape[1]):
            for c in range(C.shape[2]):
                for d in range(A.shape[2]):
                    for e in range(A.shape[3]):
                        C[a, b, c] += A[a, b, d, e] * B[d, e, c]


def reversed_inside(C, A, B):
    """Loops from elsewhere than 0, subscripts that fall, and an axis of the grid along which all operands move."""
    for z in range(C.shape[0]):
        for a in range(1, C.shape[1]):
            for b in range(C.shape[2]):
                for c in range(2, C.shape[3] - 1):
                    for d in range(1, A.shape[3] - 1):
                        C[z, a, b, c] += A[z, a, b, A.shape[3] - 1 - d] * B[z, c, d]


def greatest(C, A, B):
    for a in range(C.shape[0]):
        for b in range(C.shape[1]):
            for c in range(C.shape[2]):
                for d in range(A.shape[2]):
                    C[a, b, c] = max(C[a, b, c], A[a, b, d] + B[c, d])


def _convolved(n, f, c, h, w, p, q):
    return (n, f, h, w), (n, c, 2 * (h - 1) + p, w - 1 + q), (f, c, p, q)


SUMS = {
    "convolution": (convolution, [_convolved(*each) for each in ((2, 5, 3, 5, 7, 3, 3), (1, 17, 17, 3, 6, 1, 1), (2, 33, 4, 4, 4, 3, 2), (1, 1, 0, 4, 4, 1, 1))]),
    "convolution_and_more": (convolution_and_more, [(*_convolved(*each), (each[1],)) for each in ((2, 5, 3, 5, 7, 3, 3), (1, 3, 0, 2, 2, 1, 1))]),
    "contraction": (contraction, [((a, b, c), (a, b, d, e), (d, e, c)) for a, b, c, d, e in ((3, 5, 40, 2, 3), (2, 9, 33, 5, 5), (1, 1, 1, 1, 1), (4, 4, 32, 0, 3))]),
    "reversed_inside": (reversed_inside, [((2, 4, 6, 12), (2, 4, 6, 9), (2, 12, 9)), ((1, 2, 1, 4), (1, 2, 1, 3), (1, 4, 3))]),
    "greatest": (greatest, [((3, 5, 37), (3, 5, 18), (37, 18)), ((2, 2, 3), (2, 2, 1), (3, 1))]),
}  # fmt: skip


def arguments(shapes, dtype=np.float32):
    """Small integers, whose sums are exact."""
    rng = np.random.default_rng(1)
    return [rng.integers(-9, 10, shape).astype(dtype) for shape in shapes]
