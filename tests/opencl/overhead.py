"""What a call on the first OpenCL device costs beside its work:  python -m tests.opencl.overhead

Prints the microseconds until a call returns, with arrays that are on the device, with NumPy arrays, and of pyopencl's own call of a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
import pyopencl as cl
import pyopencl.array

import polyml

_TEXT = (
    "__kernel void k(__global float *B, __global const float *A, long n) { long i = get_global_id(0); if (i < n) B[i] = A[i] * 2; }"
)


@polyml.kernel(target="opencl", fallback="error")
def scaled(A, B):
    for i in range(A.shape[0]):
        B[i] = A[i] * np.float32(2)


def microseconds(call: Callable[[], object], wait: Callable[[], object], repeats: int = 10, calls: int = 200) -> float:
    """Returns how long a call takes until it returns, the least of the means of several runs."""
    least = np.inf
    for _ in range(repeats):
        start = perf_counter()
        for _ in range(calls):
            call()
        least = min(least, (perf_counter() - start) / calls)
        wait()
    return least * 1e6


def main() -> None:
    """Prints the three figures."""
    device = next(device for platform in cl.get_platforms() for device in platform.get_devices())
    queue = cl.CommandQueue(cl.Context([device]))
    A, B = np.ones(1000, np.float32), np.zeros(1000, np.float32)
    a, b = (pyopencl.array.to_device(queue, each) for each in (A, B))
    scaled(a, b)
    plain = cl.Program(queue.context, _TEXT).build().k
    plain.set_scalar_arg_dtypes([None, None, np.int64])
    print(f"arrays on the device {microseconds(lambda: scaled(a, b), queue.finish):8.1f} us")
    print(f"NumPy arrays         {microseconds(lambda: scaled(A, B), queue.finish):8.1f} us")
    print(f"pyopencl itself      {microseconds(lambda: plain(queue, (1024,), (256,), b.data, a.data, 1000), queue.finish):8.1f} us")


if __name__ == "__main__":
    main()
