"""Copies of tiles as values: which reads they serve, what they hold, and what is known where they are chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

from polyml.codegen.analysis.access_boxes import AccessBox
from polyml.codegen.analysis.access_conflicts import ConflictTest, Enclosing
from polyml.codegen.analysis.trip_estimates import middle_values, trips
from polyml.codegen.ir.abi import SlotMap
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.linexpr import Lin
from polyml.codegen.ir.program import Instance, Loop, Program
from polyml.machines.cpu import CpuMachine
from polyml.model.core.scop import Access, Array, Statement, Value


@dataclass(frozen=True, eq=False)
class TileRead:
    """One read of an instance, in a nest of loops over tiles.

    number: of the read in its statement.
    position: of the instance among those inside the nest, in textual order.
    around: the loops and guards that enclose it, those of the nest among them, outermost first.
    window: the part of the array that it stays in while the loops inside some level of the nest run.
    moving: the loop variables that its subscripts change with.
    """

    statement: Statement
    number: int
    instance: Instance
    position: int
    around: tuple[Enclosing, ...]
    window: AccessBox
    moving: frozenset[str]

    @property
    def access(self) -> Access:
        return self.statement.reads[self.number]

    @property
    def loops(self) -> list[Loop]:
        """All loops around the read, outermost first."""
        return [node for node in self.around if isinstance(node, Loop)]

    def outside(self, chain: tuple[Loop, ...], level: int) -> tuple[Enclosing, ...]:
        """What is around the read and around the body of chain[level]; level -1: around the chain."""
        return self.around[: self.around.index(chain[0]) if level < 0 else self.around.index(chain[level]) + 1]

    def below(self, chain: tuple[Loop, ...], level: int) -> list[Loop]:
        """The loops around the read, inside the body of chain[level]."""
        return [node for node in self.around[len(self.outside(chain, level)) :] if isinstance(node, Loop)]

    def unknown(self, chain: tuple[Loop, ...], level: int) -> set[str]:
        """The names of loops around the read that have no value in the body of chain[level]."""
        return {name for loop in self.below(chain, level) for name in (loop.var, loop.last)}

    def again(self, chain: tuple[Loop, ...], level: int) -> Loop | None:
        """The outermost loop inside chain[level] that goes over the same elements again."""
        return next((loop for loop in self.below(chain, level) if loop.var not in self.moving), None)

    @cached_property
    def tile_steps(self) -> dict[str, int]:
        """Of the loops over single iterations around the read, outermost first, how many iterations the innermost tile around has."""
        tiles = {loop.var: loop.step for loop in self.loops if loop.role == "tile"}
        steps = {}
        for loop in self.loops:
            if loop.role != "tile":
                around = [name for name in tiles if any(name in e.names for e in loop.lower)]
                steps[loop.var] = tiles[around[-1]] if around else 1
        return steps

    @property
    def in_tile(self) -> set[str]:
        """The loops of which a register tile has several iterations."""
        return {name for name, step in self.tile_steps.items() if step > 1}


@dataclass(frozen=True, eq=False)
class TileCopy:
    """A window of an array with memory of its own.

    name: of the copy; "" until it is declared.
    value: what the copy holds of each element, in which Load is the element: itself, or what a statement makes of it with numbers
        that never change (`alpha*A[i, k]`), so that it is made once.
    order: the array's dimensions as the copy stores them, the one along which elements are neighbours last.
    level: in the body of which loop of the chain it is filled, -1: before all of them.
    panel: the loop over tiles whose tiles are stored one after the other, see `storage.panel`; None where rows are whole.
    is_shared: a loop inside goes to threads.
    is_asked: the schedule asks for it, whether it pays or not.
    reads: what it serves.
    """

    window: AccessBox
    value: Value
    order: tuple[int, ...]
    level: int
    chain: tuple[Loop, ...]
    panel: Loop | None = None
    is_shared: bool = False
    is_asked: bool = False
    name: str = ""
    reads: tuple[TileRead, ...] = ()

    @property
    def elements(self) -> tuple:
        """What copies of the same elements have in common."""
        return self.window, self.order, str(self.value)


@dataclass(frozen=True, eq=False)
class PackingContext:
    """What is known where copies are chosen: the program before them, the machine, and sizes to judge by, if there are any."""

    program: Program
    machine: CpuMachine
    layouts: tuple[str, ...]
    sizes: Mapping[str, int] | None

    @cached_property
    def table(self) -> AccessTable:
        return AccessTable(self.program.scop.context)

    @cached_property
    def tests(self) -> ConflictTest:
        return ConflictTest(self.program.scop, self.table)

    @cached_property
    def _unit_dims(self) -> dict[str, int | None]:
        slots = SlotMap.of(self.program, self.layouts)
        return {name: slots.unit_dim(array) for name, array in self.program.scop.arrays.items()}

    @property
    def known_sizes(self) -> Mapping[str, int]:
        """The sizes to judge by, none where there are none."""
        return self.sizes or {}

    def array(self, copy: TileCopy) -> Array:
        """The array of which the copy has a part."""
        return self.program.scop.arrays[copy.window.array]

    def subscripts(self, read: TileRead) -> tuple[Lin, ...]:
        """The element read, in terms of loop variables."""
        return self.tests.subscripts((read.access, read.instance))

    def written(self, read: TileRead) -> tuple[Lin, ...]:
        """The element that the same instance writes."""
        return self.tests.subscripts((read.statement.write, read.instance))

    def unit_dim(self, array: str) -> int | None:
        """The dimension along which the array's elements are neighbours, where sizes are known and that is."""
        return self._unit_dims[array] if self.sizes is not None else None

    def counts(self, copy: TileCopy) -> list[int]:
        """Elements of the copy per dimension of the array."""
        extents = zip(self.array(copy).shape, copy.window.lengths)
        return [self.table.affine(e).evaluate(self.known_sizes) if n is None else n for e, n in extents]

    def size_bytes(self, copy: TileCopy) -> int:
        return prod(self.counts(copy)) * self.array(copy).element.size_bytes

    def times(self, read: TileRead, copy: TileCopy) -> int:
        """How often an element of the copy is read at the sizes expected."""
        known = middle_values(read.loops, self.known_sizes)
        return prod(trips(loop, known) for loop in read.below(copy.chain, copy.level) if loop.var not in read.moving)
