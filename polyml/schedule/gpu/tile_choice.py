"""Which of several sizes of blocks a launch has, by the sizes of a call: the rule by which the host chooses.

Blocks of 128 x 128 iterations load least for each, but of 1000 x 1000 there are 64, and 68 of 132 multiprocessors have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

MULTIPROCESSORS = 132  # of a large device (an H100)
LOAD = 2  # the time of a load from shared memory, in that of a multiplication and addition


def cost(threads: Sequence[int], items: Sequence[int]) -> int:
    """Returns how long a block takes, in a unit that is the same for all sizes: its threads times, for each of a thread's items, a
    multiplication and addition, and for each row and column of items, the loads of an operand.

    threads, items: of a block, and of a thread, along each axis along which a thread has several.

    >>> cost((16, 16), (8, 8)), cost((16, 16), (4, 4))
    (24576, 8192)
    """
    return prod(threads) * (prod(items) + LOAD * sum(items))


def cheapest(blocks: Sequence[int], costs: Sequence[int]) -> int:
    """Returns the number of the form of a launch that takes least time: each multiprocessor runs its blocks one after another.

    blocks, costs: of each form, how many blocks there are and how long one takes.

    >>> cheapest([64, 256], [24576, 8192]), cheapest([1024, 3969], [24576, 8192]), cheapest([1, 1], [24576, 8192])
    (1, 0, 1)
    """
    times = [-(-count // MULTIPROCESSORS) * one for count, one in zip(blocks, costs, strict=True)]
    return times.index(min(times))
