"""What the requests of warps for global memory move: sectors and lines, counted for every request there is.

A warp's threads that run an access at the same iteration of the loops around make one request, for the sectors of 32 bytes in
which their elements lie (NVIDIA, CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory": as many 32-byte
transactions as are necessary). How many that are depends on which threads take part and on where the first one's element lies
within a line. So requests are sorted by these two, and one of each kind is looked at lane by lane:

    free dimensions      of loops that bound no other one: their requests differ by where they begin alone, and how many begin
                         where is counted without looking at any
    the others           iteration by iteration, and warp by warp

Where that would be too many warps, those of some values of one loop stand for the others, and the accuracy says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import islpy as isl

from polyml import polyhedra
from polyml.gpu.thread_blocks import Threads
from polyml.gpu.warp_requests import EXACT, AccessBlock, Piece, Requests, WarpRequests, parts_of_points

MOST_WARPS, LEAST_WARPS = 1 << 20, 1 << 10  # that are looked at
SLICES = 4, 16  # values of a loop of which the warps are looked at, for few of these and for many


def requests(
    points: isl.Set,
    addresses: Sequence[Sequence[Piece]],
    axes: Mapping[int, int],
    threads: Threads,
    element_bytes: int,
    sector_bytes: int,
    line_bytes: int,
    most: int = MOST_WARPS,
    items: Mapping[int, int] = MappingProxyType({}),
) -> tuple[Requests, ...]:
    """Of accesses that are made at the same values of loops, `points` { T[t] }, without parameters. axes: dimension -> the
    block's axis that it goes to; the other dimensions are loops in order, or of blocks. most: warps that are looked at; of
    more, those of some values of one loop stand for the others. items: of dimensions that move no address, iterations of a
    thread that make the access once for all of them; iteration v is then thread v % size of block v // (size * items).
    """
    grains = element_bytes, sector_bytes, line_bytes
    whole = [k for k, address in enumerate(addresses) if len(address) == 1]
    groups = [whole, *([k] for k in range(len(addresses)) if k not in whole)] if whole else [[k] for k in range(len(addresses))]
    found: dict[int, Requests] = {}
    for group in groups:
        found |= zip(group, _counted(points, [addresses[k] for k in group], AccessBlock(axes, threads, grains, items), most))
    return tuple(found[k] for k in range(len(addresses)))


def _counted(points: isl.Set, addresses: Sequence[Sequence[Piece]], block: AccessBlock, most: int) -> list[Requests]:
    """Of more warps than may be looked at, those of some values of one loop, at each of which the others may be free."""
    parts = list(parts_of_points(points, addresses))
    if not parts:
        return [Requests(0, 0, 0, 0, 0, 0, *block.grains[:2])] * len(addresses)
    counting = WarpRequests(points, parts, block)
    longest = counting.longest(most)
    if longest is None:
        return list(counting.counted())
    dim, low, high, size = longest
    slices = SLICES[most >= MOST_WARPS]
    every = -(-(high - low + 1) // slices)
    tiles = range(low + every // 2, high + 1, every)
    slices_of = (polyhedra.bounded(points, dim, tile * size, tile * size + size - 1) for tile in tiles)
    found = [_counted(each, addresses, block, max(LEAST_WARPS, most // slices)) for each in slices_of]
    accuracy = "" if every == 1 else f"estimate: from one of {every} iterations of a loop"
    return [_sum(each, (high - low + 1) / len(tiles), accuracy) for each in zip(*found)]


def _sum(some: Sequence[Requests], scale: float, accuracy: str) -> Requests:
    """accuracy: "" where it is theirs."""
    names = ("requests", "lanes", "elements", "sectors", "lines")
    numbers = (round(scale * sum(getattr(each, name) for each in some)) for name in names)
    theirs = next((each.accuracy for each in some if each.accuracy != EXACT), EXACT)
    return Requests(*numbers, max(each.most for each in some), some[0].element_bytes, some[0].sector_bytes, accuracy or theirs)
