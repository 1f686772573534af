"""Products of matrices as loops. A case is rows x columns x depth; one number is a square product."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from benchmarks.contractions import onednn
from benchmarks.contractions.problem import Form, Problem, compiled, product_error, torch_library, uniform

SQUARE = (
    "32 48 64 96 100 128 192 256 384 500 509 512 768 1000 1009 1024 1000x1100x1200 1500 2000 2039 2048 3000 4093 4096"
).split()
SKINNY = (
    "4096x32x4096 32x4096x4096 4096x4096x32 1024x64x1024 10000x64x64 64x10000x64 1x4096x4096 4096x1x4096"
).split()  # fmt: skip
LOOPTUNE_SIZES = range(64, 257, 16)  # of m, n and k: the 2,197 shapes of LoopTune (Grubisic et al., 2023)


def product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def matrix_vector(y, A, x):
    for i in range(y.shape[0]):
        for k in range(x.shape[0]):
            y[i] += A[i, k] * x[k]


def vector_matrix(y, x, B):
    for j in range(y.shape[0]):
        for k in range(x.shape[0]):
            y[j] += x[k] * B[k, j]


def looptune_sample(count: int, seed: int) -> list[str]:
    """Returns `count` of LoopTune's shapes, none twice."""
    sizes = len(LOOPTUNE_SIZES)
    numbers = np.random.default_rng(seed).choice(sizes**3, min(count, sizes**3), replace=False)
    points = zip(*np.unravel_index(numbers, (sizes,) * 3))
    return ["x".join(str(LOOPTUNE_SIZES[i]) for i in point) for point in points]


def canonical(case: str) -> str:
    """Returns the case with all three sizes. Raises ValueError where it has neither one nor three."""
    sizes = [int(size) for size in case.split("x")]
    if len(sizes) not in (1, 3) or min(sizes) < 1:
        raise ValueError(f"{case!r} is not rows x columns x depth")
    return "x".join(str(size) for size in (sizes if len(sizes) == 3 else sizes * 3))


def problem(case: str, dtype: str) -> Problem:
    m, n, k = (int(size) for size in case.split("x"))
    operands = _Operands(m, n, k, dtype)
    return Problem(2 * m * n * k, {
        "polyml": operands.polyml, "numpy": operands.numpy, "mkl": operands.mkl, "onednn": operands.onednn,
    })  # fmt: skip


class _Operands:
    """_Operands compute C (m, n) := A (m, k) B (k, n) by each peer, on the same arrays, C made of zeros.

    Where m or n is 1, the peers may also take vectors, and polyml's loops do.
    """

    def __init__(self, m: int, n: int, k: int, dtype: str):
        random = np.random.default_rng(0)
        self.A, self.B, self.C = uniform(random, (m, k), dtype), uniform(random, (k, n), dtype), np.zeros((m, n), dtype)
        self.reference = cache(lambda: self.A.astype("f8") @ self.B.astype("f8"))

    def _forms(self, **calls) -> dict[str, Form]:
        def error():
            return product_error(self.C, self.reference(), self.A.shape[1])

        return {name.replace("_", "-"): Form(call, error, clear=lambda: self.C.fill(0)) for name, call in calls.items()}

    def _vectors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Returns y, the vector and the matrix, as views, where the product is one of a matrix and a vector."""
        A, B, C = self.A, self.B, self.C
        if C.shape[1] == 1:
            return C.reshape(-1), B.reshape(-1), A
        return (C.reshape(-1), A.reshape(-1), B) if C.shape[0] == 1 else None

    def polyml(self, threads: int) -> dict[str, Form]:
        A, B, C = self.A, self.B, self.C
        if C.shape[1] == 1:
            y, x, _ = self._vectors()
            call = compiled(matrix_vector, threads)
            return self._forms(matrix_vector=lambda: call(y, A, x))
        if C.shape[0] == 1:
            y, x, _ = self._vectors()
            call = compiled(vector_matrix, threads)
            return self._forms(vector_matrix=lambda: call(y, x, B))
        call = compiled(product, threads)
        return self._forms(product=lambda: call(C, A, B))

    def numpy(self, threads: int) -> dict[str, Form]:
        A, B, C = self.A, self.B, self.C
        forms = self._forms(matmul=lambda: np.matmul(A, B, out=C))
        if self._vectors():
            y, x, matrix = self._vectors()
            left, right = (matrix, x) if C.shape[1] == 1 else (x, matrix)
            forms |= self._forms(matmul_of_a_vector=lambda: np.matmul(left, right, out=y))
        return forms

    def mkl(self, threads: int) -> dict[str, Form]:
        """Returns the forms of MKL: PyTorch's CPU build calls its gemm and gemv."""
        torch = torch_library(threads)
        A, B, C = map(torch.from_numpy, (self.A, self.B, self.C))
        forms = self._forms(mm=lambda: torch.mm(A, B, out=C))
        if self._vectors():
            y, x, matrix = map(torch.from_numpy, self._vectors())
            matrix = matrix if self.C.shape[1] == 1 else matrix.t()
            forms |= self._forms(mv=lambda: torch.mv(matrix, x, out=y))
        return forms

    def onednn(self, threads: int) -> dict[str, Form]:
        return self._forms(matmul=onednn.matmul(self.A, self.B, self.C))


def in_a_row(shapes: Sequence[tuple[int, int, int]], peer: str, dtype: str, threads: int) -> dict[str, Form]:
    """Returns one form of the peer that computes all these products (rows, columns, depth), one after the other."""
    forms = []
    for m, n, k in shapes:
        forms += getattr(_Operands(m, n, k, dtype), peer)(threads).values()

    def call() -> None:
        for form in forms:
            form.call()

    return {"products": Form(call, lambda: max(f.error() for f in forms), flops=sum(2 * m * n * k for m, n, k in shapes))}
