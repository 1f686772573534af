"""The choice of a mapping: axes of the grid, sizes of blocks, items of threads, and what is copied to shared memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyml.gpu.coalescing import MOST_WARPS
from polyml.gpu.launch_model import MappedKernel, launches_of
from polyml.gpu.launch_roofline import multiprocessors
from polyml.gpu.launches import CudaKernel, Launches
from polyml.gpu.warp_requests import EXACT

SHAPES = {1: ((256,), (128,), (512,), (64,), (1024,), (32,)),
          2: ((32, 8), (32, 4), (32, 16), (64, 4), (128, 2), (16, 16), (256, 1), (32, 32))}  # fmt: skip
SEVERAL = {1: ((128,), (256,)), 2: ((32, 8), (16, 16))}  # of blocks of threads with several iterations
ITEMS = (2, 4, 8)  # of a thread along each axis
TILES = (32, 16, 8)  # of a thread's outermost loop
ENOUGH = 0.5  # of the warps that a multiprocessor may hold: more hide little more
EQUAL = 1.02  # times that count as equal
_FEWER = 1 << 13  # warps that are examined for a choice


def choose(kernel: CudaKernel, block: Sequence[int] = ()) -> Launches:
    """Returns the launches of the mapping with the least predicted time, where the L1 cache is taken to keep nothing.

    Of mappings that are about as fast it is the one that uses most multiprocessors; of these, the one that holds most warps, where
    half of the warps that a multiprocessor may hold count as all of them; of these, the first one tried.

    Axis x of the blocks is for the loop along which most accesses move by one element, or else for the innermost one; the next axes
    are for the others, from the inside outwards. Some mappings have several iterations for each thread, where that saves loads in a
    loop inside the thread.

    block: threads of a block along each axis, with one iteration for each; where it is empty, several sizes are tried.
    """
    order = _order(kernel)
    shapes = (tuple(block),) if block else SHAPES.get(min(len(order), 2), ((1,),))
    plain = [MappedKernel.of(kernel, order, shape, (), _FEWER) for shape in shapes]
    several = [] if block else [MappedKernel.of(kernel, order, *given, _FEWER) for given in _several(kernel, order)]
    tried = [each for mapping in (*plain, *several) for each in _tried(mapping)]
    if not tried:  # the block does not fit
        mapping = MappedKernel.of(kernel, order, shapes[0], (), MOST_WARPS)
        return launches_of(mapping, mapping.accesses, ())
    fastest = min(map(_cost, tried))
    equal = [each for each in tried if _cost(each) <= EQUAL * fastest]
    best = max(equal, key=lambda each: (multiprocessors(each), min(ENOUGH, each.occupancy.share)))
    if all(access.requests.accuracy == EXACT for access in best.accesses):
        return best
    items = tuple(axis.items for axis in best.mapped.axes)
    mapping = MappedKernel.of(kernel, order, best.threads.sizes, items, MOST_WARPS)
    accesses, copies = mapping.staged(best.copies[0].buffer.tile) if best.copies else (mapping.accesses, ())
    return launches_of(mapping, accesses, copies)


def _several(kernel: CudaKernel, order: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yields mappings to try in which a thread runs several iterations of the grid's loops.

    They are pairs (threads of a block along each axis, iterations of a thread along each axis). Nothing is yielded unless that
    saves loads: unless some load in a loop inside a thread reads the same element in all iterations of the loop of axis x, or of y.

    order: positions of the grid's loops, that of axis x first.
    """
    host, first = len(kernel.nest.host), order[:2]
    loads = [use for use in kernel.uses.uses if not use.is_write and len(use.loops) > kernel.depth]
    if any(use.step(host + loop) == 0 for use in loads for loop in first):
        for count in ITEMS:
            yield from ((shape, (count,) * len(first)) for shape in SEVERAL[len(first)])


def _tried(mapping: MappedKernel) -> Iterator[Launches]:
    """Yields a mapping's launches: without shared memory, and, for each size of tiles, with those copies to it that save traffic.

    Launches whose blocks no multiprocessor can hold are left out.
    """
    staged = (mapping.staged(tile) for tile in TILES)
    for accesses, copies in ((mapping.accesses, ()), *(pair for pair in staged if pair[1])):
        found = launches_of(mapping, accesses, copies)
        if found.occupancy.blocks:
            yield found


def _cost(found: Launches) -> float:
    """Returns the predicted time of launches in seconds, as if there were no L1; where none is known, the number of sectors."""
    rate = found.kernel.machine.read("L2")
    if found.roofline.seconds is None or rate is None:
        return found.requested
    return max(found.roofline.seconds, found.requested * found.kernel.machine.sector_bytes / rate.value)


def _order(kernel: CudaKernel) -> list[int]:
    """Returns the positions of the grid's loops in the order of the axes x, y, z and so on.

    The loop of x is the one along which most accesses move by one element; then follow the others, from the inside outwards.
    """
    grid, host = range(len(kernel.nest.grid)), len(kernel.nest.host)

    def neighbours(loop: int) -> int:
        steps = ((use.step(host + loop), use.element_bytes) for use in kernel.uses.uses)
        return sum(step is not None and abs(step) == size for step, size in steps)

    if not grid:
        return []
    x = max(grid, key=lambda loop: (neighbours(loop), loop))
    return [x, *(loop for loop in reversed(grid) if loop != x)]
