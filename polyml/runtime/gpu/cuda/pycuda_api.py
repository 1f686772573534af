"""CUDA's driver through pycuda."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any  # pycuda has no types

import numpy as np

from polyml.errors import ConfigError
from polyml.runtime.gpu.cuda.api import CudaFailure, Stream


class PycudaApi:
    """A PycudaApi is one device in one context, through pycuda; see `api.CudaApi`."""

    def __init__(self, cuda: Any, device: Any, context: Any):
        self._cuda, self._context = cuda, context
        self.name, self.capability, self.memory_bytes = device.name(), device.compute_capability(), device.total_memory()
        self.version = cuda.get_driver_version()

    def load(self, image: bytes) -> Any:
        """Returns a module of machine code."""
        with self.current():
            return self._cuda.module_from_buffer(image)

    def function(self, module: Any, name: str, parameters: str, shared_bytes: int) -> Any:
        """Returns a kernel of a module, and what its launches ask for."""
        with self.current():
            found = module.get_function(name).prepare(parameters)
            if shared_bytes:
                found.set_attribute(self._cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes)
            return found, shared_bytes

    def threads_and_shared(self, function: Any) -> tuple[int, int]:
        """Returns how many threads a block of a kernel may have, and how many bytes of shared memory it takes."""
        attribute = self._cuda.function_attribute
        with self.current():
            return (
                function[0].get_attribute(attribute.MAX_THREADS_PER_BLOCK), function[0].get_attribute(attribute.SHARED_SIZE_BYTES)
            )  # fmt: skip

    def allocate(self, size_bytes: int) -> Any:
        """Returns new memory."""
        with self.current():
            return self._cuda.mem_alloc(size_bytes)

    def upload(self, address: int, array: np.ndarray, stream: Stream) -> None:
        """Copies an array to the device. The array may change afterwards."""
        with self.current():
            self._cuda.memcpy_htod_async(address, array, stream)

    def download(self, array: np.ndarray, address: int, stream: Stream) -> None:
        """Copies memory of the device to an array, and waits for it."""
        with self.current():
            self._cuda.memcpy_dtoh_async(array, address, stream)
        self.finish(stream)

    def copy(self, target: int, source: int, size_bytes: int, stream: Stream) -> None:
        """Starts a copy from one place of the device to another."""
        with self.current():
            self._cuda.memcpy_dtod_async(target, source, size_bytes, stream)

    def launch(
        self, function: Any, grid: Sequence[int], block: tuple[int, int, int], arguments: Sequence[Any], stream: Stream
    ) -> None:
        """Starts a kernel."""
        values = [each.item() if isinstance(each, np.generic) else int(each) for each in arguments]
        with self.current():
            own, shared_bytes = function
            own.prepared_async_call(tuple(grid), block, stream, *values, shared_size=shared_bytes)

    def finish(self, stream: Any) -> None:
        """Waits for all that was started in a stream."""
        with self.current():
            if stream is None:
                self._cuda.Event().record().synchronize()
            else:
                stream.synchronize()

    def follow(self, stream: Any, other: Any) -> None:
        """Makes what is started in a stream from now on begin after all that was started in the other until now."""
        with self.current():
            event = self._cuda.Event(self._cuda.event_flags.DISABLE_TIMING).record(other)
            if stream is None:
                event.synchronize()  # pycuda has no way to make the default stream wait
            else:
                stream.wait_for_event(event)

    def stream(self, handle: int, given: object) -> Stream:
        """Returns the caller's stream if it is one of pycuda's. Raises ConfigError for any other."""
        if isinstance(given, self._cuda.Stream):
            return given
        raise ConfigError("pycuda takes no streams of other libraries", notes=["pip install polyml[cuda-python] takes them"])

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """Makes the device's context that of the calling thread in a `with` block, and raises CudaFailure for an error of pycuda."""
        try:
            self._context.push()
            try:
                yield
            finally:
                self._context.pop()
        except self._cuda.Error as problem:
            raise CudaFailure(str(problem), isinstance(problem, self._cuda.MemoryError)) from None


def opened(wanted: str) -> PycudaApi:
    """Returns the first CUDA device that has the text in its name: in the context that the calling thread works in if it is on that
    device, or else in its primary one.

    Raises ImportError where pycuda is missing, ConfigError where there is no driver or no such device.
    """
    try:
        import pycuda.driver as cuda
    except ModuleNotFoundError:
        raise
    except ImportError as problem:  # pycuda is there, and the library of the driver is not
        raise ConfigError("there is no CUDA device on this machine", notes=[str(problem)]) from None
    try:
        cuda.init()
        devices = [cuda.Device(k) for k in range(cuda.Device.count())]
    except cuda.Error as problem:
        raise ConfigError("there is no CUDA device on this machine", notes=[str(problem)]) from None
    found = next((each for each in devices if wanted.lower() in each.name().lower()), None)
    if found is None:
        names = ", ".join(each.name() for each in devices) or "none"
        raise ConfigError(f"there is no CUDA device {wanted!r}", notes=[f"devices: {names}"])
    current = cuda.Context.getcurrent()
    if current is not None and current.get_device() == found:
        return PycudaApi(cuda, found, current)
    return PycudaApi(cuda, found, found.retain_primary_context())
