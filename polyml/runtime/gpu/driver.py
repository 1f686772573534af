"""What polyml asks of a GPU's driver, whichever it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

Argument = object  # of a launch: a buffer, or a NumPy scalar of exactly the parameter's type


class Driver(Protocol):
    """A Driver is what polyml needs of a device: it compiles, allocates, copies and launches, in order, in one queue.

    name: the device's name, as its own driver gives it
    most_blocks: how many blocks one launch may have along each axis
    dialect: the language that the device compiles
    """

    name: str
    most_blocks: tuple[int, int, int]
    dialect: str

    @property
    def in_turn(self) -> bool:
        """Whether the device runs the threads of a block one after another, as a processor does."""
        ...

    def compile(self, text: str) -> DeviceModule:
        """Compiles a text, and returns its kernels. Raises CompileError with the compiler's messages."""
        ...

    def allocate(self, size_bytes: int) -> DeviceBuffer:
        """Returns new memory of the device. Raises PolymlMemoryError where it has not so much."""
        ...

    def upload(self, buffer: DeviceBuffer, array: np.ndarray) -> None:
        """Copies an array, which must be stored row by row, to the buffer on the device."""
        ...

    def download(self, buffer: DeviceBuffer, array: np.ndarray) -> None:
        """Copies the buffer on the device to an array, which must be stored row by row, once all launches before are done."""
        ...


class DeviceBuffer(Protocol):
    """A DeviceBuffer is memory of a device, which is given back once nothing refers to it."""


class DeviceModule(Protocol):
    """A DeviceModule holds the kernels of one text, compiled for a device."""

    def launch(self, name: str, grid: Sequence[int], block: Sequence[int], arguments: Sequence[Argument]) -> None:
        """Starts one launch of a kernel, and does not wait for its end.

        grid: how many blocks there are along each axis, x first
        block: how many threads a block has along each axis
        arguments: buffers, and NumPy scalars of exactly the types of the kernel's parameters
        """
        ...
