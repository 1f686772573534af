"""Arrays of other libraries. NumPy believes what `__array_interface__` says of memory; here it is tested first."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import cast

import numpy as np

_MS_ASYNC = 1  # a flag of msync(2): since Linux 2.6.19 it writes nothing, but it fails with ENOMEM where memory is not mapped


def missing_memory(array: np.ndarray) -> str:
    """Returns why an array's elements cannot be where it says, as a sentence; "" if this process has memory there.

    With "" the array may still be wrong: the memory may belong to something else.
    """
    low, high = bounds(array)
    if low == high:
        return ""
    told = f"{array.size:,} elements of {array.itemsize} bytes at {low:#x}"
    if low < 0 or high >= 2**63:
        return f"it says that it has {told}, which is no memory of a process"
    base: object = array.base
    if isinstance(base, (bytes, bytearray, memoryview, np.ndarray)):  # a buffer, of which NumPy does not ask how long it is
        first, last = bounds(np.asarray(memoryview(cast(bytes, base))))
        if low < first or high > last:
            return f"it says that it has {told}, and its buffer has {last - first:,} bytes from {first:#x} on"
    return "" if _is_mapped(low, high) else f"it says that it has {told}, where this process has no such memory"


def bounds(array: np.ndarray) -> tuple[int, int]:
    """Returns the address of the first byte of an array's elements, and the address after the last byte."""
    low = high = array.__array_interface__["data"][0]
    if array.size == 0:
        return low, low
    for extent, stride in zip(array.shape, array.strides):
        reach = (extent - 1) * stride
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high + array.itemsize


def _is_mapped(low: int, high: int) -> bool:
    """Returns whether the addresses from `low` to `high` are mapped in this process; True where the system does not tell."""
    ask, page = _msync(), os.sysconf("SC_PAGE_SIZE")
    if ask is None:
        return True
    start = low - low % page
    return ask(start, high - start, _MS_ASYNC) == 0


@cache
def _msync():
    """Returns the C function msync, which tells whether memory is mapped; None on other systems than Linux, where it might do
    more.
    """
    if sys.platform != "linux":
        return None
    found = ctypes.CDLL(None).msync
    found.argtypes, found.restype = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int), ctypes.c_int
    return found
