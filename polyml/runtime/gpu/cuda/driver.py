"""CUDA devices, through cuda.bindings or pycuda."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any  # streams of callers

import numpy as np

from polyml.errors import ConfigError, DeviceError, PolymlMemoryError
from polyml.runtime.gpu.cuda import bindings_api, compiler, cublas, pycuda_api
from polyml.runtime.gpu.cuda.api import Address, CudaApi, CudaFailure, Stream
from polyml.runtime.gpu.cuda.cublas import Cublas
from polyml.runtime.gpu.device_arrays import DeviceArray
from polyml.runtime.gpu.driver import Queue, Start
from polyml.runtime.gpu.memory_pool import MemoryPool
from polyml.runtime.storage.disk_cache import Cache

LIBRARIES: dict[str, Callable[[str], CudaApi]] = {"cuda-python": bindings_api.opened, "pycuda": pycuda_api.opened}
_ALIGNMENT = 16  # bytes: kernels may load four numbers at once
_DEFAULT_STREAMS = (0, 1)  # handles of CUDA's default stream, as drivers and as protocols write it
_LETTERS = {"l": "q", "L": "Q", "?": "B"}  # of struct, for those of NumPy


class Cuda:
    """A Cuda is the driver of one CUDA device in one context."""

    dialect = "cuda"
    in_turn = False
    most_blocks = (2**31 - 1, 65535, 65535)

    def __init__(self, api: CudaApi):
        self.api = api
        self.name, self.memory_bytes = api.name, api.memory_bytes
        self.architecture = f"sm_{api.capability[0]}{api.capability[1]}"
        self.pool = MemoryPool(self)
        self._broken = ""
        self._cublas: Cublas | None = None

    def compile(self, text: str, cache: Cache | None = None) -> CudaModule:
        """Returns the kernels of a CUDA text, compiled for the device's architecture.

        cache: where the machine code of texts is kept; None: it is not kept.
        Raises CompileError with the compiler's messages, ConfigError where there is no compiler.
        """
        name = f"binary-{_digest(text, self.architecture, compiler.identity())}"
        kept = None if cache is None else cache.get(name)
        if kept is not None and (module := self._loaded(kept)) is not None:
            return CudaModule(self, module)
        code = compiler.machine_code(text, self.architecture)
        if cache is not None:
            cache.put(name, code)
        with self.watched("loading machine code"):
            return CudaModule(self, self.api.load(code))

    def queue(self, stream: object = None) -> CudaQueue:
        """Returns the queue of a stream of any library's; None: CUDA's default stream. Raises ConfigError for any other object."""
        if stream is None:
            return CudaQueue(self, None, 0)
        handle = _handle(stream)
        if handle in _DEFAULT_STREAMS:
            return CudaQueue(self, None, 0)
        return CudaQueue(self, self.api.stream(handle, stream), handle)

    def matrix_library(self) -> Cublas:
        """Returns cuBLAS on the device, the same object at each call. Raises ConfigError where it is not there."""
        if self._cublas is None:
            with self.watched("starting cuBLAS"):
                self._cublas = cublas.opened(self.api, self.watched)
        return self._cublas

    def allocate(self, size_bytes: int) -> Address:
        """Returns new memory of the device, of one byte at least. Raises PolymlMemoryError where it has not so much."""
        with self.watched(f"asking for {size_bytes:,} bytes of memory"):
            return self.api.allocate(max(size_bytes, 1))

    def memory_of(self, array: DeviceArray) -> int | None:
        """Returns the address of an array of the caller's; None where it is no multiple of 16, at which kernels may load."""
        return None if array.start % _ALIGNMENT else array.start

    @contextlib.contextmanager
    def watched(self, what: str) -> Iterator[None]:
        """Raises a DeviceError for an error of CUDA in a `with` block, or PolymlMemoryError where memory is short.

        what: what is done in it.
        """
        if self._broken:
            raise DeviceError(f"{self.name} does nothing more in this process: {self._broken}", notes=["start a new process"])
        try:
            yield
        except CudaFailure as problem:
            if problem.is_memory:
                raise PolymlMemoryError(f"{self.name} has too little memory left, {what}: {problem}") from None
            notes: list[str] = []
            if self._is_gone():
                self._broken = str(problem)
                notes = ["every later call of CUDA in this process fails: start a new one"]
            raise DeviceError(f"{self.name} failed, {what}: {problem}", notes=notes) from None

    def _is_gone(self) -> bool:
        """Returns whether the device no longer answers, as after an illegal access to memory."""
        try:
            self.api.finish(None)
        except CudaFailure:
            return True
        return False

    def _loaded(self, code: bytes) -> object | None:
        """Returns the module of machine code from the disk; None where the device does not take it."""
        try:
            return self.api.load(code)
        except CudaFailure:
            return None


class CudaQueue:
    """A CudaQueue is a stream of CUDA; see `runtime.gpu.driver.Queue`."""

    def __init__(self, driver: Cuda, stream: Stream, key: int):
        self.driver, self.stream = driver, stream
        self.key: object = key

    def upload(self, buffer: Any, array: np.ndarray, offset_bytes: int = 0) -> None:
        """Copies an array, which must be stored row by row, to the buffer from an offset on. The array may change afterwards."""
        if array.nbytes:
            with self.driver.watched("a copy to the device"):
                self.driver.api.upload(int(buffer) + offset_bytes, array, self.stream)

    def download(self, buffer: Any, array: np.ndarray, offset_bytes: int = 0) -> None:
        """Copies the buffer from an offset on to an array, which must be stored row by row, and waits for it."""
        if array.nbytes:
            with self.driver.watched("a copy from the device"):
                self.driver.api.download(array, int(buffer) + offset_bytes, self.stream)

    def copy_in(self, buffer: Any, array: DeviceArray) -> None:
        """Starts a copy of an array of the caller's on the device to a buffer."""
        with self.driver.watched("a copy on the device"):
            self.driver.api.copy(int(buffer), array.start, array.nbytes, self.stream)

    def copy_out(self, buffer: Any, array: DeviceArray) -> None:
        """Starts a copy of a buffer to an array of the caller's on the device."""
        with self.driver.watched("a copy on the device"):
            self.driver.api.copy(array.start, int(buffer), array.nbytes, self.stream)

    def fetch(self, array: DeviceArray) -> np.ndarray:
        """Returns what an array of the caller's on the device holds, as a NumPy array, and waits for it."""
        found = np.empty(array.shape, array.dtype)
        self.download(array.start, found)
        return found

    def follow(self, other: Queue) -> None:
        """Makes what is started here from now on begin after all that was started in the other queue until now."""
        with self.driver.watched("waiting for another stream"):
            self.driver.api.follow(self.stream, other.stream)

    def finish(self) -> None:
        """Waits for all that was started. Raises DeviceError where any of it has failed."""
        with self.driver.watched("waiting for the device"):
            self.driver.api.finish(self.stream)


class CudaModule:
    """A CudaModule holds the kernels of one text, compiled for a device."""

    def __init__(self, driver: Cuda, module: object):
        self._driver, self._module = driver, module

    def kernel(self, name: str, block: tuple[int, int, int], shared_bytes: int = 0) -> Start:
        """Returns the function that starts a kernel; it takes a queue, numbers of blocks, and arguments.

        block: how many threads a block has along x, y and z.
        shared_bytes: how many bytes of shared memory a launch asks for, besides what the kernel has without.
        """
        driver, module = self._driver, self._module
        found: dict[str, object] = {}

        def started(queue: Queue, blocks: Sequence[int], arguments: Sequence[object]) -> None:
            with driver.watched(f"a launch of {name}"):
                if not found:
                    found[name] = _function(driver, module, name, "".join(map(_letter, arguments)), shared_bytes)
                    _fits(driver, found[name], name, block)
                driver.api.launch(found[name], blocks, block, arguments, queue.stream)

        return started


@lru_cache(maxsize=8)
def open_device(wanted: str = "", library: str = "") -> Cuda:
    """Returns the driver of the first CUDA device that has the text in its name, the same object at each call.

    It works in the context that the calling thread has at the first call if that is on the device, or else in the primary one, in
    which CuPy, PyTorch and Numba work.

    wanted: the text, in which capital letters do not count; "" for any device
    library: "cuda-python" or "pycuda"; "": the first of them that is installed.
    Raises ConfigError where there is no library, driver or device, with what there is.
    """
    for name, opened in LIBRARIES.items():
        if library in ("", name):
            with contextlib.suppress(ModuleNotFoundError):
                return Cuda(opened(wanted))
    needed = {"cuda-python": "cuda.bindings", "pycuda": "pycuda"}.get(library, "cuda.bindings or pycuda")
    raise ConfigError(f"target cuda needs {needed}", notes=["pip install polyml[cuda-python], or polyml[cuda]"])


def _function(driver: Cuda, module: object, name: str, parameters: str, shared_bytes: int) -> object:
    """Returns a kernel of a module, as `CudaApi.function` does. Raises ConfigError where a block has not so much shared memory."""
    try:
        return driver.api.function(module, name, parameters, shared_bytes)
    except CudaFailure as problem:
        if not shared_bytes:
            raise
        raise ConfigError(
            f"{driver.name} has no {shared_bytes:,} bytes of shared memory for a block of {name}", notes=[str(problem)]
        ) from None


def _fits(driver: Cuda, function: object, name: str, block: tuple[int, int, int]) -> None:
    """Raises ConfigError where the device cannot run blocks of so many threads of the kernel."""
    most, shared = driver.api.threads_and_shared(function)
    threads = block[0] * block[1] * block[2]
    if threads > most:
        raise ConfigError(
            f"{driver.name} runs at most {most} threads of {name} in a block, which has {threads}",
            notes=[f"{shared:,} bytes of shared memory"],
        )


def _letter(argument: object) -> str:
    """Returns the letter of `struct` for an argument of a launch: P for memory."""
    if not isinstance(argument, np.generic):
        return "P"
    return _LETTERS.get(argument.dtype.char, argument.dtype.char)


def _handle(stream: Any) -> int:
    """Returns the handle of a stream of CuPy, PyTorch, Numba, pycuda or cuda.core. Raises ConfigError for any other object."""
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "ptr", "handle"):
        found = getattr(stream, name, None)
        found = getattr(found, "value", found)
        if isinstance(found, int):
            return found
    raise ConfigError(
        f"a stream of CUDA is expected, not a {type(stream).__name__}",
        notes=["one of CuPy, PyTorch, pycuda, or a handle as an int"],
    )


def _digest(*facts: str) -> str:
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()
