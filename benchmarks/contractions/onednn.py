"""oneDNN's matmul primitive on plain row-major arrays, through its C interface.

The library is the one of `pip install onednn-cpu-gomp`, or any libdnnl.so.3 that the system's loader finds (such as
Debian's libdnnl3). Names and numbers are those of oneDNN's dnnl.h and dnnl_types.h, version 3.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from ctypes import POINTER, byref, c_int, c_int64, c_size_t, c_void_p
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.peer import PeerUnavailable

_NAME = "libdnnl.so.3"
_CPU, _DEFAULT_FLAGS, _UNIMPLEMENTED = 1, 1, 3
_TYPES = {"float32": 3}
_SOURCE, _WEIGHTS, _RESULT = 1, 33, 17


class _Argument(ctypes.Structure):
    """This is dnnl_exec_arg_t of oneDNN."""

    _fields_ = [("index", c_int), ("memory", c_void_p)]


_SIGNATURES = {
    "dnnl_engine_create": (POINTER(c_void_p), c_int, c_size_t),
    "dnnl_stream_create": (POINTER(c_void_p), c_void_p, c_int),
    "dnnl_memory_desc_create_with_strides":
        (POINTER(c_void_p), c_int, POINTER(c_int64), c_int, POINTER(c_int64)),
    "dnnl_memory_create": (POINTER(c_void_p), c_void_p, c_void_p, c_void_p),
    "dnnl_matmul_primitive_desc_create":
        (POINTER(c_void_p), c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p),
    "dnnl_primitive_create": (POINTER(c_void_p), c_void_p),
    "dnnl_primitive_execute": (c_void_p, c_void_p, c_int, c_void_p),
    "dnnl_stream_wait": (c_void_p,),
}  # fmt: skip


@cache
def _library() -> ctypes.CDLL:
    for place in (Path(sys.prefix, "lib", _NAME), _NAME):
        try:
            library = ctypes.CDLL(str(place))
        except OSError:
            continue
        for name, types in _SIGNATURES.items():
            getattr(library, name).argtypes = types
        return library
    raise PeerUnavailable("oneDNN is not installed (pip install onednn-cpu-gomp)")


def _make(function: str, *arguments: object) -> c_void_p:
    """Returns what a function of oneDNN puts into its first argument. Raises PeerUnavailable where it has no such code."""
    made = c_void_p()
    status = getattr(_library(), function)(byref(made), *arguments)
    if status == _UNIMPLEMENTED:
        raise PeerUnavailable("oneDNN has no code for it")
    if status:
        raise RuntimeError(f"{function} of oneDNN gave status {status}")
    return made


@cache
def _engine() -> tuple[c_void_p, c_void_p]:
    """Returns the engine of this process and its stream."""
    engine = _make("dnnl_engine_create", _CPU, 0)
    return engine, _make("dnnl_stream_create", engine, _DEFAULT_FLAGS)


def _description(array: np.ndarray) -> c_void_p:
    numbers = c_int64 * array.ndim
    strides = numbers(*(stride // array.itemsize for stride in array.strides))
    return _make("dnnl_memory_desc_create_with_strides", array.ndim, numbers(*array.shape), _TYPES[array.dtype.name], strides)


def matmul(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> Callable[[], None]:
    """Returns a call that sets C (m, n) to A (m, k) B (k, n); the arrays are float32 and must outlive it.

    Raises PeerUnavailable without the library, or for a type that it has no product of.
    """
    library = _library()
    if A.dtype.name not in _TYPES:
        raise PeerUnavailable(f"oneDNN has no product of {A.dtype.name} on CPUs")
    engine, stream = _engine()
    descriptions = [_description(array) for array in (A, B, C)]
    source, weights, result = descriptions
    primitive = _make(
        "dnnl_primitive_create",
        _make("dnnl_matmul_primitive_desc_create", engine, source, weights, None, result, None),
    )
    memories = [
        _make("dnnl_memory_create", description, engine, array.ctypes.data) for description, array in zip(descriptions, (A, B, C))
    ]
    arguments = (_Argument * 3)(*zip((_SOURCE, _WEIGHTS, _RESULT), memories))
    execute, wait = library.dnnl_primitive_execute, library.dnnl_stream_wait

    def call() -> None:
        if execute(primitive, stream, 3, arguments) or wait(stream):
            raise RuntimeError("oneDNN's product failed")

    return call
