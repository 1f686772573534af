"""What polyml asks of a GPU's driver, whichever it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from polyml.dtypes import DType
from polyml.runtime.gpu.device_arrays import DeviceArray
from polyml.runtime.gpu.host.matrices import MatrixCall
from polyml.runtime.storage.disk_cache import Cache

Argument = object  # of a launch: the memory of an array, or a NumPy scalar of exactly the parameter's type
Start = Callable[["Queue", Sequence[int], Sequence[Argument]], None]  # takes a queue, blocks along each axis, and arguments


class Driver(Protocol):
    """A Driver is what polyml needs of a device: it compiles, allocates memory, and has queues of work.

    name: the device's name, as its own driver gives it
    dialect: the language that the device compiles
    most_blocks: how many blocks one launch may have along each axis
    memory_bytes: how much memory the device has
    """

    name: str
    dialect: str
    most_blocks: tuple[int, int, int]
    memory_bytes: int

    @property
    def pool(self) -> Pool:
        """Memory that calls have given back."""
        ...

    @property
    def in_turn(self) -> bool:
        """Whether the device runs the threads of a block one after another, as a processor does."""
        ...

    def compile(self, text: str, cache: Cache | None = None) -> DeviceModule:
        """Returns the kernels of a text, compiled for the device.

        cache: where the device's code of texts is kept; None: it is not kept.
        Raises CompileError with the compiler's messages, and ConfigError where there is no compiler.
        """
        ...

    def queue(self, stream: object = None) -> Queue:
        """Returns the queue of a stream (a command queue) of the caller's; None: the driver's own.

        Raises ConfigError for an object that is no stream of this device.
        """
        ...

    def allocate(self, size_bytes: int) -> DeviceBuffer:
        """Returns new memory of the device. Raises PolymlMemoryError where it has not so much."""
        ...

    def matrix_library(self) -> MatrixLibrary:
        """Returns the library that computes products of matrices on the device, the same object at each call.

        Raises ConfigError where there is none.
        """
        ...

    def memory_of(self, array: DeviceArray) -> DeviceBuffer | None:
        """Returns the memory of an array of the caller's as launches take it; None where the array does not begin at an address at
        which they expect one.
        """
        ...


class MatrixLibrary(Protocol):
    """A MatrixLibrary computes products of matrices on a device."""

    def product(self, call: MatrixCall, types: tuple[DType, DType], scales: tuple[float, float], tf32: bool) -> Start:
        """Returns the function that starts a product: it takes a queue, no blocks, and the memory of the left and the right operand and of
        the result.

        types: of the elements of the operands and of the result.
        scales: by what the product is multiplied, and the result before it is added.
        tf32: whether operands of float32 may be rounded to 11 bits.
        """
        ...


class DeviceBuffer(Protocol):
    """A DeviceBuffer is memory of a device, which is given back once nothing refers to it."""


class Pool(Protocol):
    """A Pool is memory of a device that calls have given back, for later calls in the same queue."""

    def take(self, queue: Queue, size_bytes: int) -> DeviceBuffer:
        """Returns memory for work in the queue, of at least this size. Raises PolymlMemoryError where the device has not so much."""
        ...

    def give(self, queue: Queue, size_bytes: int, buffer: DeviceBuffer) -> None:
        """Takes memory back that `take` returned for this size."""
        ...


class Queue(Protocol):
    """A Queue is work of a device that is done in order: copies and launches.

    stream: what the caller gave, or the driver's own command queue or stream.
    key: the same for two queues of the same stream.
    """

    stream: object
    key: object

    @property
    def driver(self) -> Driver:
        """That of the device."""
        ...

    def upload(self, buffer: DeviceBuffer, array: np.ndarray, offset_bytes: int = 0) -> None:
        """Copies an array, which must be stored row by row, to the buffer from an offset on. The array may change afterwards."""
        ...

    def download(self, buffer: DeviceBuffer, array: np.ndarray, offset_bytes: int = 0) -> None:
        """Copies the buffer from an offset on to an array, which must be stored row by row, and waits for it.

        Raises DeviceError where anything before has failed.
        """
        ...

    def copy_in(self, buffer: DeviceBuffer, array: DeviceArray) -> None:
        """Starts a copy of an array of the caller's on the device to a buffer."""
        ...

    def copy_out(self, buffer: DeviceBuffer, array: DeviceArray) -> None:
        """Starts a copy of a buffer to an array of the caller's on the device."""
        ...

    def fetch(self, array: DeviceArray) -> np.ndarray:
        """Returns what an array of the caller's on the device holds, as a NumPy array, and waits for it."""
        ...

    def follow(self, other: Queue) -> None:
        """Makes what is started here from now on begin after all that was started in the other queue until now."""
        ...

    def finish(self) -> None:
        """Waits for all that was started. Raises DeviceError where any of it has failed."""
        ...


class DeviceModule(Protocol):
    """A DeviceModule holds the kernels of one text, compiled for a device."""

    def kernel(self, name: str, block: tuple[int, int, int], shared_bytes: int = 0) -> Start:
        """Returns the function that starts a kernel: it takes a queue, how many blocks there are along x, y and z, and the
        arguments, and does not wait for the launch's end.

        block: how many threads a block has along x, y and z.
        shared_bytes: how many bytes of shared memory a launch asks for, besides what the kernel has without.
        Raises ConfigError where the device has too little shared memory or too few registers for such blocks.
        """
        ...
