"""NumPy arrays in memory that dead arrays and ended calls gave back, for the results of kernels."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from polyml.runtime.loading import scratch_memory

_METH_FASTCALL = 0x80
_SET_HANDLER = 304  # PyDataMem_SetHandler's place in the table of NumPy's C API, since NumPy 1.22
_NAME, _CAPSULE_NAME = b"polyml", b"mem_handler"
_limit = [scratch_memory.KEPT_BYTES]


class _Handler(ctypes.Structure):
    """A _Handler is NumPy's PyDataMem_Handler, version 1: the functions by which arrays get and give back their data."""

    _fields_ = [
        ("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("context", ctypes.c_void_p), ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p), ("realloc", ctypes.c_void_p), ("free", ctypes.c_void_p),
    ]  # fmt: skip


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    ]  # fmt: skip


@cache
def empty() -> Callable[[tuple[int, ...], np.dtype], np.ndarray] | None:
    """Returns a function that does what np.empty does, with data at a multiple of 64 in memory of `scratch_memory`.

    None where this interpreter or this NumPy have not the C API that it needs.
    """
    if sys.implementation.name != "cpython":
        return None
    try:
        made = _made()
        probe = made((3, 5), np.dtype(np.float64))
        ours = np._core.multiarray.get_handler_name(probe)  # type: ignore[attr-defined]
        others = np._core.multiarray.get_handler_name(np.empty(3))  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return None
    return made if ours == _NAME.decode() != others else None


def kept_bytes() -> int:
    """Returns how many bytes are at hand for the next arrays: those that were given back, and are not the system's."""
    return _function("polyml_arrays_kept", ctypes.c_int64)()


def keep_at_most(size_bytes: int) -> None:
    """Keeps at most so many bytes at hand from now on; everything goes back to the system where more are."""
    if size_bytes != _limit[0]:
        _limit[0] = size_bytes
        _function("polyml_arrays_keep_at_most", None, ctypes.c_int64)(size_bytes)


def release_memory() -> int:
    """Gives the system the memory that dead results and ended calls left at hand for the next ones, and returns how many bytes that were.

    The setting `kept_memory_mb` says how many there may be.

    >>> import polyml
    >>> polyml.release_memory() >= 0, polyml.release_memory()
    (True, 0)
    """
    return _function("polyml_give_back", ctypes.c_int64)()


@cache
def _function(symbol: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    return ctypes.CFUNCTYPE(result, *arguments)(scratch_memory.code().address(symbol))


def _made() -> Callable[[tuple[int, ...], np.dtype], np.ndarray]:
    code = scratch_memory.code()
    at = {name: code.address(f"polyml_array_{name}") for name in ("malloc", "calloc", "realloc", "free", "empty")}
    handler = _Handler(_NAME, 1, None, at["malloc"], at["calloc"], at["realloc"], at["free"])
    capsule = _capsule(ctypes.addressof(handler), _CAPSULE_NAME)
    method = _MethodDef(b"empty", at["empty"], _METH_FASTCALL, None)
    for kept in (code, handler, capsule, method, _CAPSULE_NAME):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))  # arrays may die at the very end, after this module
    use = _function("polyml_arrays_use", None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    use(_set_handler(), id(capsule), id(np.empty))
    os.register_at_fork(after_in_child=_function("polyml_arrays_forked", None))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    return new(ctypes.addressof(method), None, None)


def _capsule(pointer: int, name: bytes) -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(pointer, name, None)


def _set_handler() -> int:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = pointer(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    return (ctypes.c_void_p * (_SET_HANDLER + 1)).from_address(table)[_SET_HANDLER] or 0
