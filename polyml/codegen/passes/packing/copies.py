"""The data of packing: reads, the copies of tiles that serve them, and what is known when copies are chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from polyml.codegen.analysis.access_boxes import AccessBox
from polyml.codegen.analysis.access_conflicts import ConflictTest, Enclosing
from polyml.codegen.costs.trip_estimates import middle_values, trips
from polyml.codegen.ir.abi import SlotMap
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Instance, Loop, Program, instances
from polyml.machines.cpu import CpuMachine
from polyml.model.core.scop import Access, Array, Statement, Value
from polyml.quasi_affine.affine import Affine
from polyml.values import cached_property


@dataclass(frozen=True, eq=False)
class TileRead:
    """One read of an instance, in a nest of loops over tiles.

    statement: the instance's statement.
    number: the position of the read in the statement's reads.
    instance: the instance.
    position: the position of the instance among those inside of the nest, in textual order.
    around: the loops and guards around the instance, those of the nest among them, outermost first.
    window: the box of elements that the read accesses in one run of the body in which a copy for it may be filled.
    moving: the loop variables on which its subscripts depend.
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
        """The access relation, { S[i] -> A[...] }."""
        return self.statement.reads[self.number]

    @property
    def loops(self) -> list[Loop]:
        """The loops around the read, outermost first."""
        return [node for node in self.around if isinstance(node, Loop)]

    def outside(self, chain: tuple[Loop, ...], level: int) -> tuple[Enclosing, ...]:
        """Returns the loops and guards around the body of chain[level], or around the chain for level -1."""
        return self.around[: self.around.index(chain[0]) if level < 0 else self.around.index(chain[level]) + 1]

    def below(self, chain: tuple[Loop, ...], level: int) -> list[Loop]:
        """Returns the loops around the read that stand in the body of chain[level]; for level -1 also those of the chain."""
        return [node for node in self.around[len(self.outside(chain, level)) :] if isinstance(node, Loop)]

    def inner_names(self, chain: tuple[Loop, ...], level: int) -> set[str]:
        """Returns the names that the loops around the read, in the body of chain[level], define: their variables and the names of
        their chunks' last iterations. They have no value yet where that body begins.
        """
        return {name for loop in self.below(chain, level) for name in (loop.var, loop.last)}

    def reuse_loop(self, chain: tuple[Loop, ...], level: int) -> Loop | None:
        """Returns the outermost loop around the read, in the body of chain[level], whose iterations all read the same elements;
        None if there is none.
        """
        return next((loop for loop in self.below(chain, level) if loop.var not in self.moving), None)

    @cached_property
    def tile_steps(self) -> dict[str, int]:
        """{ variable of a loop over single iterations -> the size of the innermost tile that it runs over, 1 if it runs over none
        }, for the loops around the read, outermost first.
        """
        tiles = {loop.var: loop.step for loop in self.loops if loop.role == "tile"}
        steps = {}
        for loop in self.loops:
            if loop.role != "tile":
                around = [name for name in tiles if any(name in e.names for e in loop.lower)]
                steps[loop.var] = tiles[around[-1]] if around else 1
        return steps

    @property
    def in_tile(self) -> set[str]:
        """The variables of those loops around the read that run over the iterations of a tile which has more than one; a register
        tile may take several of these iterations.
        """
        return {name for name, step in self.tile_steps.items() if step > 1}


@dataclass(frozen=True, eq=False)
class TileCopy:
    """A copy of a box of an array's elements, in memory of its own, from which reads are served.

    window: the box.
    value: what the copy contains in place of each element, which Load stands for: the element itself, or its product with numbers
        that never change (`alpha*A[i, k]`), which is then computed once.
    order: the array's dimensions as the copy stores them; the one along which elements are neighbours is the last.
    level: the copy is filled in the body of chain[level]; -1: before all of the loops.
    chain: the loops over tiles, outermost first.
    panel: the loop over tiles whose tiles are stored one after the other, see `storage.panel`; None if the copy has no panels.
    is_shared: whether a loop inside is parallel, so that threads share the copy.
    is_requested: whether the schedule asks for the copy, so that it is made whether or not it pays.
    name: the copy's array; "" until it is declared.
    reads: the reads that are served from the copy.
    word: how many elements along the last dimension but one lie side by side (`Window.word`).
    """

    window: AccessBox
    value: Value
    order: tuple[int, ...]
    level: int
    chain: tuple[Loop, ...]
    panel: Loop | None = None
    is_shared: bool = False
    is_requested: bool = False
    name: str = ""
    reads: tuple[TileRead, ...] = ()
    word: int = 1

    @property
    def elements(self) -> tuple:
        """A key that is equal for copies with the same elements in the same order."""
        return self.window, self.order, str(self.value)


@dataclass(frozen=True, eq=False)
class PackingContext:
    """The program, machine and sizes by which copies are chosen.

    program: the program without the copies.
    machine: the processor.
    layouts: the memory layout of each array argument, as the calling convention has it.
    sizes: values of parameters to judge by, or None.
    """

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
        """The values of parameters to judge by; empty if there are none."""
        return self.sizes or {}

    def array(self, copy: TileCopy) -> Array:
        """Returns the array that the copy is made from."""
        return self.program.scop.arrays[copy.window.array]

    def subscripts(self, read: TileRead) -> tuple[Affine, ...]:
        """Returns the subscripts of the element read, in terms of loop variables."""
        return self.tests.subscripts((read.access, read.instance))

    def written(self, read: TileRead) -> tuple[Affine, ...]:
        """Returns the subscripts of the element that the read's instance writes."""
        return self.tests.subscripts((read.statement.write, read.instance))

    def unit_dim(self, array: str) -> int | None:
        """Returns the dimension along which the array's elements are neighbours in memory; None if there is none, or sizes are
        not known.
        """
        return self._unit_dims[array] if self.sizes is not None else None

    def counts(self, copy: TileCopy) -> list[int]:
        """Returns, by dimension of the array, the number of elements in the copy."""
        extents = zip(self.array(copy).shape, copy.window.lengths)
        return [self.table.affine(e).evaluate(self.known_sizes) if n is None else n for e, n in extents]

    def size_bytes(self, copy: TileCopy) -> int:
        """Returns the bytes of the copy's elements, without padding."""
        return prod(self.counts(copy)) * self.array(copy).element.size_bytes

    def reuse_count(self, read: TileRead, copy: TileCopy) -> int:
        """Returns how often the read reads each element of the copy, at the sizes expected."""
        known = middle_values(read.loops, self.known_sizes)
        return prod(trips(loop, known) for loop in read.below(copy.chain, copy.level) if loop.var not in read.moving)

    def served(self, copy: TileCopy, around: tuple[Enclosing, ...]) -> list[Loop]:
        """Returns the loops around a copy's chain, all of whose iterations may read one copy: those around, if its box depends on
        none of them and nothing inside of them writes the array; else none.

        around: the loops and guards around the chain.
        """
        found = [each for each in around if isinstance(each, Loop)]
        if copy.level >= 0 or len(found) < len(around) or any(loop.var in copy.window.names for loop in found):
            return []
        inside = instances(found[0].body) if found else ()
        statements = self.program.scop.statements
        return [] if any(statements[each.statement].write.array == copy.window.array for each in inside) else found
