"""Memory that calls give back serves later calls of the same queue, within a limit."""

import pytest

from polyml.errors import PolymlMemoryError
from polyml.runtime.gpu.memory_pool import MemoryPool


class Device:
    """A device with 1,000 bytes. left: how many are not allocated; they come back where no buffer is left."""

    def __init__(self):
        self.memory_bytes = self.left = 1000

    def allocate(self, size_bytes):
        if size_bytes > self.left:
            raise PolymlMemoryError("no memory")
        return Buffer(self, size_bytes)


class Buffer:
    def __init__(self, device, size_bytes):
        self.device, self.size_bytes = device, size_bytes
        device.left -= size_bytes

    def __del__(self):
        self.device.left += self.size_bytes


class Queue:
    def __init__(self, key):
        self.key, self.waits = key, 0

    def finish(self):
        self.waits += 1


def test_memory_of_the_same_size_and_queue_is_used_again():
    device, queue, other = Device(), Queue(1), Queue(2)
    pool = MemoryPool(device)
    first = pool.take(queue, 100)
    pool.give(queue, 100, first)
    assert pool.take(other, 100) is not first and pool.take(queue, 99) is not first
    assert pool.take(queue, 100) is first and pool.kept_bytes == 0


def test_no_more_than_a_quarter_of_the_memory_is_kept():
    device, queue = Device(), Queue(1)
    pool = MemoryPool(device)
    for _ in range(2):
        for each in [pool.take(queue, 100) for _ in range(4)]:
            pool.give(queue, 100, each)
        del each
        assert pool.kept_bytes == 1000 - device.left <= 250
    pool.give(queue, 300, pool.take(queue, 300))
    assert device.left >= 750


def test_what_is_kept_makes_room_where_memory_is_short():
    device, queue = Device(), Queue(1)
    pool = MemoryPool(device)
    pool.give(queue, 200, pool.take(queue, 200))
    assert device.left == 800
    whole = pool.take(queue, 900)
    assert whole.size_bytes == 900 and queue.waits == 1 and pool.kept_bytes == 0
    with pytest.raises(PolymlMemoryError):
        pool.take(queue, 900)


def test_the_queue_that_was_used_least_recently_loses_its_memory():
    pool = MemoryPool(Device())
    for key in range(20):
        queue = Queue(key)
        pool.give(queue, 1, pool.take(queue, 1))
    assert pool.kept_bytes == 16
