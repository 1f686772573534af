"""The text of loops over the positions that a thread has of merged loops, and of the iterations that these stand for.

positions p, p + 1, ... of (n, i, j)   ->   for (int p_item = 0; ...) { n = (p + p_item) / J / I; i = (p + p_item) / J % I; j = (p + p_item) % J; ... }
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from polyml.codegen.gpu.block_loops.merged_sums import MergedSum, PositionAxis
from polyml.codegen.gpu.text.block_loops.digits import Numbering
from polyml.codegen.gpu.text.block_loops.tile_copies import Surroundings
from polyml.codegen.gpu.text.names import named
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Instance
from polyml.model.core.nest import subvalues
from polyml.model.core.scop import Gather, Index
from polyml.quasi_affine.affine import Affine

Memory = Callable[[Sequence[Affine]], str]
_STEP = "    "


def register(found: MergedSum) -> str:
    """Returns the C text of the register with a sum of a thread."""
    return f"{named(found.array)}_held" + "".join(f"[{item}]" for item, _ in found.items)


@dataclass(frozen=True)
class Positions:
    """The positions of one sum, as text.

    memory: returns the C text of an element in memory of the array with the sums.
    lines: returns those of an instance.
    """

    found: MergedSum
    memory: Memory
    around: Surroundings
    lines: Callable[[Instance], Iterator[str]]

    def numbering(self, axis: PositionAxis) -> Numbering:
        """Returns the text of an axis's positions."""
        return Numbering(f"{axis.block.start}s", axis.loops, axis.count, self.around)

    @property
    def sum_numbering(self) -> Numbering:
        """The text of the sum's positions."""
        return Numbering(self.found.chunk, self.found.inner, self.found.count, self.around)

    def names(self) -> Iterator[str]:
        return (loop.name for axis in self.found.axes for loop in axis.loops)

    def read_by(self, instance: Instance) -> set[str]:
        """Returns the names of iterations on which it depends what an instance reads, besides the sum."""
        scop = self.around.scop
        statement = scop.statements[instance.statement]
        point, table = dict(zip(statement.iterators, instance.point)), AccessTable(scop.context)
        reads = [each for each in statement.reads if each.array != self.found.array]
        used = {name for each in reads for value in table.subscripts(each) for name in value.substitute(point).names}
        is_plain = not any(isinstance(each, (Gather, Index)) for each in subvalues(statement.value))
        return used if is_plain else {*self.names()}

    def for_each(self, axis: PositionAxis, lines: Sequence[str]) -> list[str]:
        """Returns lines in an unrolled loop over a thread's items along an axis."""
        block = axis.block
        if not block.item:
            return [*lines]
        head = f"for (int {block.item} = 0; {block.item} < {block.items}; {block.item}++) {{"
        return ["#pragma unroll", head, *(_STEP + line for line in lines), "}"]

    def decoded_at(self, axis: PositionAxis, is_limited: bool) -> Iterator[str]:
        """Yields the lines that declare the iterations at the position of an item."""
        yield from self.numbering(axis).decoded(f"{axis.block.start}s_at", f"{axis.block.start}{item_offset(axis)}", is_limited)

    def for_items(self, lines: Sequence[str], used: set[str]) -> Iterator[str]:
        """Yields lines in unrolled loops over a thread's items, with the iterations that their positions stand for: those behind the
        last one have its iterations.

        used: the names of iterations that the lines have.
        """
        inside = [*lines]
        for axis in reversed(self.found.axes):
            if used & {loop.name for loop in axis.loops}:
                inside = [*self.decoded_at(axis, True), *inside]
            inside = self.for_each(axis, inside)
        yield from inside


def item_offset(axis: PositionAxis) -> str:
    """Returns the C text of how far a thread's item is from its first position, behind a plus sign; "" where it has one item."""
    return f" + {item_number(axis)}" if axis.block.item else ""


def item_number(axis: PositionAxis) -> str:
    block = axis.block
    return "0" if not block.item else block.item if block.item_step == 1 else f"{block.item}*{block.item_step}"
