"""Results whose sizes data decide: the caller gets as many elements of an array as the kernel has counted."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from polyml.runtime.loading import scratch_memory

_MOST_SPARED = 2  # how much larger the memory may be than what is returned of it


def counted(array: np.ndarray, *sizes: int) -> np.ndarray:
    """Returns the first elements of a new array along each dimension: a view of it, or a copy where that takes much less memory.

    sizes: by dimension, how many elements are returned
    """
    if array.shape == sizes:
        return array
    part = array[tuple(map(slice, sizes))]
    is_row = part.flags.c_contiguous and part.nbytes * _MOST_SPARED >= array.nbytes
    return part if is_row else part.copy()


def taken(dtype: np.dtype, address: int, *sizes: int) -> np.ndarray:
    """Returns a new array with the elements of memory that the kernel has allocated, which is given back.

    sizes: by dimension, how many elements there are
    """
    try:
        array = np.empty(sizes, dtype)
        ctypes.memmove(array.ctypes.data, address, array.nbytes)
    finally:
        _release()(address)
    return array


@cache
def _release():
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(scratch_memory.address("polyml_release"))
