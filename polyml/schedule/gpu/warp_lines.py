"""Which loop of a launch goes along x, and which threads have several rows, where threads have no loops of their own.

for i: for j: B[j, i] = A[i, j]   ->   x: i, as stores to B[j, i] then go to neighbours; what A's loads need comes by shared memory

A warp is 32 threads with neighbouring iterations of x: an access of theirs goes to one line of memory where it moves to neighbours
along x, and to 32 lines where it moves to other rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from polyml.model.core.scop import Access, Scop
from polyml.schedule.analysis.strides import accesses, goes_to_neighbours, is_same_element, iterators_of, moves
from polyml.schedule.gpu.mapping import LaunchNest, SurroundingLoop

ROWS = 4  # iterations of a thread along y where it can use a load for several of them
_SCATTERED = 32  # lines of a warp's access to elements of as many rows
_SHARED = 3  # lines of such loads where the block copies rows to shared memory: copied, stored, loaded


def is_flat(nest: LaunchNest) -> bool:
    """Returns whether the threads of a launch have no loops of their own."""
    return not any(run.inside for run in nest.runs())


def lines(nest: LaunchNest, loop: SurroundingLoop, scop: Scop) -> int:
    """Returns how many lines of memory the accesses of a warp go to, over all statements, where `loop` is x.

    Arrays that the launch does not write can be loaded through shared memory.
    """
    written = {scop.statements[name].write.array for name in nest.statements}
    return sum(
        _lines_of(access, iterators_of(loop.values, name), access.array not in written and not access.may)
        for name in nest.statements
        for access in accesses(scop.statements[name])
    )


def _lines_of(access: Access, along: list[int], is_shared: bool) -> int:
    """Returns how many lines one access of a warp goes to. along: the positions of the iterators that change along x."""
    if not moves(access, along):
        return 1
    if goes_to_neighbours(access, along) and not moves(access, along, slice(0, -1)):
        return 1
    return _SHARED if is_shared else _SCATTERED


def is_turned(nest: LaunchNest, loop: SurroundingLoop, scop: Scop) -> bool:
    """Returns whether loads of a warp along `loop` go to other rows, and may come from shared memory."""
    written = {scop.statements[name].write.array for name in nest.statements}
    reads = ((name, access) for name in nest.statements for access in scop.statements[name].reads)
    return any(
        access.array not in written and not access.may and _lines_of(access, iterators_of(loop.values, name), True) > 1
        for name, access in reads
    )


def shares_rows(nest: LaunchNest, loop: SurroundingLoop, scop: Scop) -> bool:
    """Returns whether some load of an iteration of `loop` is one of a later iteration too, as in a stencil: two reads of an array
    whose subscripts differ by what `loop` adds to them.
    """
    return any(
        _differ_along(one, other, iterators_of(loop.values, name)) for name in nest.statements for one, other in _pairs(name, scop)
    )


def _pairs(name: str, scop: Scop) -> Iterator[tuple[Access, Access]]:
    """Yields the pairs of a statement's reads of one array that are to different elements and move alike."""
    for one, other in combinations(scop.statements[name].reads, 2):
        if one.array == other.array and one.coefficients == other.coefficients and not is_same_element(one, other):
            yield one, other


def _differ_along(one: Access, other: Access, along: list[int]) -> bool:
    """Returns whether the subscripts of two reads that move alike differ only where they move with the iterators `along`."""
    return all(
        a.plain_is_equal(b) or moves(one, along, slice(k, k + 1)) for k, (a, b) in enumerate(zip(one.subscripts, other.subscripts))
    )
