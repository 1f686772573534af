"""Copies of tiles (parts of arrays) to shared memory: element by element, or in vectors of 16 bytes, on the way while earlier chunks of
a loop are read.

    A_tile = A[i_block..i_block + 31, j..j + 31]      ->   for (int e = thread; e < 1024; e += 256) A_tile[...][...] = A[...];
    copy chunk c; barrier; compute chunk c; barrier   ->   wait for chunk c; barrier; begin to copy chunk c + 2; compute chunk c

A copy in vectors is the same statement, shifted by `slots - 1` chunks against the loop that reads it (software pipelining). Legal since no thread
writes the array in the launch. One barrier per chunk suffices: it comes when all threads have read the chunk before, whose place the
new copy takes, and have waited for their parts of the chunk that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from polyml.codegen.gpu.shared_tiles import SharedTile
from polyml.codegen.gpu.swizzles import VECTOR_BYTES, Swizzle
from polyml.codegen.gpu.text.dialect import Dialect
from polyml.codegen.gpu.text.integers import condition, extreme, factor
from polyml.codegen.gpu.text.values import Values
from polyml.codegen.ir.program import Loop
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import Affine, Compare, conjunction, variable

_STEP = "    "


@dataclass(frozen=True)
class Surroundings:
    """The Surroundings are what the text of a part of a kernel needs of the kernel.

    values: writes values and subscripts.
    renamed: gives an expression the names of the C text.
    use: notes that a device function is called, and returns its name.
    threads: how many threads a block has.
    """

    scop: Scop
    dialect: Dialect
    values: Values
    renamed: Callable[[Affine], Affine]
    use: Callable[[str], str]
    threads: int

    def lower(self, loop: Loop) -> str:
        """Returns the C text of a loop's first iteration."""
        return extreme("max", [self.renamed(each) for each in loop.lower], self.use)

    def end(self, loop: Loop) -> str:
        """Returns the C text of the iteration behind a loop's last one."""
        return extreme("min", [self.renamed(each + 1) for each in loop.upper], self.use)


def declaration(tile: SharedTile, name: str, around: Surroundings) -> str:
    """Returns the C declaration of a tile in shared memory, under this name."""
    element = around.dialect.memory_type(around.scop.arrays[tile.array].element)
    return f"{around.dialect.shared}{element} {name}{''.join(f'[{length}]' for length in tile.lengths)};"


def copy_lines(tile: SharedTile, name: str, ends: Sequence[Affine], around: Surroundings) -> Iterator[str]:
    """Yields the C lines by which the threads of a block copy a tile, consecutive elements of a row by consecutive threads.

    name: that of the tile in shared memory.
    ends: the last iterations of a loop that runs in chunks, counted from the chunk's first one on; none: the whole tile is copied.
    """
    moving = [each for each in tile.dimensions if each.extent > 1]
    numbers = [variable(f"e{k}") for k in range(len(moving))]
    at = dict(zip(map(id, moving), numbers))
    subscripts = [each.first + at.get(id(each), Affine()) for each in tile.dimensions]
    along = [each.inside(number, last) for each, number in zip(moving, numbers) if each.moves for last in ends]
    there = conjunction(*(Compare(">=", around.renamed(each)) for each in along))
    yield f"for (int e = thread; e < {tile.elements}; e += {around.threads}) {{"
    inner = 1
    for each, number in reversed(list(zip(moving, numbers))):
        quotient = "e" if inner == 1 else f"e / {inner}"
        yield f"{_STEP}const int {number} = {quotient if each is moving[0] else f'{quotient} % {each.extent}'};"
        inner *= each.extent
    if ends:
        yield f"{_STEP}if ({condition(there, around.use)})"
    source = around.values.element(tile.array, [around.values.index(each) for each in subscripts])
    yield f"{_STEP * (2 if ends else 1)}{name}{''.join(f'[{at[id(each)]}]' for each in tile.stored)} = {source};"
    yield "}"


def barrier_lines(tiles: Sequence[SharedTile], names: Mapping[str, Affine], around: Surroundings) -> Iterator[str]:
    """Yields the C lines of a barrier between copies and reads of tiles, with the parts of arrays whose dependences it keeps.

    names: { name in the program -> its name in the text }.
    """
    *told, last = (f"// {tile.region(names)}: written by the copy, read by all threads" for tile in tiles)
    yield from told
    yield f"{around.dialect.barrier}  {last}"


@dataclass(frozen=True)
class VectorCopy:
    """A VectorCopy is a tile that a block copies in vectors along the rows of the array.

    tile: two of its dimensions have more than one element, the array's last dimension among them.
    order: where the elements of a row are in shared memory.
    name: of the tile in the text.
    loop: the loop whose chunks the tile serves.
    chunk: the name of the first iteration of a chunk.
    slots: for how many chunks shared memory has room.
    """

    tile: SharedTile
    order: Swizzle
    name: str
    loop: Loop
    chunk: str
    slots: int

    @property
    def rows(self) -> int:
        return next(each.extent for each in self.tile.dimensions if each.extent > 1)

    @property
    def length(self) -> int:
        return self.tile.dimensions[-1].extent

    def declaration(self, around: Surroundings) -> str:
        """Returns the C declaration of the tile in shared memory."""
        element = around.dialect.memory_type(around.scop.arrays[self.tile.array].element)
        return f"{around.dialect.shared}__align__(128) {element} {self.name}[{self.slots}][{self.rows}][{self.length}];"

    def element(self, slot: str, row: str, column: str) -> str:
        """Returns the C text of an element in shared memory. row: an expression that is repeated."""
        return f"{self.name}[{slot}][{row}][{self.order.text(row, column)}]"

    def alignment(self, around: Surroundings) -> str:
        """Returns the C declaration of whether all vectors are at multiples of 16 bytes: the first one of the block is, and the
        rows of the array are as long as some vectors.
        """
        loop, dimensions = self.loop, self.tile.dimensions
        if len(loop.lower) != 1:
            return f"const bool {self.name}_aligned = false;"
        first = [each.first.substitute({self.chunk: loop.lower[0]}) for each in dimensions]
        address = around.values.element(self.tile.array, [around.values.index(each) for each in first])
        outer = next(k for k, each in enumerate(dimensions) if each.extent > 1)
        extents = [around.values.affine(each) for each in around.scop.arrays[self.tile.array].shape[outer + 1 :]]
        pitch = "*".join(factor(around.renamed(each), around.use) for each in extents)
        kind = around.dialect.unsigned(64)
        return f"const bool {self.name}_aligned = (({kind})&{address}) % {VECTOR_BYTES} == 0 && {pitch} % {self.order.width} == 0;"

    def lines(self, slot: str, ahead: int, around: Surroundings) -> Iterator[str]:
        """Yields the C lines by which the threads of a block begin to copy a chunk.

        slot: the C text of the number of the place in shared memory that the chunk takes.
        ahead: how many iterations after the chunk that is read it begins.
        """
        width = self.order.width
        across = self.length // width
        total = self.rows * across
        whole, moving = total % around.threads == 0, [each for each in self.tile.dimensions if each.extent > 1]
        if whole:
            yield "#pragma unroll"
            yield f"for (int e = 0; e < {total // around.threads}; e++) {{"
        else:
            yield f"for (int e = thread; e < {total}; e += {around.threads}) {{"
        vector = f"(e*{around.threads} + thread)" if whole else "e"
        yield f"{_STEP}const int e0 = {vector} / {across};"
        yield f"{_STEP}const int e1 = {vector} % {across} * {width};"
        numbers = dict(zip(map(id, moving), (variable("e0"), variable("e1"))))
        later = {self.chunk: variable(self.chunk) + ahead}
        subscripts = [each.first.substitute(later) + numbers.get(id(each), Affine()) for each in self.tile.dimensions]
        source = around.values.element(self.tile.array, [around.values.index(each) for each in subscripts])
        along = next(number for each, number in zip(moving, numbers.values()) if each.moves)
        rest = extreme(
            "min", [around.renamed(last + 1 - later[self.chunk]) - along for last in self.loop.upper], around.use
        )  # iterations of the loop that are left
        count = f"{around.use('min_index')}({rest}, {width})" if moving[-1].moves else f"{rest} > 0 ? {width} : 0"
        target = self.element(slot, "e0", "e1")
        yield f"{_STEP}{around.use('copy_vector')}(&{target}, &{source}, {count}, {self.name}_aligned);"
        yield "}"


def ring(copies: list[VectorCopy], around: Surroundings, compute: Iterator[str]) -> Iterator[str]:
    """Yields the C lines of a loop in chunks whose tiles are copied ahead.

    copies: the tiles, of the same loop.
    compute: the lines that read a chunk, in place `slot` of each tile.
    """
    first = copies[0]
    slots, loop, chunk = first.slots, first.loop, first.chunk
    length = next(each.extent for each in first.tile.dimensions if each.moves)
    ahead, lower, end = (slots - 1) * length, around.lower(loop), around.end(loop)
    names = " and ".join(each.name for each in copies)
    yield from (each.alignment(around) for each in copies)
    yield f"int slot = {1 % slots};"
    start = extreme("max", [around.renamed(each - ahead) for each in loop.lower], around.use)
    yield f"for ({around.dialect.index} {chunk} = {start}; {chunk} < {end}; {chunk} += {length}) {{"
    yield f"{_STEP}{around.use(f'wait_for_copies_{slots - 2}')}();"
    yield f"{_STEP}{around.dialect.barrier}  // {names}: written by the copy, read by all threads, then written by the next copy"
    yield f"{_STEP}if ({chunk} + {ahead} < {end}) {{"
    for each in copies:
        yield from (_STEP * 2 + line for line in each.lines(f"slot > 0 ? slot - 1 : {slots - 1}", ahead, around))
    yield f"{_STEP}}}"
    yield f"{_STEP}{around.use('commit_copies')}();"
    yield f"{_STEP}if ({chunk} >= {lower}) {{"
    yield from (_STEP * 2 + line for line in compute)
    yield f"{_STEP}}}"
    yield f"{_STEP}slot = slot < {slots - 1} ? slot + 1 : 0;"
    yield "}"
