"""Footprints of launches: the sectors of memory that all threads of some blocks access, each counted once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.caches.analytic import line_runs
from polyml.codegen.ir.accesses import reads_and_write
from polyml.codegen.ir.array_layout import Placed
from polyml.model.core.scop import Scop
from polyml.model.counting.cardinality import CannotCount
from polyml.schedule.gpu.loop_roles import SurroundingLoop
from polyml.schedule.gpu.mapping import Mapped, ThreadStatement
from polyml.values import cached_property

TIME = "T"  # the tuple of the loops' values


@dataclass(frozen=True)
class Footprints:
    """A Footprints counts the sectors that a nest's instances access.

    mapped: the nest, with its loops divided among blocks and threads.
    sizes: the values of the SCoP's parameters.
    sector_bytes: the size of a sector.
    """

    mapped: Mapped
    scop: Scop
    sizes: Mapping[str, int]
    sector_bytes: int

    @cached_property
    def _runs(self) -> tuple[tuple[ThreadStatement, isl.Map], ...]:
        """Returns each statement with { S[i] -> T[host, grid, inside] }, the values of the loops around its instances."""
        return tuple((run, self._when(run)) for run in self.mapped.nest.runs())

    @cached_property
    def _grid(self) -> tuple[SurroundingLoop, ...]:
        """Returns the loops of the grid, those of axis x first."""
        return tuple(loop for axis in self.mapped.axes for loop in axis.loops)

    def _when(self, run: ThreadStatement) -> isl.Map:
        loops = (*self.mapped.nest.host, *self._grid, *run.inside)
        values = [polyhedra.expressions(loop.values)[run.statement] for loop in loops]
        found = polyhedra.relation(run.instances.get_space(), TIME, values).intersect_domain(run.instances)
        return polyhedra.at_sizes(found, self.sizes)

    @cached_property
    def _middle(self) -> tuple[int, ...]:
        """Returns the middle value of each loop of the host and the grid, where loops around it have theirs."""
        depth = len(self.mapped.nest.host) + len(self._grid)
        if not depth:
            return ()
        rest = reduce(isl.Set.union, (polyhedra.outer(when.range(), depth) for _, when in self._runs)).coalesce()
        found: list[int] = []
        for dim in range(depth):
            ends = polyhedra.extremes(polyhedra.along(rest, dim))
            if ends is None:
                return ()
            later = polyhedra.extremes(polyhedra.along(polyhedra.bounded(rest, dim, sum(ends) // 2, ends[1]), dim))
            assert later is not None, "there is a value from the middle on"
            found.append(later[0])
            rest = polyhedra.bounded(rest, dim, found[-1], found[-1])
        return tuple(found)

    def whole(self) -> int | None:
        """Returns the sectors that all launches access; those of loads and those of stores count each; None where there are too many
        to count.
        """
        return self._counted({*self.scop.arrays}, (), None)

    def one_launch(self) -> int | None:
        """Returns the sectors that the launch in the middle of the host's loops accesses, as `whole` does."""
        host = len(self.mapped.nest.host)
        return self._counted({*self.scop.arrays}, [(value, value) for value in self._middle[:host]], None)

    def one_block(self, arrays: Collection[str], is_iteration: bool = False) -> int | None:
        """Returns the sectors that the block in the middle loads of some arrays; None where there are too many to count.

        is_iteration: whether only those of one iteration of the threads' outermost loops count.
        """
        host = len(self.mapped.nest.host)
        bounds = [(value, value) for value in self._middle[:host]]
        middle = iter(enumerate(self._middle[host:], host))
        for axis in self.mapped.axes if self._middle else ():
            left, own = axis.extent, []
            for position, value in reversed(
                [next(middle) for _ in axis.loops]
            ):  # of merged loops, as many whole ones as a block has
                first, count = self._first_and_count(position) if axis.merged else (0, left)
                extent = min(left, count)
                start = first + (value - first) // extent * extent
                own.append((start, start + extent - 1))
                left = -(-left // max(count, 1))
            bounds += reversed(own)
        return self._counted(arrays, bounds, is_iteration)

    def _first_and_count(self, position: int) -> tuple[int, int]:
        """Returns the first iteration of a loop around what threads run, and how many it has, where they are the same everywhere."""
        ends = [polyhedra.extremes(polyhedra.along(when.range(), position)) for _, when in self._runs]
        known = [each for each in ends if each is not None]
        return min(low for low, _ in known), max(high for _, high in known) - min(low for low, _ in known) + 1

    def _counted(self, arrays: Collection[str], bounds: Sequence[tuple[int, int]], is_iteration: bool | None) -> int | None:
        """Returns how many sectors accesses to some arrays are to, for values of the outermost loops within bounds.

        is_iteration: whether just one value of the outermost loop in a thread counts, and loads alone; None: stores count too.
        """
        try:
            return self._sum(self._elements(arrays, bounds, is_iteration))
        except CannotCount:
            return None

    def _elements(
        self, arrays: Collection[str], bounds: Sequence[tuple[int, int]], is_iteration: bool | None
    ) -> Iterator[tuple[tuple[str, bool], isl.Set]]:
        """Yields ((array, whether they are stored), { A[e] }), the elements of each access; arguments as in `_counted`."""
        depth = len(self.mapped.nest.host) + len(self._grid)
        for run, when in self._runs:
            times = when.range()
            for dim, (first, last) in enumerate(bounds):
                times = polyhedra.bounded(times, dim, first, last)
            if is_iteration and run.inside and not times.is_empty():
                ends = polyhedra.extremes(polyhedra.along(times, depth))
                assert ends is not None, "loops of a launch are bounded"
                times = polyhedra.bounded(times, depth, sum(ends) // 2, sum(ends) // 2)
            some = when.intersect_range(times).domain()
            statement = self.scop.statements[run.statement]
            for access in reads_and_write(statement):
                is_write = access is statement.write
                if access.array in arrays and not (is_write and is_iteration is not None):
                    relation = polyhedra.at_sizes(access.relation, self.sizes)
                    yield (access.array, is_write), relation.intersect_domain(some).range()

    def _sum(self, some: Iterable[tuple[tuple[str, bool], isl.Set]]) -> int:
        found: dict[tuple[str, bool], isl.Set] = {}
        for key, elements in some:
            found[key] = found[key].union(elements) if key in found else elements
        return sum(
            line_runs.lines([(polyhedra.joined(each), self._place(name))], self.sector_bytes) for (name, _), each in found.items()
        )

    def _place(self, name: str) -> Placed:
        """Returns the place of an array in memory of its own, row by row."""
        array = self.scop.arrays[name]
        shape = tuple(polyhedra.value_at(extent, self.sizes) for extent in array.shape)
        strides = tuple(array.element.size_bytes * prod(shape[dim + 1 :]) for dim in range(len(shape)))
        return Placed(0, shape, strides, array.element.size_bytes * prod(shape))
