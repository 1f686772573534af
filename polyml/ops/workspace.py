"""Memory that a thread keeps from call to call, since fresh pages cost as much as a copy of what is written to them."""

from __future__ import annotations

import threading
from math import prod

import numpy as np

KEPT_BYTES = 64 << 20  # of one piece
ALIGNMENT_BYTES = 64


class _Kept(threading.local):
    """A _Kept holds the arrays that the current thread keeps from call to call, by name."""

    def __init__(self) -> None:
        self.pieces: dict[str, np.ndarray] = {}


_kept = _Kept()


def piece(name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Returns a contiguous array with undefined contents from memory that this thread keeps under a name.

    The array is valid until the thread asks for the same name again.
    """
    size_bytes = prod(shape) * dtype.itemsize
    kept = _kept.pieces.get(name)
    if kept is None or kept.nbytes < size_bytes:
        _kept.pieces.pop(name, None)
        kept = _aligned(size_bytes)
        if size_bytes <= KEPT_BYTES:
            _kept.pieces[name] = kept
    return kept[:size_bytes].view(dtype).reshape(shape)


def _aligned(size_bytes: int) -> np.ndarray:
    """Returns uninitialised memory of this size, as bytes, that begins on a cache line."""
    memory = np.empty(size_bytes + ALIGNMENT_BYTES, np.uint8)
    first = -memory.ctypes.data % ALIGNMENT_BYTES
    return memory[first : first + size_bytes]
