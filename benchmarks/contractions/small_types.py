"""Products of matrices of small numbers: bytes into int32, bfloat16 numbers into float32. A case is rows x columns x depth.

PyTorch computes them with oneDNN (`torch._int_mm`, `torch.mm`). What is compared is the rate of the same product in float32 too.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from benchmarks.contractions.problem import Form, Problem, compiled, product_error, torch_library, uniform
from benchmarks.peer import PeerUnavailable

CASES = ("256x256x256", "512x512x512", "1024x1024x1024", "2048x2048x2048")
DTYPES = ("float32", "int8", "uint8", "int16", "bfloat16")


def integers(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += np.int32(A[i, k]) * np.int32(B[k, j])


def floats(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += np.float32(A[i, k]) * np.float32(B[k, j])


def problem(case: str, dtype: str) -> Problem:
    m, n, k = (int(size) for size in case.split("x"))
    operands = _Operands(m, n, k, dtype)
    return Problem(2 * m * n * k, {"polyml": operands.polyml, "torch": operands.torch})


class _Operands:
    """_Operands compute C (m, n) := A (m, k) B (k, n) by each peer, on the same arrays, C made of zeros."""

    def __init__(self, m: int, n: int, k: int, dtype: str):
        random, self.dtype = np.random.default_rng(0), dtype
        if dtype in ("float32", "bfloat16"):
            import ml_dtypes

            kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float32
            self.A, self.B, self.C = uniform(random, (m, k), kind), uniform(random, (k, n), kind), np.zeros((m, n), np.float32)
            wanted = cache(lambda: self.A.astype("f8") @ self.B.astype("f8"))
        else:
            limits = np.iinfo(dtype)
            self.A, self.B = (random.integers(limits.min, limits.max + 1, shape).astype(dtype) for shape in ((m, k), (k, n)))
            self.C = np.zeros((m, n), np.int32)
            wanted = cache(lambda: (self.A.astype("f8") @ self.B.astype("f8")).astype(np.int64).astype(np.int32))
        self.reference = wanted

    def _error(self, got: np.ndarray) -> float:
        """Returns how far a result is from the reference, over what rounding allows; integers are exact."""
        if got.dtype == np.int32:
            return 0.0 if np.array_equal(got, self.reference()) else float("inf")
        return product_error(got, self.reference(), self.A.shape[1])

    def polyml(self, threads: int) -> dict[str, Form]:
        call = compiled(integers if self.C.dtype == np.int32 else floats, threads)
        A, B, C = self.A, self.B, self.C
        return {"product": Form(lambda: call(C, A, B), lambda: self._error(C), clear=lambda: C.fill(0))}

    def torch(self, threads: int) -> dict[str, Form]:
        """Returns PyTorch's product. It rounds the result of bfloat16 factors to bfloat16, and is held to that type's bound."""
        torch = torch_library(threads)
        if self.dtype in ("uint8", "int16"):
            raise PeerUnavailable(f"PyTorch has no product of {self.dtype} into int32")
        if self.dtype == "bfloat16":
            A, B = (torch.from_numpy(array.astype(np.float32)).bfloat16() for array in (self.A, self.B))
        else:
            A, B = torch.from_numpy(self.A), torch.from_numpy(self.B)
        kept: list = [None]

        def call():
            kept[0] = torch._int_mm(A, B) if self.dtype == "int8" else torch.mm(A, B)

        def error():
            if self.dtype == "bfloat16":
                scale = 2.0**-8 * np.abs(self.reference()).max()
                return float(np.abs(kept[0].float().numpy() - self.reference()).max()) / scale
            return self._error(kept[0].numpy())

        return {"mm": Form(call, error)}
