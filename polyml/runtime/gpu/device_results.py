"""Arrays that kernels return, left on the device where all arrays of the call were there."""

from __future__ import annotations

from typing import Any, cast  # pyopencl and the memory of drivers have no types

import numpy as np

from polyml.runtime.gpu.driver import Queue


def device_result(memory: Any, shape: tuple[int, ...], dtype: np.dtype, queue: Queue) -> object:
    """Returns memory of the device as an array: a pyopencl.array.Array in the call's queue, or for CUDA a CudaResult."""
    if queue.driver.dialect == "opencl":
        from pyopencl import array

        return array.Array(cast(Any, queue.stream), shape, dtype, data=memory)
    return CudaResult(memory, shape, dtype, queue)


class CudaResult:
    """A CudaResult is an array in the memory of a CUDA device, stored row by row, which other libraries take without a copy.

    `cupy.asarray`, `torch.as_tensor` and Numba read its `__cuda_array_interface__`; `np.asarray` copies it to the host.
    """

    def __init__(self, memory: Any, shape: tuple[int, ...], dtype: np.dtype, queue: Queue):
        self.shape, self.dtype = shape, dtype
        self._memory, self._queue = memory, queue

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """The array as other libraries read it: version 3 of the protocol, with the stream in which it is written."""
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (int(self._memory), False),
            "version": 3,
            "strides": None,
            "stream": self._queue.stream or 1,
        }

    def get(self) -> np.ndarray:
        """Returns a copy in the host's memory, once the array is written."""
        found = np.empty(self.shape, self.dtype)
        self._queue.download(self._memory, found)
        return found

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an array on a device is copied to the host")
        return self.get() if dtype is None else self.get().astype(dtype)

    def __repr__(self) -> str:
        return f"CudaResult({self.get()!r})"
