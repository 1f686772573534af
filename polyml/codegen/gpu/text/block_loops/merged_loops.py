"""The text of sums for positions of merged loops.

MergedSum   ->   decode positions; for (k_chunk ...) { copy the next chunk; for (k < 16) y_held[..] += x_tile[slot][k][..]*w_tile[slot][k][..]; } store
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from polyml.codegen.gpu.block_loops.merged_sums import CHUNK, GROUP, ROWS, SLOTS, MergedSum, Operand
from polyml.codegen.gpu.shared_tiles import SharedTile
from polyml.codegen.gpu.text.block_loops.digits import Numbering, Walk, stride
from polyml.codegen.gpu.text.block_loops.merged_stores import SumStores
from polyml.codegen.gpu.text.block_loops.positions import Memory, Positions, register
from polyml.codegen.gpu.text.block_loops.tile_copies import Ring, Surroundings, copied_ahead, filled
from polyml.codegen.gpu.text.names import named
from polyml.codegen.gpu.text.shared_memory import SharedArray
from polyml.codegen.ir.program import Instance, Loop
from polyml.quasi_affine.affine import Affine, variable

_STEP = "    "
_LOADED = 4  # distances of elements that a thread loads before it copies these


def declared(
    found: MergedSum, new: Callable[[str], str], shared: dict[str, SharedArray], reads: dict[str, str], around: Surroundings
) -> list[tuple[SharedTile, str]]:
    """Returns the tiles of a sum with names, and adds the declarations to `shared`, and what a thread reads to `reads`, by names.

    new: returns a new name for a part of an array.
    """
    made = []
    for operand in found.operands:
        name = new(operand.array)
        element = around.dialect.memory_type(around.scop.arrays[operand.array].element)
        shared[name] = SharedArray(element, name, (SLOTS, CHUNK, operand.length), is_aligned=around.dialect.name == "cuda")
        if not operand.along_sum:
            shared[f"{name}_distances"] = SharedArray(around.dialect.index, f"{name}_distances", (SLOTS, CHUNK))
        reads[name] = _read(found, operand, name, around)
        made.append((operand.tile, name))
    return made


def _read(found: MergedSum, operand: Operand, name: str, around: Surroundings) -> str:
    """Returns the C text of the element of a tile that a thread reads for a position of the sum."""
    return f"{name}[slot][{found.chunk}_row][{around.values.index(operand.index)}]"


def merged_loop(
    found: MergedSum, names: Sequence[str], memory: Memory, around: Surroundings, lines: Callable[[Instance], Iterator[str]]
) -> Iterator[str]:
    """Yields the C lines of a sum for all positions of a block.

    names: of the tiles.
    memory: returns the C text of the element at some subscripts, in memory, of the array with the sums.
    lines: returns the lines of an instance, for the position whose iterations have their names.
    """
    text = Positions(found, memory, around, lines)
    for numbering in (*map(text.numbering, found.axes), text.sum_numbering):
        yield from numbering.constants()
    yield from _sums(text, names)


def _sums(text: Positions, names: Sequence[str]) -> Iterator[str]:
    """Yields the lines from the registers' declaration to the stores. names: of the tiles."""
    found, around = text.found, text.around
    element = around.scop.arrays[found.array].element
    yield f"{around.dialect.register_type(element)} {named(found.array)}_held{''.join(f'[{count}]' for _, count in found.items)};"
    if found.is_loaded(around.scop):
        loaded = around.values.loaded(text.memory(found.subscripts), element).text
        yield from _where_summed(text, text.for_items([f"{register(found)} = {loaded};"], {*text.names()}))
    for each in found.before:
        yield from text.for_items([*text.lines(each)], text.read_by(each))
    copies = [_OperandCopy(each, name, text.numbering(each.axis), text.sum_numbering) for each, name in zip(found.operands, names)]
    chunks = Loop(found.chunk, (Affine(),), (variable(text.sum_numbering.end) - 1,), 1, ())
    ring = Ring(chunks, found.chunk, CHUNK, SLOTS, found.is_asynchronous, "int")
    yield from copied_ahead(copies, ring, around, _compute(text))
    yield from _where_summed(text, SumStores(text).lines())


def _where_summed(text: Positions, lines: Iterator[str]) -> Iterator[str]:
    """Yields lines that access elements, where there are such: where nothing runs but a sum of no terms, they may be no elements of the
    array. Barriers are behind no test, since pocl 3.1 does not keep variables of arrays that are declared in one.
    """
    if text.found.before or text.found.after:
        yield from lines
        return
    yield f"if ({text.sum_numbering.end} > 0) {{"
    yield from (_STEP + line for line in lines)
    yield "}"


def _compute(text: Positions) -> Iterator[str]:
    """Yields the lines that add up a chunk in shared memory, one for whole chunks and one for the rest."""
    chunk, end = text.found.chunk, text.sum_numbering.end
    body = [_STEP + line for line in _unrolled_items(text, [*text.lines(text.found.update)])]
    for head, unrolled, rows in (
        (f"if ({chunk} + {CHUNK} <= {end})", ["#pragma unroll"], str(CHUNK)),
        ("else", [], f"{end} - {chunk}"),
    ):
        yield f"{head} {{"
        yield from (_STEP + line for line in unrolled)
        yield f"{_STEP}for (int {chunk}_row = 0; {chunk}_row < {rows}; {chunk}_row++) {{"
        yield from (_STEP + line for line in body)
        yield f"{_STEP}}}"
        yield "}"


def _unrolled_items(text: Positions, lines: Sequence[str]) -> Iterator[str]:
    """Yields lines in unrolled loops over a thread's items."""
    inside = [*lines]
    for axis in reversed(text.found.axes):
        inside = text.for_each(axis, inside)
    yield from inside


@dataclass(frozen=True)
class _OperandCopy:
    """An operand's part of a chunk that a block copies ahead.

    name: of the tile in the text.
    positions, sums: the text of the positions along the operand's axis, and of those of the sum.
    """

    operand: Operand
    name: str
    positions: Numbering
    sums: Numbering

    @property
    def _walk(self) -> Walk:
        """The text of going on to a thread's next position of the sum."""
        by = tuple(f"{self.name}_by_{self.sums.label(loop)}" for loop in self.sums.loops)
        return Walk(self.sums, self.name, f"{self.name}_distance", by, CHUNK)

    def alignment(self, ring: Ring, around: Surroundings) -> list[str]:
        """Returns the C lines before the loop: where a thread begins to copy, and what it goes on by."""
        return [*self._begin(around)]

    def _begin(self, around: Surroundings) -> Iterator[str]:
        operand, index, name, walk = self.operand, around.dialect.index, self.name, self._walk
        block, count = operand.axis.block, operand.positions
        element = around.dialect.memory_type(around.scop.arrays[operand.array].element)
        inner = {loop.name: loop.first for loop in self.sums.loops}
        first = around.values.element(
            operand.array, [around.values.index(each.substitute(inner)) for each in operand.tile.subscripts]
        )
        yield f"{around.dialect.pointer}const {element} *{name}_from[{count}];"
        yield "#pragma unroll"
        yield f"for (int e = 0; e < {count}; e++) {{"
        yield from (
            _STEP + line for line in self.positions.decoded(f"{block.start}s_at", f"{block.block} + {self._column('e')}", True)
        )
        yield f"{_STEP}{name}_from[e] = &{first};"
        yield "}"
        for loop, by in zip(self.sums.loops, walk.by):
            yield f"const {index} {by} = ({stride(operand.array, operand.tile.subscripts, loop, around)})*{operand.element_bytes};"
        yield f"const int {name}_row = {self._row('') if operand.along_sum else f'thread % {CHUNK}'};"
        yield from walk.declared(f"{name}_row")
        yield f"{index} {name}_distance = {walk.sum_of(f'{name}_row')};"
        if not operand.along_sum:
            yield from self._told("0")

    def _told(self, slot: str) -> Iterator[str]:
        """Yields the C lines by which a thread tells the others the distance of a position of the sum."""
        yield f"if (thread < {CHUNK})"
        yield f"{_STEP}{self.name}_distances[{slot}][thread] = {self.name}_distance;"

    def _column(self, number: str) -> str:
        """Returns the position in the block, along the axis, of what a thread copies, as C. number: of its positions, in turn."""
        operand = self.operand
        if not operand.along_sum:
            extent = operand.axis.extent
            if operand.positions == 1:
                return f"thread % {extent}" if operand.threads > extent else "thread"
            return f"({number}*{operand.threads} + thread)"
        if operand.is_grouped:
            return f"({number}*{operand.threads // CHUNK} + thread / {ROWS * CHUNK} * {ROWS} + thread / {GROUP} % {ROWS})"
        return f"({number}*{operand.threads // CHUNK} + thread / {CHUNK})"

    def _row(self, number: str) -> str:
        """Returns the position of the sum in its chunk of what a thread copies, as C. number: of its copies, in turn."""
        operand = self.operand
        if not operand.along_sum:
            if operand.step == 1:
                return number
            first = f"thread / {operand.axis.extent}"
            return first if number == "0" else f"({number}*{operand.step} + {first})"
        if operand.is_grouped:
            return f"thread / {ROWS * GROUP} % {CHUNK // GROUP} * {GROUP} + thread % {GROUP}"
        return f"thread % {CHUNK}"

    def is_plain(self, around: Surroundings) -> list[str]:
        """Returns no conditions: all blocks copy whole chunks without tests."""
        return []

    def lines(self, ring: Ring, around: Surroundings, plain: bool) -> Iterator[str]:
        """Yields the C lines by which the threads begin to copy a chunk, and, of a whole one, go on to the next."""
        operand, name = self.operand, self.name
        element = around.dialect.memory_type(around.scop.arrays[operand.array].element)
        target = f"{name}[{filled(ring)}][{self._row('0')}][{self._place('0')}]"
        yield f"{around.dialect.shared.replace('__shared__ ', '')}{element} *{name}_to = &{target};"
        left, number = f"{self.sums.end} - {ring.chunk} - {ring.ahead}", self._row("e")
        if operand.along_sum:
            copy = self._copy(f"e*{operand.threads // CHUNK}", f"{name}_from[e]", f"{name}_distance", ring, around)
            lines = [*_unrolled("e", operand.positions, [copy])]
            yield from lines if plain else [f"if ({name}_row < {left}) {{", *(_STEP + line for line in lines), "}"]
        elif plain:
            yield from self._whole(ring, around)
        else:
            yield f"for (int e = 0; {number} < {left}; e++) {{"
            distance = f"{name}_distances[{filled(ring)}][{number}]"
            yield from (_STEP + line for line in self._copies("e", distance, ring, around))
            yield "}"
        if plain:
            yield from self._walk.next()
            yield from [] if operand.along_sum else self._told("slot")

    def _whole(self, ring: Ring, around: Surroundings) -> Iterator[str]:
        """Yields the C lines that copy a whole chunk, several elements whose distances a thread has loaded before."""
        rounds = CHUNK // self.operand.step
        some = min(rounds, _LOADED)
        number = "e" if some == rounds else "(d + e)"
        distance = f"{self.name}_distances[{filled(ring)}][{self._row(number)}]"
        lines = [
            f"{around.dialect.index} {self.name}_by[{some}];",
            *_unrolled("e", some, [f"{self.name}_by[e] = {distance};"]),
            *_unrolled("e", some, [*self._copies(number, f"{self.name}_by[e]", ring, around)]),
        ]
        if some == rounds:
            yield from ("{", *(_STEP + line for line in lines), "}")
            return
        yield "#pragma unroll"
        yield f"for (int d = 0; d < {rounds}; d += {some}) {{"
        yield from (_STEP + line for line in lines)
        yield "}"

    def _copies(self, number: str, distance: str, ring: Ring, around: Surroundings) -> Iterator[str]:
        """Yields the C lines that copy elements of one position of the sum. number: that of the thread's positions, in turn."""
        operand, name = self.operand, self.name
        to = f"{number}*{operand.step * operand.length}"
        if operand.positions == 1:
            yield self._copy(to, f"{name}_from[0]", distance, ring, around)
            return
        to = f"{to} + {self._place('h')} - {self._place('0')}"
        yield from _unrolled("h", operand.positions, [self._copy(to, f"{name}_from[h]", distance, ring, around)])

    def _place(self, number: str) -> str:
        """Returns where in a row of the tile a thread stores what it copies, as C. number: of its positions, in turn."""
        order, column = self.operand.order, self._column(number)
        if order.own == 1:
            return column
        one = column if column.isidentifier() or column.startswith("(") else f"({column})"
        return f"({order.text('', one)} + {one} % {order.width})"

    def _copy(self, to: str, source: str, distance: str, ring: Ring, around: Surroundings) -> str:
        """Returns the C statement that copies an element.

        to: how far behind the first one of the thread. distance: how many bytes behind `source`.
        """
        pointer = around.dialect.pointer
        element = around.dialect.memory_type(around.scop.arrays[self.operand.array].element)
        place = f"({pointer}const {element} *)(({pointer}const char *){source} + {distance})"
        if ring.is_asynchronous:
            return f"{around.use('copy_element')}({self.name}_to + {to}, {place});"
        return f"{self.name}_to[{to}] = *{place};"


def _unrolled(name: str, count: int, lines: Sequence[str]) -> Iterator[str]:
    """Yields C lines in an unrolled loop, whose variable has this name."""
    yield "#pragma unroll"
    yield f"for (int {name} = 0; {name} < {count}; {name}++)" + (" {" if len(lines) > 1 else "")
    yield from (_STEP + line for line in lines)
    if len(lines) > 1:
        yield "}"
