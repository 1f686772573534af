"""A driver for whose device the emulator stands."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

import polyml
from polyml.errors import CompileError, PolymlMemoryError
from polyml.runtime.gpu import placement
from polyml.runtime.gpu.device_arrays import DeviceArray
from polyml.runtime.gpu.driver import Start
from polyml.runtime.storage.disk_cache import Cache
from tests.cuda.emulator.counts import AccessCounts, summed
from tests.cuda.emulator.faults import Fault, FaultsFound
from tests.cuda.emulator.launches import Library, Memory, Run


class Emulator:
    """An Emulator is a `polyml.runtime.gpu.driver.Driver` that runs CUDA texts on the processor.

    run: how threads run and what is looked at
    faults: of all launches so far, where `raises` is false; else a launch with faults raises FaultsFound
    counts: of all launches so far, where `run.counts` is true
    """

    dialect = "cuda"
    name = "the emulator of CUDA"
    most_blocks = (2**31 - 1, 65535, 65535)
    in_turn = False
    memory_bytes = 2**32

    def __init__(self, run: Run = Run(), raises: bool = True):
        self.run, self.raises = run, raises
        self.faults: list[Fault] = []
        self.counts: list[AccessCounts] = []
        self.pool = _Fresh()

    def compile(self, text: str, cache: Cache | None = None) -> EmulatedModule:
        """Compiles a CUDA text, and returns its kernels. Raises CompileError with the messages of g++."""
        try:
            return EmulatedModule(self, Library(text))
        except ValueError as problem:
            raise CompileError("g++ refuses a kernel", notes=str(problem).splitlines()[:20]) from None

    def allocate(self, size_bytes: int) -> Memory:
        """Returns new memory of the device. Raises PolymlMemoryError where it has not so much."""
        try:
            return Memory(size_bytes)
        except MemoryError as problem:
            raise PolymlMemoryError(str(problem)) from None

    def memory_of(self, array: DeviceArray) -> Memory | None:
        """Returns None: arrays of callers are not the emulator's memory."""
        return None

    def queue(self, stream: object = None) -> EmulatedQueue:
        """Returns the only queue."""
        return EmulatedQueue(self)


class _Fresh:
    """A pool that keeps no memory, so that what a launch reads of memory that was never written is seen."""

    def take(self, queue: EmulatedQueue, size_bytes: int) -> Memory:
        return queue.driver.allocate(size_bytes)

    def give(self, queue: EmulatedQueue, size_bytes: int, buffer: Memory) -> None:
        """Lets go of the memory."""


class EmulatedQueue:
    """The queue of the emulator, which does everything at once."""

    stream = key = None

    def __init__(self, driver: Emulator):
        self.driver = driver

    def upload(self, buffer: Memory, array: np.ndarray, offset_bytes: int = 0) -> None:
        """Copies an array, which must be stored row by row, to the buffer on the device."""
        buffer.upload(array, offset_bytes)

    def download(self, buffer: Memory, array: np.ndarray, offset_bytes: int = 0) -> None:
        """Copies the buffer on the device to an array, which must be stored row by row."""
        buffer.download(array, offset_bytes)

    def copy_in(self, buffer: Memory, array: DeviceArray) -> None:
        """Copies an array of the caller's, whose address is one of this process, to a buffer."""
        buffer.upload(_elements(array))

    def copy_out(self, buffer: Memory, array: DeviceArray) -> None:
        """Copies a buffer to an array of the caller's."""
        buffer.download(_elements(array))

    def fetch(self, array: DeviceArray) -> np.ndarray:
        """Returns what an array of the caller's holds."""
        return _elements(array).copy()

    def follow(self, other: EmulatedQueue) -> None:
        """All that was started has ended."""

    def finish(self) -> None:
        """All that was started has ended."""


def _elements(array: DeviceArray) -> np.ndarray:
    """Returns the memory of an array of the caller's as a NumPy array."""
    memory = (ctypes.c_uint8 * array.nbytes).from_address(array.start)
    return np.frombuffer(memory, array.dtype).reshape(array.shape)


class EmulatedModule:
    """An EmulatedModule holds the kernels of one text, compiled for the emulator."""

    def __init__(self, device: Emulator, library: Library):
        self._device, self._library = device, library

    def kernel(self, name: str, block: tuple[int, int, int], shared_bytes: int = 0) -> Start:
        """Returns the function that runs launches of a kernel. It raises FaultsFound for one that makes a mistake, where the device
        raises.
        """

        def start(queue: EmulatedQueue, grid: Sequence[int], arguments: Sequence[object]) -> None:
            faults, counts = self._library.launch(name, grid, block, arguments, self._device.run)
            self._device.counts += counts
            self._device.faults += faults
            if faults and self._device.raises:
                raise FaultsFound(faults)

        return start


@contextmanager
def emulated(device: Emulator) -> Iterator[Emulator]:
    """Kernels with the target cuda run on this device within the `with` statement."""
    opened = placement.cuda_device
    placement.cuda_device = lambda name, library="": device
    try:
        yield device
    finally:
        placement.cuda_device = opened


def counted(function: Callable[..., object], *arguments: object, run: Run = Run()) -> tuple[AccessCounts, ...]:
    """Calls a Python function as a CUDA kernel, and returns how often its launches access which array at each line of their text.

    function: or a kernel, whose settings are kept.
    arguments: of the call, which changes arrays in place
    """
    device = Emulator(replace(run, counts=True))
    with emulated(device):
        polyml.kernel(function, target="cuda", fallback="error")(*arguments)
    return summed(device.counts)
