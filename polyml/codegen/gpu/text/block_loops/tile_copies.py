"""Copies of tiles (parts of arrays) to shared memory: between barriers, or on the way while earlier chunks of a loop are read.

    SharedTile   ->   for (int e = thread; e < 1024; e += 256) A_tile[...][...] = A[...];
SharedTile   ->   for (...) copy_vector(&B_tile[slot][e0][e1], &B[(k_chunk + 16 + e0)*m + j_block + e1], ...);
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol

from polyml.codegen.gpu.block_loops.pipelined_tiles import ROWS
from polyml.codegen.gpu.block_loops.swizzles import GROUPS, PAIR_BYTES, VECTOR_BYTES
from polyml.codegen.gpu.shared_tiles import SharedTile, TileDimension
from polyml.codegen.gpu.text.dialect import Dialect
from polyml.codegen.gpu.text.integers import Rename, condition, extreme, factor
from polyml.codegen.gpu.text.shared_memory import SharedArray
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
    renamed: Rename
    use: Callable[[str], str]
    threads: int

    def lower(self, loop: Loop, before: int = 0) -> str:
        """Returns the C text of a loop's first iteration, or of what is so many iterations before it."""
        return extreme("max", [self.renamed(each - before) for each in loop.lower], self.use)

    def end(self, loop: Loop) -> str:
        """Returns the C text of the iteration behind a loop's last one."""
        return extreme("min", [self.renamed(each + 1) for each in loop.upper], self.use)


def shared_array(tile: SharedTile, name: str, around: Surroundings) -> SharedArray:
    """Returns the array in shared memory that has a tile, under this name."""
    return SharedArray(around.dialect.memory_type(around.scop.arrays[tile.array].element), name, tuple(tile.lengths))


def copy_lines(tile: SharedTile, name: str, ends: Sequence[Affine], around: Surroundings) -> Iterator[str]:
    """Yields the C lines by which the threads of a block copy a tile, consecutive elements of a row by consecutive threads.

    name: that of the tile in shared memory.
    ends: the last iterations of a loop that runs in chunks, counted from the chunk's first one on; none: the whole tile is copied.
    """
    moving = [each for each in tile.dimensions if each.extent > 1]
    numbers = [variable(f"e{k}") for k in range(len(moving))]
    at = dict(zip(map(id, moving), numbers))
    subscripts = [each.first + at.get(id(each), Affine()) for each in tile.dimensions]
    limits = [limit for each, number in zip(moving, numbers) for limit in each.limits(number, ends)]
    there = condition(conjunction(*(Compare(">=", around.renamed(each)) for each in limits)), around.use)
    yield f"for (int e = thread; e < {tile.elements}; e += {around.threads}) {{"
    inner = 1
    for each, number in reversed(list(zip(moving, numbers))):
        quotient = "e" if inner == 1 else f"e / {inner}"
        yield f"{_STEP}const int {number} = {quotient if each is moving[0] else f'{quotient} % {each.extent}'};"
        inner *= each.extent
    source = around.values.element(tile.array, [around.values.index(each) for each in subscripts])
    target = f"{name}{''.join(f'[{at[id(each)]}]' for each in tile.stored)}"
    if tile.is_cut:
        yield f"{_STEP}{target} = {there} ? {source} : 0;"
    else:
        yield from [f"{_STEP}if ({there})"] if limits else []
        yield f"{_STEP * (2 if limits else 1)}{target} = {source};"
    yield "}"


def barrier_lines(tiles: Sequence[SharedTile], names: Mapping[str, Affine], around: Surroundings) -> Iterator[str]:
    """Yields the C lines of a barrier between copies and reads of tiles, with the parts of arrays whose dependences it keeps.

    names: { name in the program -> its name in the text }.
    """
    *told, last = (f"// {tile.region(names)}: written by the copy, read by all threads" for tile in tiles)
    yield from told
    yield f"{around.dialect.barrier}  {last}"


@dataclass(frozen=True)
class Ring:
    """A Ring says how the tiles of a loop are copied ahead: shared memory has several slots, each with room for a chunk.

    loop: the loop.
    chunk: the name of the first iteration of a chunk.
    length: how many iterations a chunk has.
    slots: how many slots there are; copies are one chunk less ahead.
    is_asynchronous: whether copies go on until they are waited for.
    kind: the type of the loop's variable; "" for that of indices.
    """

    loop: Loop
    chunk: str
    length: int
    slots: int
    is_asynchronous: bool = True
    kind: str = ""

    @property
    def ahead(self) -> int:
        """How many iterations behind the first one of the chunk that is read the chunk begins that is copied."""
        return (self.slots - 1) * self.length


class Order(Protocol):
    """An Order permutes the vectors in the rows of a tile (`codegen.gpu.block_loops.swizzles`)."""

    @property
    def width(self) -> int:
        """Elements of a vector."""
        ...

    def text(self, row: str, column: str) -> str:
        """Returns the column in shared memory as a C expression, of those of a row and a column."""
        ...


class Copy(Protocol):
    """A Copy is a tile that the threads of a block copy ahead. name: of the tile in the text."""

    @property
    def name(self) -> str: ...

    def alignment(self, ring: Ring, around: Surroundings) -> list[str]:
        """Returns the C lines that say, before the loop, how elements lie in memory."""
        ...

    def is_plain(self, around: Surroundings) -> list[str]:
        """Returns the C texts of conditions, the same for all threads and chunks, under which copies of a whole chunk need no tests."""
        ...

    def lines(self, ring: Ring, around: Surroundings, plain: bool) -> Iterator[str]:
        """Yields the C lines by which the threads begin to copy a chunk. plain: whether nothing has to be tested."""
        ...


@dataclass(frozen=True)
class VectorCopy:
    """A VectorCopy is a tile that a block copies in vectors along the rows of the array.

    tile: two of its dimensions have more than one element, the array's last dimension among them; rows are stored as they are.
    order: where the elements of a row are in shared memory.
    name: of the tile in the text.
    """

    tile: SharedTile
    order: Order
    name: str

    def element(self, slot: str, row: str, column: str) -> str:
        """Returns the C text of an element in shared memory. row: an expression that is repeated."""
        return f"{self.name}[{slot}][{row}][{self.order.text(row, column)}]"

    def alignment(self, ring: Ring, around: Surroundings) -> list[str]:
        """Returns the C declaration of how many bytes are copied at once: 16 where all vectors are at multiples of 16 bytes, since the
        first one of the block is, and the rows of the array are as long as some vectors; else 4, for halves where pairs are at
        multiples of 4; else one element.
        """
        lower, dimensions = ring.loop.lower, self.tile.dimensions
        size = around.scop.arrays[self.tile.array].element.size_bytes
        if len(lower) != 1:
            return [f"const int {self.name}_bytes = {size};"]
        first = [each.first.substitute({ring.chunk: lower[0]}) for each in dimensions]
        address = around.values.element(self.tile.array, [around.values.index(each) for each in first])
        pitch, kind, text = _pitch(self.tile, around), around.dialect.unsigned(64), ""
        for most in (VECTOR_BYTES, PAIR_BYTES):
            if most > size:
                text += f"({kind})&{address} % {most} == 0 && {_bracketed(pitch)} % {most // size} == 0 ? {most} : "
        return [f"const int {self.name}_bytes = {text}{size};"]

    def is_plain(self, around: Surroundings) -> list[str]:
        """Returns the C texts of the conditions that the block has all rows and columns of the tile, and that vectors are aligned."""
        return [*_is_whole(self.tile, around), f"{self.name}_bytes == {VECTOR_BYTES}"]

    def lines(self, ring: Ring, around: Surroundings, plain: bool) -> Iterator[str]:
        """Yields the C lines by which the threads of a block begin to copy a chunk, neighbouring threads neighbouring vectors."""
        width, moving = self.order.width, _extended(self.tile)
        across = moving[-1].extent // width
        rounds = _Rounds.of(moving[0].extent * across, around.threads, across, 1)
        yield from rounds.head((f"{{}} / {across}", f"{{}} % {across} * {width}"))
        source, (above, along) = _source(self.tile, ring, around, rounds)
        target = self.element(filled(ring), rounds.row, "e1")
        if plain:
            yield from rounds.body(f"{around.use('copy_whole_vector')}(&{target}, {source});", unrolled=True)
            return
        ends = [around.renamed(each + 1) for each in along]
        count = extreme("min", [*ends, Affine(width)], around.use) if ends else str(width)
        count = f"{_test(above, around)} ? {count} : 0" if above else count
        yield from rounds.body(f"{around.use('copy_vector')}(&{target}, {source}, {count}, {self.name}_bytes);")


@dataclass(frozen=True)
class ElementCopy:
    """An ElementCopy is a tile that a block copies element by element, in any order of the dimensions.

    tile: the part of the array.
    name: of the tile in the text.
    """

    tile: SharedTile
    name: str

    def alignment(self, ring: Ring, around: Surroundings) -> list[str]:
        """Returns no lines: elements are where their type has them."""
        return []

    def is_plain(self, around: Surroundings) -> list[str]:
        """Returns the C texts of the conditions that the block has all rows and columns of the tile."""
        return _is_whole(self.tile, around)

    def lines(self, ring: Ring, around: Surroundings, plain: bool) -> Iterator[str]:
        """Yields the C lines by which the threads of a block begin to copy a chunk. Where shared memory has columns in place of
        rows, a warp copies eight elements of four rows, whose places are in 32 banks.
        """
        moving = _extended(self.tile)
        extents = [each.extent for each in moving]
        if len(moving) == 2 and moving[-1].moves and extents[0] % ROWS == 0 == extents[1] % GROUPS:
            rounds = _Rounds.of(self.tile.elements, around.threads, ROWS * extents[1], ROWS)
            row = f"{{}} / {ROWS * extents[1]} * {ROWS} + {{}} / {GROUPS} % {ROWS}"
            places = [row, f"{{}} / {ROWS * GROUPS} % {extents[1] // GROUPS} * {GROUPS} + {{}} % {GROUPS}"]
        else:
            rounds = _Rounds.of(self.tile.elements, around.threads, prod(extents[1:]), 1)
            inner = [prod(extents[k + 1 :]) for k in range(len(extents))]
            quotients = [f"{{}} / {each}" if each > 1 else "{}" for each in inner]
            places = [f"{each} % {extents[k]}" if k else each for k, each in enumerate(quotients)]
        yield from rounds.head(places)
        source, limits = _source(self.tile, ring, around, rounds)
        there = _test([limit for some in limits for limit in some], around)
        at = {id(each): f"e{k}" if k else rounds.row for k, each in enumerate(moving)}
        target = f"{self.name}[{filled(ring)}]" + "".join(f"[{at[id(each)]}]" for each in self.tile.stored)
        if plain:
            yield from rounds.body(f"{around.use('copy_element')}(&{target}, {source});", unrolled=True)
        elif self.tile.is_cut:
            yield from rounds.body(f"{around.use('copy_element_or_zero')}(&{target}, {source}, {there});")
        else:
            yield from rounds.body(f"if ({there})", f"{_STEP}{around.use('copy_element')}(&{target}, {source});")


@dataclass(frozen=True)
class _Rounds:
    """The _Rounds say how the threads of a block share the copies of a tile: in each round, every thread has one.

    count: how many rounds there are; None: a thread has those whose numbers are its own and every `threads`-th one from there on.
    step: how many rows of the tile a round is.
    threads: how many threads there are.
    total: how many copies there are.
    """

    count: int | None
    step: int
    threads: int
    total: int

    @staticmethod
    def of(total: int, threads: int, inner: int, rows: int) -> _Rounds:
        """Returns the rounds of `total` copies, of which `inner` ones are `rows` rows of the tile."""
        even = total % threads == 0 == threads % inner
        return _Rounds(total // threads if even else None, threads // inner * rows, threads, total)

    @property
    def row(self) -> str:
        """The C text of the row of a copy."""
        return f"e0 + {self.step}*e" if self.count is not None and self.count > 1 else "e0"

    def head(self, places: Sequence[str]) -> Iterator[str]:
        """Yields the C lines that declare where in the tile a thread's copy is, or the first one where copies are in rounds.

        places: its numbers along the dimensions, as functions of the copy's number {}.
        """
        if self.count is None:
            yield f"for (int e = thread; e < {self.total}; e += {self.threads}) {{"
            yield from (f"{_STEP}const int e{k} = {each.replace('{}', 'e')};" for k, each in enumerate(places))
        else:
            yield "{"
            yield from (f"{_STEP}const int e{k} = {each.replace('{}', 'thread')};" for k, each in enumerate(places))

    def body(self, *lines: str, unrolled: bool = False) -> Iterator[str]:
        """Yields the C lines that run lines for each copy, and end what `head` has begun.

        unrolled: whether all rounds are lines of their own; the addresses and tests of several take registers, and sums need most.
        """
        indent = _STEP
        if self.count is not None and self.count > 1:
            yield f"{_STEP}#pragma unroll{'' if unrolled else ' 1'}"
            yield f"{_STEP}for (int e = 0; e < {self.count}; e++)"
            indent = _STEP * 2
        yield from (indent + line for line in lines)
        yield "}"


def _extended(tile: SharedTile) -> list[TileDimension]:
    """Returns the dimensions of the array of which the tile has more than one element."""
    return [each for each in tile.dimensions if each.extent > 1]


def _is_whole(tile: SharedTile, around: Surroundings) -> list[str]:
    """Returns the C texts of the conditions that a block has all rows and columns of a tile."""
    mores = [each.more for each in tile.dimensions if each.more is not None]
    return [condition(Compare(">=", around.renamed(more)), around.use) for more in mores]


def filled(ring: Ring) -> str:
    """Returns the C text of the slot that a copy fills: the one that was read last."""
    return f"slot > 0 ? slot - 1 : {ring.slots - 1}" if ring.slots > 2 else "1 - slot"


def _source(tile: SharedTile, ring: Ring, around: Surroundings, rounds: _Rounds) -> tuple[str, tuple[list[Affine], list[Affine]]]:
    """Returns the C text of the address in global memory of the element whose numbers in the tile are e0 and so on, in the chunk that
    is copied, e rounds later where copies are in rounds; and expressions that are at least 0 where it is of iterations that there are:
    those of all numbers but the last, and those of the last.

    The address is the sum of one that is the same in all rounds and of rows of the array, which threads do not have to compute.
    """
    moving = _extended(tile)
    numbers = [variable(f"e{k}") for k in range(len(moving))]
    first = dict(zip(map(id, moving), numbers))
    later = {ring.chunk: variable(ring.chunk) + ring.ahead}
    subscripts = [each.first.substitute(later) + first.get(id(each), Affine()) for each in tile.dimensions]
    source = f"&{around.values.element(tile.array, [around.values.index(each) for each in subscripts])}"
    if rounds.count is not None and rounds.count > 1:
        numbers[0] = numbers[0] + variable("e") * rounds.step
        source += f" + e*{_bracketed(_pitch(tile, around, rounds.step))}"
    lefts = [last - later[ring.chunk] for last in ring.loop.upper]
    limits = [each.limits(number, lefts) for each, number in zip(moving, numbers)]
    return source, ([limit for some in limits[:-1] for limit in some], limits[-1])


def _test(limits: Sequence[Affine], around: Surroundings) -> str:
    """Returns the C text of the condition that all expressions are at least 0."""
    return condition(conjunction(*(Compare(">=", around.renamed(each)) for each in limits)), around.use)


def _pitch(tile: SharedTile, around: Surroundings, rows: int = 1) -> str:
    """Returns the C text of how many elements of the array lie between rows of a tile that are `rows` rows apart."""
    outer = next(k for k, each in enumerate(tile.dimensions) if each.extent > 1)
    extents = [around.values.affine(each) for each in around.scop.arrays[tile.array].shape[outer + 1 :]]
    texts = [factor(around.renamed(each), around.use) for each in extents]
    return "*".join([str(rows), *texts] if rows > 1 or not texts else texts)


def _bracketed(text: str) -> str:
    return f"({text})" if "*" in text else text


def copied_ahead(copies: Sequence[Copy], ring: Ring, around: Surroundings, compute: Iterator[str]) -> Iterator[str]:
    """Yields the C lines of a loop in chunks whose tiles are copied ahead.

    compute: the lines that read the chunk in `slot`.
    """
    end, index = around.end(ring.loop), ring.kind or around.dialect.index
    names = " and ".join(each.name for each in copies)
    for each in copies:
        yield from each.alignment(ring, around)
    plain = dict.fromkeys(test for each in copies for test in each.is_plain(around))
    if plain:
        yield f"const bool plain = {' && '.join(plain)};  // whole chunks are copied without tests"
    yield f"int slot = {1 % ring.slots};"
    start = around.lower(ring.loop, ring.ahead)
    yield f"for ({index} {ring.chunk} = {start}; {ring.chunk} < {end}; {ring.chunk} += {ring.length}) {{"
    if ring.is_asynchronous:
        yield f"{_STEP}{around.use(f'wait_for_copies_{ring.slots - 2}')}();"
    yield f"{_STEP}{around.dialect.barrier}  // {names}: written by the copy, read by all threads, then written by the next copy"
    yield f"{_STEP}if ({' && '.join([*['plain'] * bool(plain), f'{ring.chunk} + {ring.ahead + ring.length} <= {end}'])}) {{"
    for each in copies:
        yield from (_STEP * 2 + line for line in each.lines(ring, around, True))
    yield f"{_STEP}}}"
    yield f"{_STEP}else if ({ring.chunk} + {ring.ahead} < {end}) {{"
    for each in copies:
        yield from (_STEP * 2 + line for line in each.lines(ring, around, False))
    yield f"{_STEP}}}"
    if ring.is_asynchronous:
        yield f"{_STEP}{around.use('commit_copies')}();"
    began = [Compare(">=", around.renamed(variable(ring.chunk) - each)) for each in ring.loop.lower]
    yield f"{_STEP}if ({condition(conjunction(*began), around.use)}) {{"
    yield from (_STEP * 2 + line for line in compute)
    yield f"{_STEP}}}"
    yield f"{_STEP}slot = slot < {ring.slots - 1} ? slot + 1 : 0;"
    yield "}"
