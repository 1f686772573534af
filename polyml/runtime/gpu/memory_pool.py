"""Memory of a device that calls take and give back, so that a call does not ask the driver for it anew."""

from __future__ import annotations

import threading
from collections import OrderedDict

from polyml.errors import PolymlMemoryError
from polyml.runtime.gpu.driver import DeviceBuffer, Driver, Queue

_SHARE = 4  # the pools of a device keep at most 1 / _SHARE of its memory
_QUEUES = 16  # the queue used least recently loses its memory first


class MemoryPool:
    """A memory pool keeps memory of one device that calls have given back, for later calls in the same queue.

    Sizes are exact, so that tools which watch the ends of buffers see what is beyond an array. A queue works in order, so what a call has given back may be used by the next one before the first has ended on the device.
    """

    def __init__(self, driver: Driver):
        self._driver, self._limit = driver, driver.memory_bytes // _SHARE
        self._free: OrderedDict[object, dict[int, list[DeviceBuffer]]] = OrderedDict()  # by queue, by size
        self._kept_bytes = 0
        self._lock = threading.Lock()

    def take(self, queue: Queue, size_bytes: int) -> DeviceBuffer:
        """Returns memory for work in the queue, of this size; new where none is kept.

        Raises PolymlMemoryError where the device has not so much, also without what is kept.
        """
        size = max(size_bytes, 1)
        with self._lock:
            kept = self._free.get(queue.key, {}).get(size)
            if kept:
                self._kept_bytes -= size
                return kept.pop()
        try:
            return self._driver.allocate(size)
        except PolymlMemoryError:
            queue.finish()
            self.clear()
            return self._driver.allocate(size)

    def give(self, queue: Queue, size_bytes: int, buffer: DeviceBuffer) -> None:
        """Keeps memory that `take` returned for this size; lets go of other memory where too much is kept."""
        size = max(size_bytes, 1)
        with self._lock:
            if size > self._limit:
                return
            self._free.setdefault(queue.key, {}).setdefault(size, []).append(buffer)
            self._free.move_to_end(queue.key)
            self._kept_bytes += size
            while self._kept_bytes > self._limit or len(self._free) > _QUEUES:
                _, sizes = self._free.popitem(last=False)
                self._kept_bytes -= sum(length * len(some) for length, some in sizes.items())

    def clear(self) -> None:
        """Lets go of all memory that is kept."""
        with self._lock:
            self._free.clear()
            self._kept_bytes = 0

    @property
    def kept_bytes(self) -> int:
        """Returns how much memory is kept."""
        return self._kept_bytes
