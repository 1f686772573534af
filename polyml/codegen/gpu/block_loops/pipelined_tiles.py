"""Tiles (parts of arrays) in shared memory that a block copies ahead, while it computes with those that it has copied before.

    for k_chunk by 16:                          for k_chunk by 16, the copies one chunk ahead (software pipelining):
        A_tile = the chunk of A                     wait for A_tile[slot]; barrier
        barrier                         ->          begin to copy the next chunk to A_tile[other slot]
        for k in the chunk: ...                     for k in the chunk: ... A_tile[slot] ...
        barrier                                     slot = other slot

The copy is shifted against the loop that reads it. Legal since no thread writes the arrays in the launch (`shared_tiles.staged`). One barrier
a chunk is enough: it comes when all threads have read the chunk before, whose place the next copy takes, and have waited for their
own parts of this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from polyml.codegen.gpu.block_loops.swizzles import GROUPS, VECTOR_BYTES, RowOrder
from polyml.codegen.gpu.shared_tiles import CHUNK, MOST_BYTES, BlockAxis, SharedTile, Staged
from polyml.codegen.ir.program import Loop
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import Affine, floor_div, modulo, variable

LENGTHS = (16, 8)  # iterations of the loop whose elements are in shared memory at a time, as many as fit
MOST_WORDS = 216  # registers of a thread for sums and operands: those of two iterations are loaded, and others have addresses
SLOTS = 2  # chunks that shared memory has room for
ROWS = 4  # of the array, of which the threads of a warp copy eight elements each, one by one: a sector of 32 bytes or two
_ELEMENTS = (4, 8)  # bytes of those that can be copied one by one


@dataclass(frozen=True)
class PipelinedTile:
    """A PipelinedTile is a tile that is copied ahead.

    tile: the part of the array.
    order: where the vectors of a row are in shared memory; None where elements are copied one by one, since rows of the tile are no
        rows of the array.
    reader: the axis of the block along which threads read vectors of a row; None where they do not.
    element_bytes: the size of an element.
    """

    tile: SharedTile
    order: RowOrder | None
    reader: BlockAxis | None
    element_bytes: int

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many elements of shared memory there are along each stored dimension. Rows that are filled across are a vector longer,
        so that eight of them begin in different groups of banks.
        """
        extents = [each.extent for each in self.tile.stored]
        if self.order is not None:
            return (*extents[:-1], self.order.length)
        return (*extents[:-1], extents[-1] + (len(extents) > 1) * (VECTOR_BYTES // self.element_bytes))

    @property
    def array(self) -> str:
        return self.tile.array

    @property
    def width(self) -> int:
        """How many elements a thread copies at once where rows of the array begin at multiples of a vector."""
        return 1 if self.order is None else self.order.width

    def copied(self, number: Affine) -> tuple[tuple[Affine, ...], tuple[Affine, ...]]:
        """Returns the first element of the copy with this number: where it is in the tile, along each dimension of the array with
        more than one element, and its subscripts in shared memory. The text is that of `text.block_loops.tile_copies`.
        """
        moving = [each for each in self.tile.dimensions if each.extent > 1]
        extents = [each.extent for each in moving]
        if self.order is not None:
            across = extents[1] // self.order.width
            row, vector = floor_div(number, across), modulo(number, across)
            own, pitch = self.order.own, self.order.pitch * self.order.width
            place = modulo(vector, own) * pitch + floor_div(vector, own) * self.order.width
            return (row, vector * self.order.width), (row, place)
        if len(moving) == 2 and moving[1].moves and extents[0] % ROWS == 0 == extents[1] % GROUPS:
            row = floor_div(number, ROWS * extents[1]) * ROWS + modulo(floor_div(number, GROUPS), ROWS)
            found = [row, modulo(floor_div(number, ROWS * GROUPS), extents[1] // GROUPS) * GROUPS + modulo(number, GROUPS)]
        else:
            inner = [prod(extents[k + 1 :]) for k in range(len(extents))]
            found = [
                modulo(floor_div(number, inner[k]), extents[k]) if k else floor_div(number, inner[k]) for k in range(len(extents))
            ]
        at = dict(zip(map(id, moving), found))
        return tuple(found), tuple(at[id(each)] for each in self.tile.stored)

    @property
    def indices(self) -> tuple[Affine, ...]:
        """The subscripts in shared memory of what a thread reads, as the tile has them in place of `first`."""
        *outer, last = (each.index for each in self.tile.stored)
        if self.order is not None and self.order.own > 1 and self.reader is not None:
            last = self.order.read(variable(self.reader.thread), variable(self.reader.item))
        return (*outer, last)


@dataclass(frozen=True)
class Pipelined:
    """A Pipelined is a loop that runs in chunks of several iterations, whose tiles in shared memory are copied ahead.

    source: the loop, with what it reads from shared memory.
    length: how many iterations a chunk has.
    slots: for how many chunks shared memory has room.
    tiles: what the block copies.
    """

    source: Staged
    length: int
    slots: int
    tiles: tuple[PipelinedTile, ...]

    @property
    def loop(self) -> Loop:
        return self.source.loop

    @property
    def chunk(self) -> str:
        return self.source.chunk

    def size_bytes(self, scop: Scop) -> int:
        """Returns how many bytes of shared memory the tiles take. scop: that of the loop."""
        return self.slots * sum(prod(each.lengths) * each.element_bytes for each in self.tiles)


def pipelined(found: Staged, axes: Sequence[BlockAxis], scop: Scop) -> Pipelined | None:
    """Returns the loop with tiles that are copied ahead; None where a tile's elements are too small to be copied one by one, where
    a thread reads several elements of a tile beside one another (a halo), or where the tiles of two chunks do not fit.

    axes: the axes along which a block has more than one iteration.
    """
    if any(any(map(any, each.offsets)) or any(d.step != 1 or d.spare for d in each.dimensions) for each in found.tiles):
        return None
    for length in LENGTHS if found.length == CHUNK else (found.length,):
        tiles = [_tile(each, length, axes, scop) for each in found.tiles]
        known = tuple(each for each in tiles if each is not None)
        made = Pipelined(found, length, SLOTS, known)
        if len(known) == len(tiles) and made.size_bytes(scop) <= MOST_BYTES:
            return made
    return None


def _tile(tile: SharedTile, length: int, axes: Sequence[BlockAxis], scop: Scop) -> PipelinedTile | None:
    """Returns a tile as one that is copied ahead, for chunks of `length` iterations; None where it cannot be."""
    size_bytes = scop.arrays[tile.array].element.size_bytes
    width = VECTOR_BYTES // size_bytes
    part = replace(tile, dimensions=tuple(replace(each, extent=length) if each.moves else each for each in tile.dimensions))
    last = part.stored[-1]
    reader = next((axis for axis in axes if axis.item and not last.moves and axis.item in last.index.names), None)
    along_rows = last is part.dimensions[-1] and len(part.stored) == 2 and last.extent % (GROUPS * width) == 0
    if along_rows:
        return PipelinedTile(part, _order(reader, width, last.extent), reader, size_bytes)
    return PipelinedTile(part, None, reader, size_bytes) if size_bytes in _ELEMENTS else None


def _order(reader: BlockAxis | None, width: int, length: int) -> RowOrder:
    """Returns the order of the vectors in a row with which eight neighbouring threads read from eight groups of banks.

    reader: the axis along which threads read vectors that follow one another; None where they do not.
    width: elements of a vector.
    length: elements of a row.
    """
    own = 1 if reader is None or reader.thread_step == 1 or reader.items % width else reader.items // width
    return RowOrder(own if own in (1, 2, 4, 8) else 1, width, length // width)
