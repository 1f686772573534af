"""DLPack: how libraries hand over arrays on devices, as capsules around a C structure (dlpack.h, versions 0.8 and 1.0)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any  # objects of other libraries

import numpy as np

from polyml.dtypes import BF16
from polyml.numpy_dtypes import numpy_dtype

CUDA_DEVICES = (2, 13)  # kDLCUDA, kDLCUDAManaged
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_BFLOAT = 4
_READ_ONLY = 1  # a flag of version 1.0


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


@dataclass(frozen=True)
class Handed:
    """A Handed is what a library says of an array that it hands over.

    strides: in elements; None: the array is stored row by row.
    address: of the first element.
    device: the number of the device.
    capsule: keeps the array alive.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype
    address: int
    device: int
    writeable: bool
    capsule: object


def read(original: Any, stream: int) -> Handed:
    """Returns what an object with `__dlpack__` says of its array, which it makes ready for use in a CUDA stream.

    stream: the stream's handle, 1 for the default stream.
    Raises ValueError for a capsule that is not DLPack's, and what the object raises.
    """
    try:
        capsule = original.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # of a library older than version 1.0
        capsule = original.__dlpack__(stream=stream)
    if _is_valid(capsule, b"dltensor_versioned"):
        whole = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if whole.major != 1:
            raise ValueError(f"version {whole.major} of DLPack is not known")
        return _handed(whole.tensor, not whole.flags & _READ_ONLY, capsule)
    return _handed(_Tensor.from_address(_pointer(capsule, b"dltensor")), True, capsule)


def _handed(tensor: _Tensor, is_writeable: bool, capsule: object) -> Handed:
    shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
    strides = tuple(tensor.strides[k] for k in range(tensor.ndim)) if tensor.strides else None
    if tensor.lanes != 1:
        raise ValueError(f"its elements are vectors of {tensor.lanes}")
    if tensor.code == _BFLOAT and tensor.bits == BF16.bits:
        dtype = numpy_dtype(BF16)
    else:
        dtype = np.dtype("bool" if tensor.code == 6 else f"{_KINDS[tensor.code]}{tensor.bits // 8}")
    address = (tensor.data or 0) + tensor.byte_offset
    return Handed(shape, strides, dtype, address, tensor.device_id, is_writeable, capsule)


def _is_valid(capsule: object, name: bytes) -> bool:
    return bool(_function("PyCapsule_IsValid", ctypes.c_int)(capsule, name))


def _pointer(capsule: object, name: bytes) -> int:
    """Returns the address in a capsule of this name. Raises ValueError for another object."""
    return _function("PyCapsule_GetPointer", ctypes.c_void_p)(capsule, name)


def _function(name: str, result: Any) -> Any:
    found = ctypes.pythonapi[name]
    found.argtypes, found.restype = (ctypes.py_object, ctypes.c_char_p), result
    return found
