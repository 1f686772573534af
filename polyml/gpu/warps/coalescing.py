"""Coalescing: the sectors and lines that requests of warps move, counted for every request there is.

A warp's threads that run an access at the same iteration of the loops around make one request, for the sectors of 32 bytes in
which their elements lie (NVIDIA, CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory": as many 32-byte
transactions as are necessary). How many there are depends on which threads take part and on where the first one's element lies
within a line. So requests are sorted by these two, and one of each kind is examined lane by lane:

    free dimensions      of loops on which no other bounds depend: their requests differ only by where they begin in a line, and
                         how many begin at each byte is counted without examining any
    the others           are examined iteration by iteration, and warp by warp

Where that would be too many warps, a sample is examined, of some values of one loop, and the accuracy says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import islpy as isl

from polyml import polyhedra
from polyml.gpu.warps.points_parts import Piece, parts_of_points
from polyml.gpu.warps.warp_requests import EXACT, AccessBlock, WarpCounts, WarpRequests

MOST_WARPS, LEAST_WARPS = 1 << 20, 1 << 10  # that are examined
SLICES = 4, 16  # values of a loop whose warps are sampled, for few warps and for many
NOTHING = WarpCounts(0, 0, (0, 0, 0), 0)


def requests(
    points: isl.Set, addresses: Sequence[Sequence[Piece]], block: AccessBlock, most: int = MOST_WARPS
) -> tuple[WarpCounts, ...]:
    """Returns the requests of each of several accesses, summed up over all warps.

    points: { T[t] }, the values of the loops at which the accesses are made, without parameters.
    addresses: for each access, pieces (points, linear expression, divisor): at these points its byte address is the expression /
        divisor.
    block: the block of threads that makes the accesses.
    most: how many warps are examined; of more, a sample is taken.
    """
    whole = [k for k, address in enumerate(addresses) if len(address) == 1]
    groups = [whole, *([k] for k in range(len(addresses)) if k not in whole)] if whole else [[k] for k in range(len(addresses))]
    found: dict[int, WarpCounts] = {}
    for group in groups:
        found |= zip(group, _counted(points, [addresses[k] for k in group], block, most))
    return tuple(found[k] for k in range(len(addresses)))


def _counted(points: isl.Set, addresses: Sequence[Sequence[Piece]], block: AccessBlock, most: int) -> list[WarpCounts]:
    """Returns the requests of each access, summed up over all warps; arguments as in `requests`.

    Where there are more than `most` warps, those at some values of one loop are examined, and their sums are scaled up.
    """
    parts = list(parts_of_points(points, addresses))
    if not parts:
        return [NOTHING] * len(addresses)
    counting = WarpRequests(points, parts, block)
    longest = counting.longest(most)
    if longest is None:
        return list(counting.counted())
    dim, low, high = longest
    slices = SLICES[most >= MOST_WARPS]
    every = -(-(high - low + 1) // slices)
    values = range(low + every // 2, high + 1, every)
    slices_of = (polyhedra.bounded(points, dim, value, value) for value in values)
    found = [_counted(each, addresses, block, max(LEAST_WARPS, most // slices)) for each in slices_of]
    accuracy = "" if every == 1 else f"estimate: from one of {every} iterations of a loop"
    return [total(each, (high - low + 1) / len(values), accuracy) for each in zip(*found)]


def total(some: Sequence[WarpCounts], scale: float = 1, accuracy: str = "") -> WarpCounts:
    """Returns the sum of requests, each number multiplied by `scale`.

    accuracy: the accuracy of the sum, in words; with "" it is that of the summands.
    """

    def summed(numbers: Iterable[int]) -> int:
        return round(scale * sum(numbers))

    theirs = next((each.accuracy for each in some if each.accuracy != EXACT), EXACT)
    return WarpCounts(
        summed(each.requests for each in some),
        summed(each.lanes for each in some),
        tuple(map(summed, zip(*(each.amounts for each in some)))),
        max(each.most for each in some),
        accuracy or theirs,
    )
