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
    """A buffer is a box of an array's elements in shared memory.

    loop, tile: it holds what `tile` iterations of this loop access.
    shape: its elements along each dimension.
    uses, rows: the loads that read it, and the subscripts of each.
    first: the least subscripts of the loads, where the value of every loop is 0.
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
    """Returns a buffer for each group of loads whose elements move alike from block to block, of arrays that the launch only reads.

    uses: the loads and stores of a thread.
    tile: iterations of the threads' outermost loop for which a buffer holds the elements.
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
    """Returns the subscripts of a load, as linear rows; None where one has several pieces or a quotient."""
    found: list[LinearRow] = []
    for value in polyhedra.subscripts_of(use.elements):
        row = polyhedra.linear_row(value)
        if row is None or not all(isinstance(name, int) for name in row[0]):
            return None
        found.append(row)
    return tuple(found) or None


def _buffer(mapped: Mapped, group: Sequence[tuple[ThreadAccess, Rows]], tile: int, depth: int) -> Buffer:
    """Returns the buffer of a group of loads, each with its subscripts.

    depth: how many loops are around a thread.
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
    """Returns the least and the greatest value of a load's subscript in the block and the tile that begin at 0.

    row: the subscript.
    depth: how many loops are around a thread.
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
    """Returns how many iterations of a loop around a thread one block has."""
    return next((axis.extent for axis in mapped.axes if axis.loop.name == loop), 1)


def copied(buffer: Buffer, mapped: Mapped, threads: Threads, place: Placed, copies: int, machine: Gpu) -> Requests:
    """Returns the requests for global memory of `copies` copies of a buffer, with the sectors that whole boxes have in the mean.

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
    """Returns the addresses of the buffer's elements one after the other, and which lanes access one, both [request, lane].

    strides: of the array or the buffer, in bytes.
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
    """Returns how many wavefronts a request takes that stores a warp's part of the copy to the buffer, in the mean."""
    addresses, takes_part = _copy(buffer, buffer.strides, machine.threads_per_warp)
    return float(bank_conflicts.wavefronts(addresses, takes_part, buffer.element_bytes, machine).mean())


def loads(buffer: Buffer, use: ThreadAccess, mapped: Mapped, threads: Threads, machine: Gpu) -> float:
    """Returns how many wavefronts a request takes that reads the buffer for a load, in the mean of a block's whole warps.

    Elements smaller than a word may begin anywhere in one; the position that takes most wavefronts is counted.
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
