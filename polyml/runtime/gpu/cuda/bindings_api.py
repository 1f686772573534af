"""CUDA's driver through NVIDIA's cuda.bindings."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator, Sequence
from typing import Any  # cuda.bindings has no types

import numpy as np

from polyml.errors import ConfigError
from polyml.runtime.gpu.cuda.api import CudaFailure, Stream

_TYPES = {
    "P": ctypes.c_void_p, "q": ctypes.c_int64, "Q": ctypes.c_uint64, "i": ctypes.c_int32, "I": ctypes.c_uint32, "h": ctypes.c_int16,
    "H": ctypes.c_uint16, "b": ctypes.c_int8, "B": ctypes.c_uint8, "f": ctypes.c_float, "d": ctypes.c_double,
}  # fmt: skip
_OUT_OF_MEMORY = 2
_MOST_THREADS, _SHARED_BYTES = 0, 1  # attributes of a function
_NO_TIMING = 2  # a flag of events


class BindingsApi:
    """A BindingsApi is one device in one context, through cuda.bindings; see `api.CudaApi`."""

    def __init__(self, cuda: Any, device: Any, context: Any):
        self._cuda, self._context = cuda, context
        self.name = _ok(cuda, cuda.cuDeviceGetName(128, device)).split(b"\0")[0].decode()
        attributes = cuda.CUdevice_attribute
        major, minor = (
            _ok(cuda, cuda.cuDeviceGetAttribute(each, device))
            for each in (
                attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            )
        )
        self.capability = major, minor
        self.memory_bytes = _ok(cuda, cuda.cuDeviceTotalMem(device))
        self.version = _ok(cuda, cuda.cuDriverGetVersion())

    def load(self, image: bytes) -> Any:
        """Returns a module of machine code."""
        return self._called(self._cuda.cuModuleLoadData, image)

    def function(self, module: Any, name: str, parameters: str, shared_bytes: int) -> Any:
        """Returns a kernel of a module, with the types of its parameters and what its launches ask for."""
        own = self._called(self._cuda.cuModuleGetFunction, module, name.encode())
        if shared_bytes:
            most = self._cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._called(self._cuda.cuFuncSetAttribute, own, most, shared_bytes)
        return own, tuple(_TYPES[each] for each in parameters), shared_bytes

    def threads_and_shared(self, function: Any) -> tuple[int, int]:
        """Returns how many threads a block of a kernel may have, and how many bytes of shared memory it takes."""
        attribute = self._cuda.CUfunction_attribute
        most, shared = (
            self._called(self._cuda.cuFuncGetAttribute, attribute(each), function[0]) for each in (_MOST_THREADS, _SHARED_BYTES)
        )
        return most, shared

    def allocate(self, size_bytes: int) -> BindingsMemory:
        """Returns new memory."""
        return BindingsMemory(self, int(self._called(self._cuda.cuMemAlloc, size_bytes)))

    def free(self, address: int) -> None:
        """Gives memory back; what fails is left, since the context may be gone."""
        with contextlib.suppress(CudaFailure):
            self._called(self._cuda.cuMemFree, address)

    def upload(self, address: int, array: np.ndarray, stream: Stream) -> None:
        """Copies an array to the device. The array may change afterwards."""
        self._called(self._cuda.cuMemcpyHtoDAsync, address, array.ctypes.data, array.nbytes, _handle(stream))

    def download(self, array: np.ndarray, address: int, stream: Stream) -> None:
        """Copies memory of the device to an array, and waits for it."""
        self._called(self._cuda.cuMemcpyDtoHAsync, array.ctypes.data, address, array.nbytes, _handle(stream))
        self.finish(stream)

    def copy(self, target: int, source: int, size_bytes: int, stream: Stream) -> None:
        """Starts a copy from one place of the device to another."""
        self._called(self._cuda.cuMemcpyDtoDAsync, target, source, size_bytes, _handle(stream))

    def launch(
        self, function: Any, grid: Sequence[int], block: tuple[int, int, int], arguments: Sequence[Any], stream: Stream
    ) -> None:
        """Starts a kernel."""
        own, types, shared_bytes = function
        values = tuple(each.item() if isinstance(each, np.generic) else int(each) for each in arguments)
        self._called(self._cuda.cuLaunchKernel, own, *grid, *block, shared_bytes, _handle(stream), (values, types), 0)

    def finish(self, stream: Stream) -> None:
        """Waits for all that was started in a stream."""
        self._called(self._cuda.cuStreamSynchronize, _handle(stream))

    def follow(self, stream: Stream, other: Stream) -> None:
        """Makes what is started in a stream from now on begin after all that was started in the other until now."""
        event = self._called(self._cuda.cuEventCreate, _NO_TIMING)
        try:
            self._called(self._cuda.cuEventRecord, event, _handle(other))
            self._called(self._cuda.cuStreamWaitEvent, _handle(stream), event, 0)
        finally:
            self._called(self._cuda.cuEventDestroy, event)

    def stream(self, handle: int, given: object) -> Stream:
        """Returns the handle itself."""
        return handle

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """Makes the device's context that of the calling thread in a `with` block."""
        cuda = self._cuda
        if int(_ok(cuda, cuda.cuCtxGetCurrent())) == int(self._context):
            yield
            return
        _ok(cuda, cuda.cuCtxPushCurrent(self._context))
        try:
            yield
        finally:
            _ok(cuda, cuda.cuCtxPopCurrent())

    def _called(self, function: Any, *given: object) -> Any:
        """Returns what a function of the driver returns. Raises CudaFailure where it fails."""
        with self.current():
            return _ok(self._cuda, function(*given), function.__name__)


class BindingsMemory:
    """A BindingsMemory is memory of a device, whose address is the object as an integer."""

    def __init__(self, api: BindingsApi, address: int):
        self._api, self._address = api, address

    def __int__(self) -> int:
        return self._address

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the interpreter may be going down
            self._api.free(self._address)


def opened(wanted: str) -> BindingsApi:
    """Returns the first CUDA device that has the text in its name: in the context that the calling thread works in if it is on that
    device, or else in its primary one.

    Raises ImportError where cuda.bindings is missing, ConfigError where there is no driver or no such device.
    """
    from cuda.bindings import driver as cuda

    try:
        _ok(cuda, cuda.cuInit(0), "cuInit")
        devices = [_ok(cuda, cuda.cuDeviceGet(k)) for k in range(_ok(cuda, cuda.cuDeviceGetCount()))]
    except (CudaFailure, RuntimeError) as problem:
        raise ConfigError("there is no CUDA device on this machine", notes=[str(problem).splitlines()[0]]) from None
    names = [_ok(cuda, cuda.cuDeviceGetName(128, each)).split(b"\0")[0].decode() for each in devices]
    found = next((each for each, name in zip(devices, names) if wanted.lower() in name.lower()), None)
    if found is None:
        raise ConfigError(f"there is no CUDA device {wanted!r}", notes=[f"devices: {', '.join(names) or 'none'}"])
    current = _ok(cuda, cuda.cuCtxGetCurrent())
    if int(current) and int(_ok(cuda, cuda.cuCtxGetDevice())) == int(found):
        return BindingsApi(cuda, found, current)
    return BindingsApi(cuda, found, _ok(cuda, cuda.cuDevicePrimaryCtxRetain(found)))


def _ok(cuda: Any, result: tuple, function: str = "a call") -> Any:
    """Returns what a function of the driver returned besides its error number. Raises CudaFailure for an error."""
    error, *values = result
    if int(error):
        texts = (each[1] for each in (cuda.cuGetErrorName(error), cuda.cuGetErrorString(error)))
        said = " ".join(text.decode() for text in texts if text)
        raise CudaFailure(f"{function}: {said or int(error)}", int(error) == _OUT_OF_MEMORY)
    return values[0] if len(values) == 1 else None


def _handle(stream: Stream) -> Any:
    return 0 if stream is None else stream
