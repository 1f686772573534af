"""Generated sparse matrices, and what is computed with them in `benchmarks.sparse`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

ITERATIONS = 20  # of conjugate gradients


@dataclass(frozen=True)
class Rows:
    """Rows are a square sparse matrix as (ptr, col, val), sorted in each row."""

    ptr: np.ndarray
    col: np.ndarray
    val: np.ndarray

    @property
    def size(self) -> int:
        """Returns how many rows there are."""
        return len(self.ptr) - 1

    def product(self, x: np.ndarray) -> np.ndarray:
        """Returns the product with a vector, computed by NumPy."""
        return np.bincount(self.row_of_each, weights=self.val * x[self.col], minlength=self.size)

    @property
    def row_of_each(self) -> np.ndarray:
        """Returns the row of each element."""
        return np.repeat(np.arange(self.size), np.diff(self.ptr))


def _made(lengths: np.ndarray, columns: Callable[[np.ndarray, np.ndarray], np.ndarray], rng: np.random.Generator) -> Rows:
    """Returns a matrix whose rows have these lengths. columns: of (row, number in the row) of each element."""
    ptr = np.concatenate([[0], np.cumsum(lengths)])
    rows = np.repeat(np.arange(len(lengths)), lengths)
    found = columns(rows, np.arange(ptr[-1]) - ptr[rows])
    order = np.argsort(rows * len(lengths) + found, kind="stable")
    return Rows(ptr.astype(np.int32), found[order].astype(np.int32), rng.uniform(0.5, 1.5, len(found)))


def banded(elements: int, width: int, rng: np.random.Generator) -> Rows:
    """Returns a matrix with `width` neighbours of the diagonal in each row."""
    n = elements // width
    return _made(np.full(n, width), lambda row, k: (row + k - width // 2) % n, rng)


def stencil(elements: int, dimensions: int, rng: np.random.Generator) -> Rows:
    """Returns the matrix of differences to the neighbours on a grid that is closed at its ends."""
    side = round((elements / (2 * dimensions + 1)) ** (1 / dimensions))
    n = side**dimensions
    steps = np.array([0, *(sign * side**d for d in range(dimensions) for sign in (-1, 1))])
    return _made(np.full(n, len(steps)), lambda row, k: (row + steps[k]) % n, rng)


def uniform(elements: int, width: int, rng: np.random.Generator) -> Rows:
    """Returns a matrix with `width` elements anywhere in each row."""
    n = elements // width
    return _made(np.full(n, width), lambda row, k: rng.integers(0, n, len(row)), rng)


def ragged(elements: int, width: int, rng: np.random.Generator) -> Rows:
    """Returns a matrix whose rows have up to twice `width` elements anywhere."""
    n = elements // width
    return _made(rng.integers(0, 2 * width + 1, n), lambda row, k: rng.integers(0, n, len(row)), rng)


def power_law(elements: int, order: int, rng: np.random.Generator) -> Rows:
    """Returns a matrix of which few rows have most elements. order: -1: these first; 1: last; 0: in any place."""
    n = elements // 16
    lengths = np.minimum((rng.pareto(1.2, n) + 0.3) * 5, n / 8).astype(int)
    lengths = np.sort(lengths)[::order] if order else lengths
    return _made(lengths, lambda row, k: rng.integers(0, n, len(row)), rng)


def blocks(elements: int, size: int, rng: np.random.Generator) -> Rows:
    """Returns a matrix of four dense blocks in each row of blocks."""
    n = elements // (4 * size) // size * size
    first = rng.integers(0, n // size, (n // size, 4)) * size
    return _made(np.full(n, 4 * size), lambda row, k: first[row // size, k // size] + k % size, rng)


MATRICES: dict[str, tuple[Callable[[int, int, np.random.Generator], Rows], int]] = {
    "banded_5": (banded, 5), "banded_27": (banded, 27), "stencil_2d": (stencil, 2), "stencil_3d": (stencil, 3),
    "uniform_8": (uniform, 8), "uniform_16": (uniform, 16), "uniform_64": (uniform, 64), "ragged_8": (ragged, 8),
    "power_law": (power_law, 0), "power_law_first": (power_law, -1), "blocks_4": (blocks, 4), "blocks_8": (blocks, 8),
}  # fmt: skip


def matrix(name: str, elements: int) -> Rows:
    """Returns a matrix by its name, with about so many elements."""
    make, parameter = MATRICES[name]
    return make(elements, parameter, np.random.default_rng(0))


def positive_definite(rows: Rows) -> Rows:
    """Returns a symmetric matrix with a dominant diagonal in the places of a matrix and its transposed."""
    import scipy.sparse as sparse

    given = sparse.csr_array((rows.val, rows.col, rows.ptr), (rows.size, rows.size))
    both = given + given.T
    made = (both + sparse.diags_array(2 * both.sum(axis=1) + 1)).tocsr()
    made.sort_indices()
    return Rows(made.indptr, made.indices, made.data)


def lower_triangle(rows: Rows) -> Rows:
    """Returns a lower triangular matrix, each row of which ends with its diagonal."""
    import scipy.sparse as sparse

    given = sparse.csr_array((rows.val / 99, rows.col, rows.ptr), (rows.size, rows.size))
    made = (sparse.tril(given, -1) + sparse.eye_array(rows.size)).tocsr()
    made.sort_indices()
    return Rows(made.indptr, made.indices, made.data)


# What is computed, as matrices are written, and as loops


def vector_product(A: Any, x: np.ndarray) -> np.ndarray:
    return A @ x


def loops_of_vector_product(ptr, col, val, x):
    y = np.empty(ptr.shape[0] - 1)
    for i in range(ptr.shape[0] - 1):
        total = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            total += val[k] * x[col[k]]
        y[i] = total
    return y


def loops_of_dense_product(ptr, col, val, x):
    y = np.zeros((ptr.shape[0] - 1, x.shape[1]))
    for i in range(ptr.shape[0] - 1):
        for k in range(ptr[i], ptr[i + 1]):
            value = val[k]
            j = col[k]
            for c in range(x.shape[1]):
                y[i, c] += value * x[j, c]
    return y


def loops_of_triangular_solve(ptr, col, val, b):
    x = np.empty(b.shape[0])
    for i in range(b.shape[0]):
        total = b[i]
        for k in range(ptr[i], ptr[i + 1] - 1):
            total -= val[k] * x[col[k]]
        x[i] = total / val[ptr[i + 1] - 1]
    return x


def triangular_solve(A: Any, b: np.ndarray) -> np.ndarray:
    x = np.empty(b.shape[0])
    for i in range(b.shape[0]):
        total = b[i]
        for k in range(A.indptr[i], A.indptr[i + 1] - 1):
            total -= A.data[k] * x[A.indices[k]]
        x[i] = total / A.data[A.indptr[i + 1] - 1]
    return x


def conjugate_gradients(A: Any, b: np.ndarray) -> np.ndarray:
    x = np.zeros(b.shape[0])
    r = b.copy()
    p = b.copy()
    square = r @ r
    for _ in range(ITERATIONS):
        q = A @ p
        alpha = square / (p @ q)
        x += alpha * p
        r -= alpha * q
        following = r @ r
        p *= following / square
        p += r
        square = following
    return x


def loops_of_conjugate_gradients(ptr, col, val, b):
    n = b.shape[0]
    x = np.zeros(n)
    r = b.copy()
    p = b.copy()
    q = np.empty(n)
    square = np.dot(r, r)
    for _ in range(ITERATIONS):
        for i in range(n):
            total = 0.0
            for k in range(ptr[i], ptr[i + 1]):
                total += val[k] * p[col[k]]
            q[i] = total
        alpha = square / np.dot(p, q)
        x += alpha * p
        r -= alpha * q
        following = np.dot(r, r)
        p *= following / square
        p += r
        square = following
    return x
