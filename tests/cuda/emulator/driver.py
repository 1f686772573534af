"""A driver for whose device the emulator stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

import polyml
from polyml.api import gpu_calls
from polyml.errors import CompileError, PolymlMemoryError
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

    def __init__(self, run: Run = Run(), raises: bool = True):
        self.run, self.raises = run, raises
        self.faults: list[Fault] = []
        self.counts: list[AccessCounts] = []

    def compile(self, text: str) -> EmulatedModule:
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

    def upload(self, buffer: Memory, array: np.ndarray) -> None:
        """Copies an array, which must be stored row by row, to the buffer on the device."""
        buffer.upload(array)

    def download(self, buffer: Memory, array: np.ndarray) -> None:
        """Copies the buffer on the device to an array, which must be stored row by row."""
        buffer.download(array)


class EmulatedModule:
    """An EmulatedModule holds the kernels of one text, compiled for the emulator."""

    def __init__(self, device: Emulator, library: Library):
        self._device, self._library = device, library

    def launch(self, name: str, grid: Sequence[int], block: Sequence[int], arguments: Sequence[object]) -> None:
        """Runs one launch of a kernel. Raises FaultsFound for one that makes a mistake, where the device raises."""
        faults, counts = self._library.launch(name, grid, block, arguments, self._device.run)
        self._device.counts += counts
        self._device.faults += faults
        if faults and self._device.raises:
            raise FaultsFound(faults)


@contextmanager
def emulated(device: Emulator) -> Iterator[Emulator]:
    """Kernels with the target cuda run on this device within the `with` statement."""
    opened = gpu_calls.opened
    gpu_calls.opened = lambda dialect, name: device if dialect == "cuda" else opened(dialect, name)
    try:
        yield device
    finally:
        gpu_calls.opened = opened


def counted(function: Callable[..., object], *arguments: object, run: Run = Run()) -> tuple[AccessCounts, ...]:
    """Calls a Python function as a CUDA kernel, and returns how often its launches access which array at each line of their text.

    arguments: of the call, which changes arrays in place
    """
    device = Emulator(replace(run, counts=True))
    with emulated(device):
        polyml.kernel(function, target="cuda", fallback="error")(*arguments)
    return summed(device.counts)
