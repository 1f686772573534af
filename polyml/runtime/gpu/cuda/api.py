"""What the driver asks of a library that calls CUDA's driver, whichever it is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np

Stream = object  # a library's own; None for CUDA's default stream


class CudaFailure(Exception):
    """The exception that says that a call of CUDA's driver failed: its text, and whether memory was short."""

    def __init__(self, text: str, is_memory: bool = False):
        super().__init__(text)
        self.is_memory = is_memory


class Address(Protocol):
    """An Address is memory of a device as an integer, which is given back once nothing refers to the object."""

    def __int__(self) -> int: ...


class CudaApi(Protocol):
    """A CudaApi is one device in one context, through a library. Its methods raise CudaFailure.

    name: the device's name.
    memory_bytes: how much memory it has.
    capability: its compute capability, as in (9, 0).
    version: that of the driver.
    """

    name: str
    memory_bytes: int
    capability: tuple[int, int]
    version: int

    def current(self) -> AbstractContextManager[None]:
        """Makes the device's context that of the calling thread in a `with` block."""
        ...

    def load(self, image: bytes) -> object:
        """Returns a module of machine code."""
        ...

    def function(self, module: object, name: str, parameters: str, shared_bytes: int) -> object:
        """Returns a kernel of a module.

        parameters: a letter of `struct` for the type of each of its parameters, P for a pointer.
        shared_bytes: how many bytes of shared memory its launches ask for.
        """
        ...

    def threads_and_shared(self, function: object) -> tuple[int, int]:
        """Returns how many threads a block of a kernel may have, and how many bytes of shared memory it takes."""
        ...

    def allocate(self, size_bytes: int) -> Address:
        """Returns new memory."""
        ...

    def upload(self, address: int, array: np.ndarray, stream: Stream) -> None:
        """Copies an array to the device. The array may change afterwards."""
        ...

    def download(self, array: np.ndarray, address: int, stream: Stream) -> None:
        """Copies memory of the device to an array, and waits for it."""
        ...

    def copy(self, target: int, source: int, size_bytes: int, stream: Stream) -> None:
        """Starts a copy from one place of the device to another."""
        ...

    def launch(
        self, function: object, grid: Sequence[int], block: tuple[int, int, int], arguments: Sequence[object], stream: Stream
    ) -> None:
        """Starts a kernel."""
        ...

    def finish(self, stream: Stream) -> None:
        """Waits for all that was started in a stream."""
        ...

    def follow(self, stream: Stream, other: Stream) -> None:
        """Makes what is started in a stream from now on begin after all that was started in the other until now."""
        ...

    def stream(self, handle: int, given: object) -> Stream:
        """Returns the library's stream for a handle that is neither of the default streams, and the caller's object.

        Raises ConfigError where the library does not take it.
        """
        ...
