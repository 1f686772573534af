"""Parts of arrays that the threads of a block copy to shared memory together, chunk by chunk of a loop, since several of them load
each element.

    for k:                                          for k_chunk by 16:
        C_held[a][b] += A[i + 16*a, k]*B[k, j]  ->      A_tile = A[block's rows, k_chunk ... k_chunk + 15], and so B_tile
                                                        barrier
                                                        for k in the chunk: C_held[a][b] += A_tile[...]*B_tile[...]
                                                        barrier

Verdoolaege et al.: "Polyhedral parallel code generation for CUDA", ACM TACO 9(4), 2013, sec. 5. Arrays that the launch writes stay where
they are. All threads of the block reach each barrier: the loop stands alone in a version whose condition is on the block, and its bounds are
the same for all threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType

from polyml.codegen.gpu.registers import Registers, accesses_of
from polyml.codegen.ir.program import Loop
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import Affine, variable
from polyml.schedule.gpu.mapping import BlockCopies

FEWEST_LOADS = 2  # of threads for each element that they share, on average
CHUNK = 16  # iterations of a loop whose elements are in shared memory at a time
PADDING = 4  # elements, which keep rows at multiples of 16 bytes
MOST_BYTES = 48 << 10  # of shared memory that a block has on every device since sm_20
MOST_ASKED = 96 << 10  # that a launch may ask for on every device with asynchronous copies, sm_80 and later


@dataclass(frozen=True)
class BlockAxis:
    """One axis of a block of threads, with the names that stand in subscripts for positions along it.

    start: the name of a thread's first iteration.
    block: the name of the first iteration of the block.
    thread: the name of the thread's number in the block, along the axis.
    item: the name of the number of an item, which is one of the iterations that a thread runs along the axis; "" if each thread
        runs one alone.
    threads, items: how many threads the block has along the axis, and how many items each thread has.
    thread_step: how many iterations lie between the first ones of neighbouring threads.
    """

    start: str
    block: str
    thread: str
    item: str
    threads: int
    items: int
    thread_step: int = 1

    @property
    def item_step(self) -> int:
        """How many iterations lie between two items of a thread that follow one another."""
        return 1 if self.thread_step > 1 else self.threads

    @property
    def extent(self) -> int:
        """How many iterations a block has."""
        return self.threads * self.items

    @property
    def position(self) -> Affine:
        """The number of an item's iteration in the block."""
        return variable(self.thread) * self.thread_step + self._behind_first

    @property
    def iteration(self) -> Affine:
        """An item's iteration."""
        return variable(self.start) + self._behind_first

    @property
    def _behind_first(self) -> Affine:
        return variable(self.item) * self.item_step if self.item else Affine()


@dataclass(frozen=True)
class TileDimension:
    """One dimension of a tile, the part of an array that a block copies to shared memory.

    first: the subscript, in the array, of the tile's first element. Its names have one value for all threads of a block: they are
        sizes, outer loops' variables, and the first iterations of the block and of the chunk.
    extent: how many elements the tile has along the dimension; 1 if the subscript is the same for all threads throughout a chunk.
    index: the subscript in the tile, an expression of the numbers of thread and item, or of the loop's variable.
    moves: whether the subscript has the loop's variable, so that the last chunk may have fewer elements.
    step: what an iteration of the loop adds to the subscript, if it moves.
    spare: how many elements a chunk of one iteration has besides the first one, if it moves.
    more: in a block at the end of a launch, how many elements more the axis of the block has behind the tile's last one: less than 0
        where some of the tile are of no iteration. None: the tile has none of these.
    """

    first: Affine
    extent: int
    index: Affine
    moves: bool = False
    step: int = 1
    spare: int = 0
    more: Affine | None = None

    def limits(self, number: Affine, lefts: Sequence[Affine]) -> list[Affine]:
        """Returns expressions that are all at least 0 where the element with this number, from the tile's first one on, is of iterations that
        there are.

        lefts: how many iterations the loop has from the chunk's second one on, by each of its ends that a chunk may exceed.
        """
        more = self.more or Affine()
        found = [self.inside(number, left) + more for left in lefts] if self.moves else []
        return found if self.more is None else [*found, self.more + (self.extent - 1) - number]

    def inside(self, number: Affine, left: Affine) -> Affine:
        """Returns an expression that is at least 0 where the element with this number, from the tile's first one on, is of a chunk's
        iterations that the loop has.

        left: how many iterations the loop has from the chunk's second one on.
        """
        along = number if self.step > 0 else Affine(self.extent - 1) - number
        return left * abs(self.step) + self.spare - along


@dataclass(frozen=True)
class SharedTile:
    """A part of an array in shared memory.

    array: the array.
    subscripts: the subscripts of the reads that get their elements from the tile.
    dimensions: for each dimension of the array, outermost first, what the tile has of it.
    offsets: what is added to the subscripts, by dimension, in each of these reads.
    padding: how many elements of shared memory there are, besides the tile's, between two of its rows.
    """

    array: str
    subscripts: tuple[Affine, ...]
    dimensions: tuple[TileDimension, ...]
    offsets: tuple[tuple[int, ...], ...] = ()
    padding: int = 0

    @property
    def stored(self) -> tuple[TileDimension, ...]:
        """The dimensions that the tile has in shared memory, those of more than one element, in their order there: the one that
        moves with the loop is first, so that a thread finds the elements for its items side by side.
        """
        return tuple(sorted((each for each in self.dimensions if each.extent > 1), key=lambda each: not each.moves))

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many elements of shared memory there are along each stored dimension: its extent. The last one is padded by a few
        if another dimension is the last one in the array, so that threads that copy a row of the array store to different banks.
        """
        extents = [each.extent for each in self.stored]
        across = len(extents) > 1 and [each for each in self.dimensions if each.extent > 1][-1] is not self.stored[-1]
        return (*extents[:-1], extents[-1] + max(PADDING * across, self.padding * (len(extents) > 1)))

    def indices(self, offset: tuple[int, ...]) -> tuple[Affine, ...]:
        """Returns the subscripts in shared memory, of the stored dimensions, of a read with one of the `offsets`; () for none."""
        more = dict(zip(map(id, self.dimensions), offset))
        return tuple(each.index + more.get(id(each), 0) for each in self.stored)

    def region(self, names: Mapping[str, Affine] = MappingProxyType({})) -> str:
        """Returns the part of the array as text, such as A[i_block - 1..i_block + 8, j_block..j_block + 31].

        names: { name -> what the text has in its place }.
        """
        firsts = ((each.first.substitute(names), each.extent - 1) for each in self.dimensions)
        ends = ((first, first + more) for first, more in firsts)
        return f"{self.array}[{', '.join(str(low) if low == high else f'{low}..{high}' for low, high in ends)}]"

    @property
    def is_cut(self) -> bool:
        """Whether the block may have fewer iterations than others: the tile then has zeros in place of what no iteration reads."""
        return any(each.more is not None for each in self.dimensions)

    @property
    def elements(self) -> int:
        """How many elements of the array the tile has."""
        return prod(each.extent for each in self.dimensions)


@dataclass(frozen=True)
class Staged:
    """A loop that runs in chunks, each of several iterations, whose loads come from tiles (parts of arrays) in shared memory.

    loop: the loop.
    chunk: the name of the first iteration of a chunk.
    tiles: what the block of threads copies to shared memory before each chunk.
    length: iterations of a chunk.
    """

    loop: Loop
    chunk: str
    tiles: tuple[SharedTile, ...]
    length: int = CHUNK

    def size_bytes(self, scop: Scop) -> int:
        """Returns how many bytes of shared memory the tiles take. scop: that of the loop."""
        return sum(prod(tile.lengths) * scop.arrays[tile.array].element.size_bytes for tile in self.tiles)


def staged(
    held: Registers, chunk: str, axes: Sequence[BlockAxis], written: frozenset[str], scop: Scop, asked: BlockCopies | None = None
) -> Staged | None:
    """Returns the innermost loop of `held` as one that runs in chunks, with tiles in shared memory that its reads are served from. None
    if no read can be, if each tile is too large, if the loop has another step than 1, or if it or a loop around it has other bounds
    in other threads. Where not all tiles fit shared memory together, the smaller ones come first.

    chunk: a name for the first iteration of a chunk.
    axes: the axes along which a block has more than one iteration.
    written: arrays that the launch writes; their reads are not served from tiles.
    asked: the arrays that a schedule asks to be copied, and how many iterations a chunk has; None: all that save loads.
    """
    loops, length = held.chain, asked.chunk or CHUNK if asked else CHUNK
    own, loop = {name for axis in axes for name in (axis.start, axis.item)}, held.innermost
    if loop.step != 1 or any(own & each.names for around in loops for each in (*around.lower, *around.upper)):
        return None
    found = dict.fromkeys(each for each in accesses_of(held, scop) if each[0] not in written)
    wanted = [each for each in found if asked is None or each[0] in asked.arrays]
    tiles = [tile for array, subscripts in wanted for tile in tiles_of(array, subscripts, loop, chunk, axes, length)]
    fitting: list[SharedTile] = []
    for tile in sorted(tiles, key=lambda each: each.elements):
        if Staged(loop, chunk, (*fitting, tile), length).size_bytes(scop) <= MOST_BYTES:
            fitting.append(tile)
    if asked is not None and {each.array for each in fitting} < {each.array for each in tiles}:
        fitting = tiles
    chosen = tuple(each for each in tiles if each in fitting)
    return Staged(loop, chunk, chosen, length) if chosen else None


def tiles_of(
    array: str, subscripts: tuple[Affine, ...], loop: Loop, chunk: str, axes: Sequence[BlockAxis], length: int = CHUNK
) -> Iterator[SharedTile]:
    """Yields one tile for reads at the given subscripts, or none: the box around the elements that the threads of the block read in
    a chunk. There is one if a subscript moves with the loop, and the threads load several times as many elements as the box has.

    chunk: the name of the first iteration of a chunk.
    length: iterations of a chunk.
    """
    inside = Interval(variable(chunk), variable(loop.var) - variable(chunk), length)
    names = {**thread_intervals(axes), **item_intervals(axes), loop.var: inside}
    dimensions = [dimension_of(each, 0, names, loop.var) for each in subscripts]
    known = [each for each in dimensions if each is not None]
    if len(known) < len(dimensions) or not any(each.moves for each in known):
        return
    used = frozenset().union(*(each.names for each in subscripts))
    loads = length * prod(axis.threads * (axis.items if axis.item in used else 1) for axis in axes)
    if loads >= FEWEST_LOADS * prod(each.extent for each in known):
        yield SharedTile(array, subscripts, tuple(known))


@dataclass(frozen=True)
class Interval:
    """An Interval is what a name in a subscript stands for in a block: `first` plus `index` times `step`, for an index of 0 to
    `count` - 1.

    first: the same for all threads.
    index: an expression of names that C text has.
    """

    first: Affine
    index: Affine
    count: int
    step: int = 1


def thread_intervals(axes: Sequence[BlockAxis]) -> dict[str, Interval]:
    """Returns { the name of a thread's first iteration along an axis -> its values in a block }."""
    return {axis.start: Interval(variable(axis.block), variable(axis.thread), axis.threads, axis.thread_step) for axis in axes}


def item_intervals(axes: Sequence[BlockAxis]) -> dict[str, Interval]:
    """Returns { the name of the number of an item along an axis -> its values }."""
    return {axis.item: Interval(Affine(), variable(axis.item), axis.items) for axis in axes if axis.item}


def dimension_of(value: Affine, more: int, names: Mapping[str, Interval], loop: str = "") -> TileDimension | None:
    """Returns what a tile has along a dimension whose subscripts are `value`, and up to `more` above it: the interval between the
    least and the largest one; None where the value is not linear in the names.

    names: { name -> its values in a block }; other names have one value for all threads.
    loop: the variable, among the names, of the loop that runs in chunks; "" for none.
    """
    first, index, extent, moved = Affine(value.constant), Affine(), 1 + more, 0
    for atom, factor in value.terms:
        interval = names.get(atom) if isinstance(atom, str) else None
        if interval is None:
            if not isinstance(atom, str) and atom.names & names.keys():
                return None
            first = first + Affine(0, ((atom, factor),))
            continue
        step = factor * interval.step
        width = abs(step) * (interval.count - 1)
        first = first + interval.first * factor - (width if step < 0 else 0)
        index = index + interval.index * step + (width if step < 0 else 0)
        extent += width
        moved = step if atom == loop else moved
    spare = extent - 1 - abs(moved) * (names[loop].count - 1) if moved else 0
    return TileDimension(first, extent, index, bool(moved), moved or 1, spare)
