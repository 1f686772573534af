"""Small kernels with all kinds of dependences, and arguments for them."""

import numpy as np

from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.pipeline.stages import extract


def scop_of(function, arguments):
    """The SCoP of a function for the types of its arguments."""
    return extract(infer(parse(function), tuple(arg_type(value, name) for name, value in arguments.items())))


def matmul(alpha, beta, C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] *= beta
        for k in range(A.shape[1]):
            for j in range(C.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


def prefix_sum(A):
    for i in range(1, A.shape[0]):
        A[i] = A[i] + A[i - 1]


def backwards(A):
    for i in range(A.shape[0] - 2, -1, -1):
        A[i] = A[i] - 3 * A[i + 1]


def triangle(A, x):
    for i in range(A.shape[0]):
        for j in range(i):
            x[i] -= A[i, j] * x[j]
        x[i] = x[i] * 2 + A[i, i]


def stencil(steps, A, B):
    for t in range(steps):
        for i in range(1, A.shape[0] - 1):
            B[i] = A[i - 1] + A[i] + A[i + 1]
        for i in range(1, A.shape[0] - 1):
            A[i] = B[i - 1] - B[i] + B[i + 1]


def in_place(A):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            A[i, j] = A[i - 1, j] + A[i, j - 1] - A[i, j + 1] - A[i + 1, j]


def scalars(A):
    s = A[0]
    for i in range(A.shape[0]):
        t = A[i] * 2
        if i % 3 == 1:
            s = s + t
        A[i] = s - t
    return s


def cyclic(A, B):
    n = A.shape[0]
    for i in range(n):
        for j in range(0, n, 2):
            if j < i or j > 3:
                A[(i + j) % 3] += B[i - 2, j] * (j // 2)


def chosen(A, B):
    best = np.zeros(A.shape[0], dtype=np.int64)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] > best[i]:
                best[i] = A[i, j]
                B[i] = j
    return best, B


SAMPLES = (matmul, prefix_sum, backwards, triangle, stencil, in_place, scalars, cyclic, chosen)


def arguments_for(sample, n, seed=0):
    """Integer arguments, so that every order that keeps the dependences gives exactly the same; n: about the sizes."""
    rng = np.random.default_rng([seed, n])

    def ints(*shape):
        return rng.integers(-99, 99, shape)

    made = {
        matmul: lambda: {"alpha": 3, "beta": -2, "C": ints(n, n + 1), "A": ints(n, n + 2), "B": ints(n + 2, n + 1)},
        prefix_sum: lambda: {"A": ints(n)},
        backwards: lambda: {"A": ints(n)},
        triangle: lambda: {"A": ints(n, n), "x": ints(n)},
        stencil: lambda: {"steps": n // 2, "A": ints(n), "B": ints(n)},
        in_place: lambda: {"A": ints(n, n + 1)},
        scalars: lambda: {"A": ints(n)},
        cyclic: lambda: {"A": ints(n), "B": ints(n, n)},
        chosen: lambda: {"A": ints(n, n + 1), "B": ints(n)},
    }
    return made[sample]()
