"""The loads and stores of a sum for positions of merged loops: of copies to shared memory, of what threads read there, and of the sums.

for 16 positions of (c, p, q):                    x[n, c, i + p, j + q]     at (blocks, threads, chunk, element), with n, i, j of a position
    x_tile[k][...] = x[n, c, i + p, j + q]   ->   x_tile[k][...]            at the same
    for k < 16: y_held += x_tile[k][...]*...      x_tile[k][...]            at (blocks, threads, chunk, k, item)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from polyml.codegen.gpu.axes import MergedLoop
from polyml.codegen.gpu.block_loops.merged_sums import CHUNK, DISTANCE_BYTES, GROUP, ROWS, MergedSum, Operand, PositionAxis
from polyml.codegen.gpu.block_loops.vector_stores import rows_of_positions, vector_width
from polyml.codegen.gpu.text.names import named
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Instance
from polyml.gpu.places import Place, Touch
from polyml.model.core.printer import access_text
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import Affine, Compare, extremum, floor_div, modulo, variable


@dataclass(frozen=True)
class MergedWalk:
    """A walk over the text of a sum for positions of merged loops.

    thread: the number of a thread in its block, in the dimensions of a place.
    loads: returns a load of what the launch does not write, as the compiler makes it.
    instance: returns the loads and the store of an instance, but those of the sum.
    """

    found: MergedSum
    scop: Scop
    thread: Affine
    loads: Callable[[Touch], Iterator[Touch]]
    instance: Callable[[Instance, Place], Iterator[Touch]]

    def touches(self, place: Place) -> Iterator[Touch]:
        """Yields the loads and stores in order. place: that of a thread's first line."""
        found = self.found
        summed = place if found.before or found.after else place.where(Compare(">=", variable(found.count) - 1))
        if found.is_loaded(self.scop):
            yield self._sums(self.items(summed, False), is_write=False)
        for each in found.before:
            yield from self.instance(each, self.items(place, False))
        for operand in found.operands:
            yield from self._tell(operand, place)
        chunk = place.inside((found.chunk,), Affine(), CHUNK)
        chunk = chunk.where(Compare(">=", variable(found.count) - 1 - variable(found.chunk)))
        for operand in found.operands:
            yield from self._copy(operand, chunk)
            yield from self._tell(operand, chunk.where(Compare(">=", variable(found.count) - CHUNK - variable(found.chunk))))
        for operand in found.operands:
            yield from self._reads(operand, chunk)
        for each in found.after:
            yield from self.instance(each, self.items(place, True))
        width = self._stored_together(place)
        yield replace(self._sums(self.items(summed, True, width), is_write=True), width=width)

    def _stored_together(self, place: Place) -> int:
        """Returns how many elements a thread stores at once: several where `rows_of_positions` and the sizes allow it."""
        row = rows_of_positions(self.found, self.scop) if self.found.is_asynchronous else ()
        if not row:
            return 1
        across, table = self.found.axes[0], AccessTable(self.scop.context)
        array, width = self.scop.arrays[self.found.array], vector_width(self.scop.arrays[self.found.array].element)
        extents = [place.index(table.affine(each)).constant for each in array.shape]
        inside = {loop.name for loop in row}
        steps = [
            factor * prod(extents[k + 1 :])
            for k, subscript in enumerate(self.found.subscripts)
            for name, factor in subscript.terms
            if name not in inside
        ]
        counts = prod(place.index(loop.count).constant for loop in row)
        return width if all(each % width == 0 for each in (counts, *steps, place.index(variable(across.count)).constant)) else 1

    def runs(self, place: Place) -> Iterator[tuple[str, str, Place]]:
        """Yields each instance as `thread_code.runs` does."""
        found = self.found
        items = self.items(place, True)
        yield from ((each.statement, "", items) for each in found.before)
        inner = items.inside((f"{found.chunk}_row",), Affine(), 1, label=found.chunk)
        yield found.update.statement, "", inner.until(variable(found.count) - 1 - variable(f"{found.chunk}_row"))
        yield from ((each.statement, "", items) for each in found.after)

    def items(self, place: Place, is_store: bool, width: int = 1) -> Place:
        """Returns the place inside the loops over a thread's items.

        is_store: whether they run only where there are positions.
        width: how many of the first axis's items there are at once.
        """
        for axis in self.found.axes:
            block, step = axis.block, width if axis is self.found.axes[0] else 1
            if block.item:
                place = place.inside((block.item,), Affine(), step, block.items // step)
            position = variable(block.start) + (variable(block.item) * block.item_step if block.item else Affine())
            if is_store:
                place = place.where(Compare(">=", variable(axis.count) - 1 - position))
            place = _at(axis, position, place, not is_store)
        return place

    def _sums(self, place: Place, is_write: bool) -> Touch:
        found = self.found
        statement = self.scop.statements[found.update.statement]
        text = f"{access_text(statement.write)} of {found.update.statement}"
        subscripts = tuple(place.index(each) for each in found.subscripts)
        return Touch(text, found.array, is_write, None, place, subscripts, held=(found.loop.name or found.loop.var,))

    def _tell(self, operand: Operand, place: Place) -> Iterator[Touch]:
        """Yields the store by which threads tell the others how far from an operand's first element those of positions of the sum are."""
        if not operand.along_sum:
            some = replace(place, conditions=(*place.conditions, Compare(">=", Affine(CHUNK - 1) - self.thread)))
            yield self._distance(operand, some, self.thread, is_write=True)

    def _distance(self, operand: Operand, place: Place, row: Affine, is_write: bool) -> Touch:
        width = DISTANCE_BYTES // operand.element_bytes
        text, name = f"distances of {operand.array}", f"{named(operand.array)}_tile_distances"
        return Touch(text, operand.array, is_write, None, place, (row * width,), is_copy=True, width=width, shared=name)

    def _copy(self, operand: Operand, chunk: Place) -> Iterator[Touch]:
        """Yields the load and the store by which the threads of a block copy an operand's elements of a chunk."""
        place = chunk.inside((), Affine(), 1, CHUNK // operand.step if not operand.along_sum else operand.positions)
        number = variable(place.dims[-1])
        if not operand.along_sum and operand.positions > 1:
            place = place.inside((), Affine(), 1, operand.positions)
        row, column = _copied(operand, self.thread, number, variable(place.dims[-1]))
        first = variable(self.found.chunk)
        place = replace(place, unrolled=chunk.unrolled)
        if not operand.along_sum:
            told = replace(place, values={**place.values, "row'": row}).where(
                Compare(">=", variable(self.found.count) - 1 - first - variable("row'"))
            )
            yield self._distance(operand, told, row, is_write=False)
        position = place.index(variable(operand.axis.block.block)) + column
        place = replace(place, values={**place.values, "row'": row, "position'": position})
        place = place.where(Compare(">=", variable(self.found.count) - 1 - first - variable("row'")))
        inside = _decoded(self.found.inner, first + variable("row'"), _at(operand.axis, variable("position'"), place, True))
        subscripts = tuple(inside.index(each) for each in operand.tile.subscripts)
        order, text = operand.order, f"{operand.array} to shared memory"
        own, width = order.own, order.width
        vector = floor_div(column, width)
        at = (
            column
            if own == 1
            else modulo(vector, own) * (order.pitch * width) + floor_div(vector, own) * width + modulo(column, width)
        )
        yield Touch(text, operand.array, False, None, inside, subscripts, is_copy=True)
        yield Touch(text, operand.array, True, operand, inside, (row, at), is_copy=True)

    def _reads(self, operand: Operand, chunk: Place) -> Iterator[Touch]:
        """Yields the loads of an operand from shared memory in a chunk."""
        found, row = self.found, f"{self.found.chunk}_row"
        place = chunk.inside((row,), Affine(), 1, label=found.loop.name or found.loop.var)
        place = place.until(Affine(CHUNK - 1) - variable(row), variable(found.count) - 1 - variable(found.chunk) - variable(row))
        block = operand.axis.block
        if block.item:
            place = place.inside((block.item,), Affine(), 1, block.items)
        statement = self.scop.statements[found.update.statement]
        access = next(each for each in statement.reads if each.array == operand.array)
        text = f"{access_text(access)} of {found.update.statement}"
        yield from self.loads(
            Touch(text, operand.array, False, operand, place, (place.index(variable(row)), place.index(operand.index)))
        )


def _at(axis: PositionAxis, position: Affine, place: Place, is_limited: bool) -> Place:
    """Returns the place with the iterations of merged loops at a position. is_limited: whether positions behind the last one have its."""
    limited = extremum("min", (position, variable(axis.count) - 1)) if is_limited else position
    return _decoded(axis.loops, limited, place)


def _decoded(loops: Sequence[MergedLoop], position: Affine, place: Place) -> Place:
    """Returns the place with the iterations of loops in the combination with a number, an expression of names of the program."""
    values, rest = {}, place.index(position)
    for k, loop in reversed([*enumerate(loops)]):
        count = max(place.index(loop.count).constant, 1)
        values[loop.name] = place.index(loop.first) + (modulo(rest, count) if k else rest)
        rest = floor_div(rest, count)
    return replace(place, values={**place.values, **values})


def _copied(operand: Operand, thread: Affine, number: Affine, other: Affine) -> tuple[Affine, Affine]:
    """Returns the position in its chunk, and that along the axis, of what a thread copies. The text is that of `text.block_loops.merged_loops`.

    number, other: of its copies, in turn.
    """
    extent, threads = operand.axis.extent, operand.threads
    if not operand.along_sum:
        if operand.positions == 1:
            return number * operand.step + floor_div(thread, extent), modulo(thread, extent)
        return number, other * threads + thread
    first = number * (threads // CHUNK)
    if operand.is_grouped:
        row = modulo(floor_div(thread, ROWS * GROUP), CHUNK // GROUP) * GROUP + modulo(thread, GROUP)
        return row, first + floor_div(thread, ROWS * CHUNK) * ROWS + modulo(floor_div(thread, GROUP), ROWS)
    return modulo(thread, CHUNK), first + floor_div(thread, CHUNK)
