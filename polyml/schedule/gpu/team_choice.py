"""Whether the threads of a block share loops, and how large blocks are, by the sizes of a call: the rules by which the host chooses among
launches.

Blocks of 128 x 128 iterations load least for each, but of 1000 x 1000 there are 64, and 68 of 132 multiprocessors have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

HELD = 1 << 17  # threads that run at a time on a large device (an H100 holds 270,336)
FEW = 16  # iterations that are not worth a team
EACH = 8  # iterations that a thread has at least where they are divided among blocks
MOST = 1024  # blocks among which the iterations of a team are divided
MULTIPROCESSORS = 132  # of a large device (an H100)
BUSY = 512  # threads that keep a multiprocessor busy: four warps for each scheduler, since a sum waits for the one before
LOAD = 2  # the time of a load from shared memory, in that of a multiplication and addition
PLAIN, WHOLE = 0, 1  # a launch without teams, and one of teams whose iterations are not divided among blocks

ROW = 1 << 14  # iterations of a row that one team runs even where there are few rows: they take about as long as two launches


def parts(trips: Sequence[int], along: int, plain: int, teams: int, team: tuple[int, int], beside: bool) -> int:
    """Returns PLAIN, WHOLE, or among how many blocks the iterations of a team are divided.

    A team pays where its loops have FEW iterations. If its threads are not neighbours, it pays only where there are not enough
    iterations of the grid's loops for the device. Its iterations are divided among blocks while the device has room for them, and a
    thread has EACH of them.

    trips: how many iterations the loops that a team shares have.
    along: how many the one has that is divided among blocks.
    plain, teams: how many threads a launch has without teams, and with teams.
    team: the threads of a team, and how many of them there are along the loop that is divided among blocks.
    beside: whether neighbouring threads are of one team.

    >>> parts([10_000_000], 10_000_000, 1, 256, (256, 256), True)
    512
    >>> parts([1000], 1000, 4096, 32 * 4096, (32, 32), True), parts([10], 10, 100, 3200, (32, 32), True)
    (1, 0)
    """
    count, (size, lanes) = prod(max(each, 0) for each in trips), team
    if count < FEW or not beside and plain >= HELD:
        return PLAIN
    return max(WHOLE, min(HELD // max(teams, 1), along // lanes, count // (size * EACH), MOST))


def row_variant(trips: int, rows: int, variants: Sequence[tuple[int, int]]) -> int | None:
    """Returns which of several launches runs the rows of launches that a team may run together; None if these run one by one.

    A team has to have FEW iterations for its threads. There have to be enough rows for the device, unless they are short.

    trips: how many iterations the longest row has.
    rows: how many rows there are.
    variants: for each launch, the threads of a team, and the iterations that it has registers for; 0: any number.

    >>> row_variant(4096, 4096, [(32, 1024), (256, 4096), (1024, 0)]), row_variant(100_000, 2, [(1024, 0)])
    (1, None)
    """
    for number, (threads, most) in enumerate(variants):
        if trips >= FEW and (trips <= most or not most) and (rows * threads >= HELD // 4 or trips <= ROW):
            return number
    return None


def cost(threads: Sequence[int], items: Sequence[int]) -> int:
    """Returns how long a block takes, in a unit that is the same for all sizes: its threads times, for each of a thread's items, a
    multiplication and addition, and for each row and column of items, the loads of an operand.

    threads, items: of a block, and of a thread, along each axis along which a thread has several.

    >>> cost((16, 16), (8, 8)), cost((16, 16), (4, 4))
    (24576, 8192)
    """
    return prod(threads) * (prod(items) + LOAD * sum(items))


def cheapest(blocks: Sequence[int], costs: Sequence[int], threads: Sequence[int]) -> int:
    """Returns the number of the form of a launch that takes least time: a multiprocessor runs its blocks at once, and BUSY threads keep it
    busy; fewer take as long as they would with as many beside them.

    blocks, costs, threads: of each form, how many blocks there are, how long one takes, and how many threads it has.

    >>> cheapest([64, 256], [24576, 8192], [256, 256]), cheapest([1024, 3969], [24576, 8192], [256, 256])
    (1, 0)
    >>> cheapest([104, 200], [12288, 7168], [128, 128])
    1
    """
    each = [-(-count // MULTIPROCESSORS) for count in blocks]
    times = [max(count * size, BUSY * (count > 0)) * cost // size for count, cost, size in zip(each, costs, threads, strict=True)]
    return times.index(min(times))
