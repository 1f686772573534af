"""Products and solves with sparse matrices by MKL's inspector and executor, from its wheel (`pip install mkl`), through ctypes.

https://www.intel.com/content/www/us/en/docs/onemkl/developer-reference-c/2025-2/inspector-executor-sparse-blas-routines.html
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.sparse_matrices import Rows

_PLAIN, _ROW_MAJOR, _BASE_0 = 10, 101, 0  # SPARSE_OPERATION_NON_TRANSPOSE, SPARSE_LAYOUT_ROW_MAJOR, SPARSE_INDEX_BASE_ZERO
_GENERAL, _TRIANGULAR, _LOWER, _NON_UNIT = 20, 23, 40, 50
_CALLS = 1000  # that the inspector is told of


class _Description(ctypes.Structure):
    """A matrix_descr of MKL."""

    _fields_ = [("type", ctypes.c_int), ("mode", ctypes.c_int), ("diag", ctypes.c_int)]


class InspectedMatrix:
    """An InspectedMatrix is a sparse matrix that MKL has inspected for many calls.

    rows: the matrix, with int32 indices
    operation: "product", "columns_N" or "triangular_solve"
    Raises ImportError where MKL is not installed.
    """

    def __init__(self, rows: Rows, operation: str, threads: int):
        self._library, self._rows = _library(threads), rows
        self._handle, triangular = ctypes.c_void_p(), operation == "triangular_solve"
        self._kind = _Description(_TRIANGULAR if triangular else _GENERAL, _LOWER, _NON_UNIT)
        ends = rows.ptr[1:]
        self._kept = rows.ptr, ends, rows.col, rows.val
        size = ctypes.c_int(rows.size)
        pointers = (each.ctypes.data_as(ctypes.c_void_p) for each in self._kept)
        self._ask("mkl_sparse_d_create_csr", ctypes.byref(self._handle), _BASE_0, size, size, *pointers)
        if triangular:
            self._ask("mkl_sparse_set_sv_hint", self._handle, _PLAIN, self._kind, _CALLS)
        elif operation == "product":
            self._ask("mkl_sparse_set_mv_hint", self._handle, _PLAIN, self._kind, _CALLS)
        else:
            count = int(operation.partition("_")[2])
            self._ask("mkl_sparse_set_mm_hint", self._handle, _PLAIN, self._kind, _ROW_MAJOR, count, _CALLS)
        self._ask("mkl_sparse_optimize", self._handle)

    def _ask(self, name: str, *arguments: object) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            raise RuntimeError(f"{name} returned {status}")

    def product(self, x: np.ndarray) -> Callable[[], np.ndarray]:
        """Returns a call that computes the product with a vector or a dense matrix."""
        y = np.empty_like(x)
        given, made = (each.ctypes.data_as(ctypes.c_void_p) for each in (x, y))
        one, zero, columns = ctypes.c_double(1.0), ctypes.c_double(0.0), x.shape[1] if x.ndim > 1 else 0

        def call() -> np.ndarray:
            if columns:
                dense = (_ROW_MAJOR, given, columns, columns)
                self._ask("mkl_sparse_d_mm", _PLAIN, one, self._handle, self._kind, *dense, zero, made, columns)
            else:
                self._ask("mkl_sparse_d_mv", _PLAIN, one, self._handle, self._kind, given, zero, made)
            return y

        return call

    def solution(self, b: np.ndarray) -> Callable[[], np.ndarray]:
        """Returns a call that solves a triangular system."""
        x = np.empty_like(b)
        given, made = (each.ctypes.data_as(ctypes.c_void_p) for each in (b, x))

        def call() -> np.ndarray:
            self._ask("mkl_sparse_d_trsv", _PLAIN, ctypes.c_double(1.0), self._handle, self._kind, given, made)
            return x

        return call


def _library(threads: int) -> ctypes.CDLL:
    os.environ.setdefault("MKL_INTERFACE_LAYER", "LP64")
    found = sorted((Path(sys.prefix) / "lib").glob("libmkl_rt.so*"))
    if not found:
        raise ImportError("MKL is not installed: pip install mkl")
    library = ctypes.CDLL(str(found[0]), mode=ctypes.RTLD_GLOBAL)
    library.MKL_Set_Num_Threads(threads)
    return library
