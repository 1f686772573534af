"""Calls on a CUDA device, each a function that raises where it is wrong:  python -m tests.runtime.gpu.cuda.calls LIBRARY NAME

`test_driver.py` runs them in processes whose CUDA driver is the emulated one. LIBRARY is cuda-python or pycuda.
"""

from __future__ import annotations

import sys

import numpy as np

import polyml
from polyml.errors import DeviceError, PolymlError
from polyml.runtime.gpu import call
from polyml.runtime.gpu.cuda.driver import open_device
from tests.opencl.programs import array_programs, polybench
from tests.runtime.gpu.test_device_arrays import Tensor

LIBRARY, NAME = sys.argv[1:3] if __name__ == "__main__" else ("", "")
A = np.arange(100.0, dtype=np.float32)


def on_device(function):
    return polyml.kernel(function, target=polyml.Target.cuda(library=LIBRARY), fallback="error", cache=False)


@on_device
def scaled(A, B, by):
    for i in range(A.shape[0]):
        B[i] = A[i] * by


@on_device
def twice(A, B):
    return A * np.float32(2) + B


FACTOR = 1.0


@on_device
def by_factor(A, B):
    for i in range(A.shape[0]):
        B[i] = A[i] * np.float32(FACTOR)


class OnDevice:
    """An array in the memory of the device, as CuPy's are. first: where it begins, in elements of its memory."""

    def __init__(self, array, first=0, stream=None):
        device = open_device("", LIBRARY)
        self.memory, self.queue, self.array = device.allocate(array.nbytes + first * array.itemsize), device.queue(), array
        self.address = int(self.memory) + first * array.itemsize
        self.queue.upload(self.address, np.ascontiguousarray(array))
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "data": (self.address, False), "version": 3, "stream": stream,
        }  # fmt: skip

    def get(self):
        found = np.empty_like(self.array)
        self.queue.download(self.address, found)
        return found


def programs() -> None:
    """Kernels of PolyBench and array programs compute what their references do."""
    target = polyml.Target.cuda(library=LIBRARY)
    outcomes = [*polybench(("gemm", "jacobi_2d", "lu"), target=target), *array_programs(("softmax",), target=target)]
    assert not any(each.problem or each.refused for each in outcomes), outcomes


def arrays() -> None:
    """Arrays of __cuda_array_interface__ and DLPack, at any address, mixed with NumPy's."""
    for first in (0, 1, 3, 4):
        a, b = OnDevice(A, first), OnDevice(np.zeros_like(A), 5 - first)
        scaled(a, b, np.float32(3))
        assert np.array_equal(b.get(), A * 3) and scaled.compiled
    B = np.zeros_like(A)
    scaled(a, B, np.float32(4))
    assert np.array_equal(B, A * 4)
    made = twice(a, b)
    assert made.__cuda_array_interface__["shape"] == (100,) and np.array_equal(np.asarray(made), A * 5)
    assert np.array_equal(np.asarray(twice(made, made)), A * 15) and type(twice(a, A)) is np.ndarray
    handed = Tensor(A)
    handed.whole.tensor.data = a.address
    scaled(handed, b, np.float32(5))
    assert np.array_equal(b.get(), A * 5) and handed.streams == [1]
    try:
        scaled(a, a, np.float32(1))
    except PolymlError as refused:
        assert "`B` and `A` overlap" in str(refused)
    else:
        raise AssertionError("arrays that overlap were taken")


def repeated() -> None:
    """A call like an earlier one starts its launches without tests, on what its arrays hold now; any other call is tested."""
    global FACTOR
    a, b, c = OnDevice(A), OnDevice(np.zeros_like(A)), OnDevice(np.ones_like(A))
    scaled(a, b, np.float32(3))
    tested, call.run = call.run, None
    a.queue.upload(a.address, A + 1)
    scaled(a, b, np.float32(3))
    assert np.array_equal(b.get(), (A + 1) * 3)
    call.run = tested
    for other in (np.float32(0.0), np.float32(-0.0)):
        scaled(a, b, other)
        assert np.array_equal(np.signbit(b.get()), np.full(100, np.signbit(other)))
    scaled(c, b, np.float32(3))
    assert np.array_equal(b.get(), np.full(100, 3, np.float32))
    for factor in (2.0, 2.0, 5.0):
        FACTOR = factor
        by_factor(a, b)
        assert np.array_equal(b.get(), (A + 1) * np.float32(factor))
    c.__cuda_array_interface__ |= {"typestr": "<i4"}
    scaled(c, b, np.float32(3))
    assert np.array_equal(b.get(), np.full(100, np.float32(1).view(np.int32) * np.float32(3)))
    c.__cuda_array_interface__ |= {"data": (c.address, True)}
    try:
        scaled(a, c, np.float32(3))
    except PolymlError as refused:
        assert "read-only" in refused.message
    else:
        raise AssertionError("a read-only array was written")
    b.__cuda_array_interface__ |= {"shape": (50,)}
    try:
        scaled(a, b, np.float32(3))
    except IndexError:
        pass
    else:
        raise AssertionError("an array was written beyond its end")


def streams() -> None:
    """Calls run in streams of the caller's, and other streams wait for them."""
    a, b = OnDevice(A), OnDevice(np.zeros_like(A))
    if LIBRARY == "pycuda":
        import pycuda.driver

        open_device("", LIBRARY).api._context.push()
        one = pycuda.driver.Stream()
    else:
        from cuda.bindings import driver

        driver.cuCtxSetCurrent(open_device("", LIBRARY).api._context)
        one = int(driver.cuStreamCreate(1)[1])
        other = int(driver.cuStreamCreate(1)[1])
        c = OnDevice(np.zeros_like(A), stream=other)
        scaled.on(one)(a, c, np.float32(2))
        scaled(c, b, np.float32(2))  # in the stream of c
        assert np.array_equal(b.get(), A * 4)
    scaled.on(one)(a, b, np.float32(3))
    one.synchronize() if LIBRARY == "pycuda" else driver.cuStreamSynchronize(one)
    assert np.array_equal(b.get(), A * 3)
    for wrong in ("a stream", object()):
        try:
            scaled.on(wrong)(a, b, np.float32(1))
        except polyml.ConfigError as refused:
            assert "a stream of CUDA is expected" in str(refused)
        else:
            raise AssertionError("what is no stream was taken")


def memory() -> None:
    """Too little memory is an error, and leaves arrays as they were and the device in order."""
    B = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (2**38,), (0,))
    try:
        twice(B, B)
    except polyml.PolymlMemoryError as refused:
        assert "has too little memory left" in str(refused), refused
    else:
        raise AssertionError("there is no memory for it")
    found = np.zeros_like(A)
    scaled(A, found, np.float32(2))
    assert np.array_equal(found, A * 2)


def gone() -> None:
    """An access that is illegal is an error, then and later, and NumPy arrays are as they were."""
    a = OnDevice(A)
    a.__cuda_array_interface__["data"] = (16, False)  # no memory of the device
    found = np.full_like(A, 7)
    for expected in ("start a new one", "does nothing more in this process"):
        try:
            scaled(a, found, np.float32(2))
        except DeviceError as failed:
            assert expected in str(failed), failed
        else:
            raise AssertionError("the address was taken")
        assert (found == 7).all()


if __name__ == "__main__":
    globals()[NAME]()
    print("right")
