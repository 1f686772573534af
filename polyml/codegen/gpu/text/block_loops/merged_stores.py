"""The text of the stores of sums for positions of merged loops: in vectors where elements of four positions are beside each other in memory.

MergedSum   ->   for each position: y_at = &y[n, 0, i, j]; for each of f: y_at[f_from] = y_held[..][..];
MergedSum   ->   for each fourth position: y_at = ...; for each of f: store_vector_f32(&y_at[f_from], y_held[..][..], ...);
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polyml.codegen.gpu.block_loops.merged_sums import MergedSum, PositionAxis
from polyml.codegen.gpu.block_loops.swizzles import VECTOR_BYTES
from polyml.codegen.gpu.block_loops.vector_stores import rows_of_positions, vector_width
from polyml.codegen.gpu.text.block_loops.digits import stride
from polyml.codegen.gpu.text.block_loops.positions import Positions, item_number, register
from polyml.codegen.gpu.text.block_loops.tile_copies import Surroundings
from polyml.codegen.gpu.text.integers import factor
from polyml.codegen.gpu.text.names import named
from polyml.codegen.gpu.text.values import Text
from polyml.dtypes import DType
from polyml.quasi_affine.affine import variable

_STEP = "    "


@dataclass(frozen=True)
class SumStores:
    """A SumStores writes the lines that run what comes behind a sum, and store it, for positions that there are.

    The address of an element is that of the thread's first one, and what the axes add to that, each by its own positions.
    """

    text: Positions

    @property
    def _found(self) -> MergedSum:
        return self.text.found

    @property
    def _around(self) -> Surroundings:
        return self.text.around

    @property
    def _element(self) -> DType:
        return self._around.scop.arrays[self._found.array].element

    def lines(self) -> Iterator[str]:
        """Yields the lines."""
        around, (across, down) = self._around, self._found.axes
        for axis in self._found.axes:
            start, items = axis.block.start, axis.block.items
            yield f"const int {start}s_left = {around.use('least_int')}({start}s_end - {start}, {axis.block.item_step * (items - 1) + 1});"
        yield f"{around.dialect.index} {down.block.start}s_from[{down.block.items}];"
        yield from self.text.for_each(down, [*self.text.decoded_at(down, True), f"{self._from(down)} = {self._offset(down)};"])
        if not self._found.is_asynchronous or not rows_of_positions(self._found, around.scop):  # of CUDA alone
            yield from self._single(across, down)
            return
        yield f"if ({self._is_beside(across, down)}) {{"
        yield from (_STEP + line for line in self._vectors(across, down))
        yield "}"
        yield "else {"
        yield from (_STEP + line for line in self._single(across, down))
        yield "}"

    def _single(self, across: PositionAxis, down: PositionAxis) -> Iterator[str]:
        """Yields the lines that store the elements one by one."""
        found = self._found
        last = [line for each in found.after for line in self.text.lines(each)]
        used = {name for each in found.after for name in self.text.read_by(each)}
        stored = self._around.values.stored(Text(register(found)), self._element)
        decode = [*self.text.decoded_at(down, False)] if used & {loop.name for loop in down.loops} else []
        one = [*decode, *last, f"{self._name}[{self._from(down)}] = {stored};"]
        yield from self.text.for_each(across, self._where(across, [*self._pointer(across, down), *self._rows(down, one)]))

    def _vectors(self, across: PositionAxis, down: PositionAxis) -> Iterator[str]:
        """Yields the lines that store the elements of several positions at once."""
        width, item = vector_width(self._element), across.block.item
        values = [register(self._found).replace(f"[{item}]", f"[{item} + {k}]" if k else f"[{item}]") for k in range(width)]
        store = f"{self._around.use(f'store_vector_{self._element.name}')}(&{self._name}[{self._from(down)}], {', '.join(values)});"
        inside = self._where(across, [*self._pointer(across, down), *self._rows(down, [store])])
        yield "#pragma unroll"
        yield f"for (int {item} = 0; {item} < {across.block.items}; {item} += {width}) {{"
        yield from (_STEP + line for line in inside)
        yield "}"

    def _is_beside(self, across: PositionAxis, down: PositionAxis) -> str:
        """Returns the C text of a test of whether each vector of positions has elements beside each other, the first at a multiple of 16 bytes,
        and is a part of a row of positions, and of those that there are.
        """
        found, around, width = self._found, self._around, vector_width(self._element)
        row = rows_of_positions(found, around.scop)
        others = [loop for axis in (across, down) for loop in axis.loops if loop not in row]
        counts = [factor(around.renamed(loop.count), around.use) for loop in row]
        steps = [stride(found.array, found.subscripts, loop, around) for loop in others]
        firsts = {loop.name: loop.first for axis in (across, down) for loop in axis.loops}
        address = self.text.memory([each.substitute(firsts) for each in found.subscripts])
        tests = [f"{'*'.join(counts)} % {width} == 0", f"({around.dialect.unsigned(64)})&{address} % {VECTOR_BYTES} == 0"]
        tests += [f"{f'({each})' if ' ' in each else each} % {width} == 0" for each in steps if each != "0"]
        return " && ".join([*tests, f"{across.block.start}s_end % {width} == 0"])

    @property
    def _name(self) -> str:
        return f"{named(self._found.array)}_at"

    @staticmethod
    def _from(down: PositionAxis) -> str:
        return f"{down.block.start}s_from[{down.block.item or 0}]"

    def _pointer(self, across: PositionAxis, down: PositionAxis) -> list[str]:
        """Returns the lines that declare the address of the element at a position, in the first iterations of the other axis's loops."""
        dialect = self._around.dialect
        firsts = {loop.name: loop.first for loop in down.loops}
        first = self.text.memory([each.substitute(firsts) for each in self._found.subscripts])
        kind = f"{dialect.pointer}{dialect.memory_type(self._element)}"
        return [*self.text.decoded_at(across, False), f"{kind} *{self._name} = &{first};"]

    def _rows(self, down: PositionAxis, lines: Sequence[str]) -> list[str]:
        """Returns lines in a loop over a thread's positions of the other axis."""
        return self.text.for_each(down, self._where(down, lines))

    @staticmethod
    def _where(axis: PositionAxis, lines: Sequence[str]) -> list[str]:
        """Returns lines behind a test of whether there is the position."""
        return [f"if ({item_number(axis)} < {axis.block.start}s_left) {{", *(_STEP + line for line in lines), "}"]

    def _offset(self, axis: PositionAxis) -> str:
        """Returns the C text of how far from the element at the first iterations that is at a position whose iterations are declared."""
        terms = []
        for loop in axis.loops:
            by = stride(self._found.array, self._found.subscripts, loop, self._around)
            along = self._around.values.index(variable(loop.name) - loop.first)
            factored = along if along.isidentifier() else f"({along})"
            terms += [] if by == "0" else [f"{factored}*({by})" if " " in by else f"{factored}*{by}" if by != "1" else factored]
        return " + ".join(terms) or "0"
