"""Products of matrices by cuBLAS, NVIDIA's library, through ctypes.

The numbers below are those of cublas_api.h and library_types.h, which NVIDIA keeps from version to version.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any  # functions of a library, which ctypes types by name

from polyml.dtypes import BF16, F16, F32, F64, DType
from polyml.errors import ConfigError
from polyml.runtime.gpu.cuda.api import CudaApi, CudaFailure
from polyml.runtime.gpu.driver import Queue, Start
from polyml.runtime.gpu.host.matrices import Matrix, MatrixCall

Watched = Callable[[str], AbstractContextManager[None]]  # tells errors in a `with` block; takes what is done in it

VERSIONS = (13, 12, 11)  # of the library, which its file has in its name
TYPES = {F32: 0, F64: 1, F16: 2, BF16: 14}  # cudaDataType_t
COMPUTE = {F32: 68, F64: 70, F16: 68, BF16: 68}  # cublasComputeType_t: CUBLAS_COMPUTE_32F and _64F, by the type of the result
FAST_TF32 = 77  # CUBLAS_COMPUTE_32F_FAST_TF32
NOT_TRANSPOSED, TRANSPOSED = 0, 1  # cublasOperation_t
DEFAULT_ALGORITHM = -1  # cublasGemmAlgo_t
NO_MEMORY = 3  # CUBLAS_STATUS_ALLOC_FAILED
_STATUS = {1: "it is not initialised", 3: "it has too little memory", 7: "a value is not valid", 8: "the device is too old",
           13: "the device failed", 14: "it failed", 15: "it has no such product"}  # fmt: skip
_NUMBER = {F32: ctypes.c_float, F64: ctypes.c_double, F16: ctypes.c_float, BF16: ctypes.c_float}
_INSTALL = "pip install nvidia-cublas, or put libcublas of the CUDA toolkit on the library path"


class Cublas:
    """A Cublas is cuBLAS on one device, in the context of its driver."""

    def __init__(self, api: CudaApi, watched: Watched, library: ctypes.CDLL):
        """Raises CudaFailure where the library does not work on the device."""
        self._api, self._watched, self._library, self._own = api, watched, library, threading.Lock()
        self._handle = ctypes.c_void_p()
        with api.current():
            _check(library.cublasCreate_v2(ctypes.byref(self._handle)), "cublasCreate")

    def product(self, call: MatrixCall, types: tuple[DType, DType], scales: tuple[float, float], tf32: bool) -> Start:
        """Returns the function that starts a product: it takes a queue, no blocks, and the memory of the left and the right operand and of
        the result.

        types: of the elements of the operands and of the result; sums are in the latter, or in float32 for one of 16 bits.
        scales: by what the product is multiplied, and the result before it is added.
        tf32: whether operands of float32 may be rounded to 11 bits.
        """
        (operand, result), (alpha, beta) = types, map(_NUMBER[types[1]], scales)
        compute = FAST_TF32 if tf32 else COMPUTE[result]

        def started(queue: Queue, blocks: Sequence[int], arguments: Sequence[Any]) -> None:
            stream: Any = queue.key  # the number of a stream of CUDA
            left, right, out = (
                int(memory) + each.first * kind.size_bytes
                for memory, each, kind in zip(arguments, (call.left, call.right, call.result), (operand, operand, result))
            )
            with self._watched("a product by cuBLAS"), self._api.current(), self._own:
                library = self._library
                _check(library.cublasSetStream_v2(self._handle, ctypes.c_void_p(stream or 0)), "cublasSetStream")
                _check(self._started(call, (operand, result, compute), (alpha, beta), (left, right, out)), "a product")

        return started

    def _started(
        self, call: MatrixCall, types: tuple[DType, DType, int], scales: tuple[Any, Any], addresses: tuple[int, int, int]
    ) -> int:
        """Starts a product, and returns the status of cuBLAS.

        types: of the operands and of the result, and the number of that in which it computes. scales: alpha and beta. addresses: of the first elements.
        """
        operand, result = (TYPES[each] for each in types[:2])
        alpha, beta = map(ctypes.byref, scales)
        sides = (call.left, call.right)
        head = (self._handle, *map(_operation, sides), call.rows, call.columns, call.depth, alpha)
        tail = (types[2], DEFAULT_ALGORITHM)
        several = call.batch > 1

        def matrix(address: int, each: Matrix, kind: int) -> Iterator[Any]:
            yield from (ctypes.c_void_p(address), kind, each.leading)
            if several:
                yield ctypes.c_longlong(each.stride)

        left, right = (matrix(at, each, operand) for at, each in zip(addresses, sides))
        out = matrix(addresses[2], call.result, result)
        if several:
            return self._library.cublasGemmStridedBatchedEx(*head, *left, *right, beta, *out, call.batch, *tail)
        return self._library.cublasGemmEx(*head, *left, *right, beta, *out, *tail)


def opened(api: CudaApi, watched: Watched) -> Cublas:
    """Returns cuBLAS on a device. Raises ConfigError where the library is not there, CudaFailure where it does not work."""
    for path in _places():
        with contextlib.suppress(OSError):
            return Cublas(api, watched, ctypes.CDLL(path))
    raise ConfigError("libraries=True needs cuBLAS", notes=[_INSTALL])


def _places() -> Iterator[str]:
    """Yields names and paths under which the library may be: one that is loaded already or on the library path, those of NVIDIA's packages for
    Python, and the toolkit's.
    """
    names = [f"libcublas.so.{version}" for version in VERSIONS]
    yield from names
    package = importlib.util.find_spec("nvidia")
    for folder in (package.submodule_search_locations or ()) if package else ():
        yield from (str(path) for name in names for path in sorted(Path(folder).glob(f"*/lib/{name}")))
    yield from (str(Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "lib64", name)) for name in names)


def _operation(matrix: Matrix) -> int:
    return TRANSPOSED if matrix.transposed else NOT_TRANSPOSED


def _check(status: int, what: str) -> None:
    """Raises CudaFailure for a status of cuBLAS that is not success. what: was called."""
    if status:
        raise CudaFailure(f"{what}: cuBLAS says {status}, {_STATUS.get(status, 'an error')}", status == NO_MEMORY)
