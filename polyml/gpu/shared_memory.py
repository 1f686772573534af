"""Buffers in shared memory: parts of arrays that a block copies there, tile by tile of its threads' outermost loop.

    for k_t by 32:                                  a thread's own loop k in tiles
        A_s[8][32] = A[block's rows, k_t ...]       all threads of the block copy, element after element of a row
        __syncthreads()
        for k in the tile: ... A_s[y][k - k_t] ...
        __syncthreads()

A buffer is the box of the elements that the threads read of the array in a tile (Verdoolaege et al., TACO 2013, sec. 4.3). Loads
whose elements move differently from block to block have buffers of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, prod

import numpy as np

from polyml import polyhedra
from polyml.codegen.ir.array_layout import Placed
from polyml.gpu import bank_conflicts
from polyml.gpu.thread_accesses import ThreadAccess, value_range
from polyml.gpu.thread_blocks import Threads
from polyml.gpu.warp_requests import Requests, different, spread
from polyml.machines.descriptions import Gpu
from polyml.polyhedra import LinearRow
from polyml.schedule.gpu.mapping import Mapped

Rows = tuple[LinearRow, ...]  # of a use, one for each dimension of the array


@dataclass(frozen=True)
class Buffer:
    """A Buffer is a box of an array's elements that a block of threads copies to shared memory.

    loop, tile: it holds what `tile` iterations of `loop`, a thread's outermost loop, access.
    shape: how many elements it has along each dimension of the array.
    uses: the loads that read it.
    rows: for each of these loads its subscripts, as linear expressions (position of a loop -> coefficient, constant).
    first: for each dimension, the least subscript that the buffer holds for the block and the tile whose loops begin at 0.
    padding: unused elements at the end of each row.
    """

    array: str
    loop: str
    tile: int
    shape: tuple[int, ...]
    uses: tuple[ThreadAccess, ...]
    rows: tuple[Rows, ...]
    first: tuple[int, ...]
    element_bytes: int
    padding: int = 0

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def size_bytes(self) -> int:
        return prod(self.shape[:-1]) * (self.shape[-1] + self.padding) * self.element_bytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Returns the strides of the buffer's dimensions, in bytes."""
        padded = (*self.shape[:-1], self.shape[-1] + self.padding)
        return tuple(prod(padded[d + 1 :]) * self.element_bytes for d in range(len(padded)))


def buffers(mapped: Mapped, uses: Sequence[ThreadAccess], tile: int) -> tuple[Buffer, ...]:
    """Returns buffers for loads of arrays that the launch only reads, one for each group of loads.

    An iteration of a loop around a thread, or of the thread's outermost loop, adds the same numbers to the subscripts of all loads
    of a group.

    uses: the loads and stores of a thread.
    tile: for how many iterations of the thread's outermost loop a buffer holds the elements.
    """
    depth = len(mapped.nest.host) + len(mapped.nest.grid)
    written = {use.array for use in uses if use.is_write}
    groups: dict[tuple[object, ...], list[tuple[ThreadAccess, Rows]]] = {}
    for use in uses:
        rows = _rows(use)
        if use.array not in written and use.outermost is not None and rows is not None:
            moved = tuple(tuple(row[0].get(dim, 0) for dim in range(depth + 1)) for row in rows)
            groups.setdefault((use.array, id(use.outermost), moved), []).append((use, rows))
    return tuple(_buffer(mapped, group, tile, depth) for group in groups.values())


def _rows(use: ThreadAccess) -> Rows | None:
    """Returns a load's subscripts as linear expressions, one for each dimension of the array; None where one is not linear."""
    found: list[LinearRow] = []
    for value in polyhedra.subscripts_of(use.elements):
        row = polyhedra.linear_row(value)
        if row is None or not all(isinstance(name, int) for name in row[0]):
            return None
        found.append(row)
    return tuple(found) or None


def _buffer(mapped: Mapped, group: Sequence[tuple[ThreadAccess, Rows]], tile: int, depth: int) -> Buffer:
    """Returns the buffer of a group of loads: the smallest box with all elements that they read in a block and a tile.

    group: each load with its subscripts as linear expressions.
    tile: for how many iterations of the thread's outermost loop the buffer holds the elements.
    depth: how many loops of the host and the grid are around a thread.
    """
    shape, first = [], []
    for dim in range(len(group[0][1])):
        ends = [_ends(mapped, use, rows[dim], tile, depth) for use, rows in group]
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        shape.append(high - low + 1)
        first.append(low)
    uses, rows = zip(*group)
    return Buffer(uses[0].array, uses[0].loops[depth], tile, tuple(shape), uses, rows, tuple(first), uses[0].element_bytes)


def _ends(mapped: Mapped, use: ThreadAccess, row: LinearRow, tile: int, depth: int) -> tuple[int, int]:
    """Returns the least and the greatest value that a subscript of a load has in a block and a tile, both of which begin at 0.

    row: the subscript as a linear expression.
    tile: how many iterations of the thread's outermost loop are a tile.
    depth: how many loops of the host and the grid are around a thread.
    """
    terms, low = row
    high = low
    for dim, c in ((name, c) for name, c in terms.items() if isinstance(name, int)):
        if dim > depth:
            first, last = value_range(use.points, dim)
        else:
            first, last = 0, tile - 1 if dim == depth else _extent(mapped, use.loops[dim]) - 1
        low, high = low + min(c * first, c * last), high + max(c * first, c * last)
    return low, high


def _extent(mapped: Mapped, loop: str) -> int:
    """Returns how many iterations one block has of a loop of the host or the grid."""
    return next((axis.extent for axis in mapped.axes if axis.loop.name == loop), 1)


def copied(buffer: Buffer, mapped: Mapped, threads: Threads, place: Placed, copies: int, machine: Gpu) -> Requests:
    """Returns the requests for global memory that `copies` copies of an array's part to the buffer make together.

    Each copy is counted as a whole box of elements. A box may begin at several bytes of a cache line; its number of sectors is the
    mean over these.

    place: the array's address and strides.
    """
    use, rows = buffer.uses[0], buffer.rows[0]
    starts = np.zeros(machine.line_bytes)
    starts[(place.address + sum(f * s for f, s in zip(buffer.first, place.strides))) % machine.line_bytes] = 1
    depth = len(mapped.nest.host) + len(mapped.nest.grid)
    for dim in range(depth + 1):
        step = sum(row[0].get(dim, 0) * stride for row, stride in zip(rows, place.strides))
        size = buffer.tile if dim == depth else _extent(mapped, use.loops[dim])
        first, last = value_range(use.points, dim)
        starts = spread(starts, step * size, first // size, last // size)
    addresses, takes_part = _copy(buffer, place.strides, threads.width)
    sums = np.zeros(3)
    worst = 0
    for start in np.nonzero(starts)[0]:
        for number, grain in enumerate((buffer.element_bytes, machine.sector_bytes, machine.line_bytes)):
            found = different(addresses + start, takes_part, grain)
            sums[number] += found.sum() * starts[start] / starts.sum()
            worst = max(worst, int(found.max())) if number == 1 else worst
    elements, sectors, lines = (round(copies * each) for each in sums)
    lanes = copies * int(takes_part.sum())
    accuracy = "exact for whole tiles; an upper bound of those that are cut"
    sizes = buffer.element_bytes, machine.sector_bytes
    return Requests(copies * len(addresses), lanes, elements, sectors, lines, worst, *sizes, accuracy)


def _copy(buffer: Buffer, strides: Sequence[int], width: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the addresses that lanes access as a block copies the buffer, and which lanes have an element, both [request, lane].

    Addresses are in bytes from the box's first element; the lanes take the elements one after the other.

    strides: the strides, in bytes, of the array that is read or of the buffer that is written.
    width: threads of a warp.
    """
    numbers = np.arange(-(-buffer.elements // width) * width)
    takes_part = numbers < buffer.elements
    at = np.unravel_index(np.minimum(numbers, buffer.elements - 1), buffer.shape)
    addresses = np.zeros(len(numbers), np.int64)
    for column, stride in zip(at, strides):
        addresses = addresses + column * stride
    return addresses.reshape(-1, width), takes_part.reshape(-1, width)


def stores(buffer: Buffer, machine: Gpu) -> float:
    """Returns how many wavefronts (passes through the banks) a warp's stores to the buffer take during a copy, in the mean."""
    addresses, takes_part = _copy(buffer, buffer.strides, machine.threads_per_warp)
    return float(bank_conflicts.wavefronts(addresses, takes_part, buffer.element_bytes, machine).mean())


def loads(buffer: Buffer, use: ThreadAccess, mapped: Mapped, threads: Threads, machine: Gpu) -> float:
    """Returns how many wavefronts (passes through the banks) a warp's request takes that reads the buffer for a load.

    It is the mean over the warps of a block. A request may begin at any element in a bank's word, and is counted as if it began
    where it takes most wavefronts.
    """
    rows = buffer.rows[buffer.uses.index(use)]
    steps = {
        loop: sum(row[0].get(dim, 0) * stride for row, stride in zip(rows, buffer.strides)) for dim, loop in enumerate(use.loops)
    }
    lanes = np.zeros(threads.exist.shape, np.int64)
    for at, axis in enumerate(mapped.axes[: len(threads.sizes)]):
        lanes = lanes + steps.get(axis.loop.name, 0) * threads.along(at)
    lanes = lanes - np.where(threads.exist, lanes, lanes.max()).min(axis=1, keepdims=True)
    kinds, counts = np.unique(np.where(threads.exist, lanes, -1), axis=0, return_counts=True)
    shifts = range(0, max(machine.bank_bytes, buffer.element_bytes), buffer.element_bytes)
    found = [bank_conflicts.wavefronts(kinds + shift, kinds >= 0, buffer.element_bytes, machine) for shift in shifts]
    return float(np.average(np.max(found, axis=0), weights=counts))


def padded(buffer: Buffer, mapped: Mapped, threads: Threads, machine: Gpu) -> Buffer:
    """Returns the buffer with the least padding of its rows with which its loads take the fewest wavefronts."""
    free = len(buffer.uses) * bank_conflicts.least(machine, buffer.element_bytes)
    best, fewest = buffer, inf
    for padding in range(machine.shared_banks * machine.bank_bytes // buffer.element_bytes if len(buffer.shape) > 1 else 1):
        each = replace(buffer, padding=padding)
        taken = sum(loads(each, use, mapped, threads, machine) for use in buffer.uses)
        if taken < fewest:
            best, fewest = each, taken
        if taken <= free:
            break
    return best
