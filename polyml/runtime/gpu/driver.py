"""What polyml asks of a GPU's driver, whichever it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

Argument = object  # of a launch: a buffer, or a NumPy scalar of exactly the parameter's type


class Driver(Protocol):
    """A device with one queue, in which everything runs in order.

    name: of the device, as its driver gives it. dialect: the language that it compiles. most_blocks: of one launch, along each axis.
    """

    name: str
    most_blocks: tuple[int, int, int]
    dialect: str

    def compile(self, text: str) -> DeviceModule:
        """Returns the kernels of a text. Raises CompileError with the compiler's messages."""
        ...

    def allocate(self, size_bytes: int) -> DeviceBuffer:
        """Returns memory of the device. Raises PolymlMemoryError where there is not so much."""
        ...

    def upload(self, buffer: DeviceBuffer, array: np.ndarray) -> None:
        """Copies an array that is stored row by row to the device."""
        ...

    def download(self, buffer: DeviceBuffer, array: np.ndarray) -> None:
        """Copies the device's memory to an array that is stored row by row, once all launches before are done."""
        ...


class DeviceBuffer(Protocol):
    """Memory of a device, which is given back once nothing refers to it."""


class DeviceModule(Protocol):
    """Compiled kernels."""

    def launch(self, name: str, grid: Sequence[int], block: Sequence[int], arguments: Sequence[Argument]) -> None:
        """Begins one launch. grid: blocks along each axis, x first; block: threads of a block along each."""
        ...
