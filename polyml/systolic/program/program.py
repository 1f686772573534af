"""What the units of an array do, cycle by cycle, in each fold of a plan.

Units are numbered row by row. Every read of a statement has a register in each unit. In a cycle

    advance    registers take what others had `cycles` before, `offset` units away: all units in the same way
    transfer   some take it from elsewhere
    load       some take an element of a memory
    broadcast  all units of a row or a column take what one of them has now
    compute    every unit makes every statement's value of its registers; without an instance it makes one that nobody takes.
               Sums along a wire go on in no cycle: each unit takes what the one before it has just made
    store      some put the value into a memory

Values come by links and wires in all instances but those where chains begin, so that what is listed unit by unit is what goes in and out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from operator import mul

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.model.core.dependence import SourceOrder
from polyml.model.core.scop import Access, Index
from polyml.model.counting.lattice_points import affine, lattice, row_value
from polyml.systolic.folding.folds import Folds, fold_points
from polyml.systolic.folding.preloading import shifts
from polyml.systolic.program.events import Events, Memory, Places, Row, Runs, in_cycles, runs
from polyml.systolic.program.fold_program import RESULT, Broadcast, FoldProgram, Operand, Register, Wire, cell, element, line
from polyml.systolic.program.interface import Between
from polyml.systolic.recurrences.recurrence import Recurrence
from polyml.systolic.recurrences.spacetime import SpaceTime, Vector, linear


@dataclass(frozen=True)
class _Source:
    """`register` of the instance `vector` before, along the axes, or by a wire from there: 0 down a column, 1 along a row.
    pairs: { S[p] -> T[q] : T[q] has it from S[p] }.
    """

    register: Register
    vector: Vector
    pairs: isl.Map
    along: int | None = None


class _Fold:
    """Where the points { [o, a] } of a fold are in time and on the array."""

    def __init__(
        self, number: tuple[int, ...], corner: tuple[int, ...], points: isl.Set, recurrence: Recurrence, mapping: SpaceTime
    ):
        self.number, self.corner = number, corner
        self.instances = {name: recurrence.embedding_of(name).intersect_range(points).domain() for name in recurrence.statements}
        ranges = polyhedra.ranges(points.apply(mapping.relation(len(recurrence.outer))))
        (self.start, last), *places = ranges[-1 - len(corner) :]
        self.cycles = last - self.start + 1
        self.used = tuple((low - first, high - first) for (low, high), first in zip(places, corner))
        self.rows = places[0][1] - places[0][0] + 1


class NestProgram:
    """The folds of a plan in their order. units: of an array of its shape; cells: by statement."""

    def __init__(self, between: Between, folds: Folds):
        self.folds, self._between, self._scop = folds, between, between.scop
        self._recurrence, self._sizes = folds.recurrence, dict(folds.recurrence.sizes)
        self.units = prod(folds.shape)
        self.grid = folds.shape if len(folds.shape) == 2 else (1, *folds.shape)
        self._steps = (folds.shape[-1], 1) if len(folds.shape) == 2 else (1,)
        statements = [self._scop.statements[name] for name in self._recurrence.statements]
        self.cells = {s.name: cell(self._scop, s) for s in statements}
        self._sources = self._found_sources()
        self._kinds = {(s.use.statement, s.use.read): s.use.kind for s in self._recurrence.streams}
        self._times = {s.name: self._row(s.name, folds.mapping.time) for s in statements}
        self._coordinates = {s.name: [self._row(s.name, row) for row in folds.mapping.space] for s in statements}
        self._known: dict[tuple, tuple[FoldProgram, np.ndarray]] = {}
        self._elements: dict[int, Row] = {}  # by access

    def __iter__(self) -> Iterator[FoldProgram]:
        for number, corner, points in fold_points(self.folds):
            yield self._program(_Fold(number, corner, points, self._recurrence, self.folds.mapping))

    def _program(self, fold: _Fold) -> FoldProgram:
        key = self._alike(fold)
        if key in self._known:
            return self._moved(*self._known[key], fold)
        registers = [(name, read) for name, each in self.cells.items() for read in range(len(each.types))]
        operands = {register: self._operand(register, fold) for register in registers}
        stores = tuple(store for name in self.cells for store in self._stores(name, fold))
        preload = fold.rows * shifts(self._recurrence, self.folds.mapping)
        active = sum(self._active(name, fold) for name in self.cells)
        program = FoldProgram(fold.number, fold.cycles, preload, operands, stores, fold.used, active)
        if key is not None:
            self._known[key] = program, self._corner_instance(fold)
        return program

    # -- folds that are alike ----------------------------------------------------------------------------------------

    def _alike(self, fold: _Fold) -> tuple | None:
        """The same of folds whose programs differ by the elements' numbers alone; None where more may differ: where values that
        other folds made come in, integers of the loops are used, or an axis has several loops.
        """
        if not self._are_shifted:
            return None
        ((name, _),) = self.cells.items()
        first = self._corner_instance(fold)
        points = polyhedra.translated(fold.instances[name], -first)
        units = tuple(int(affine(*row, first) - corner) for row, corner in zip(self._coordinates[name], fold.corner))
        return str(points), units, int(affine(*self._times[name], first)) - fold.start

    @cached_property
    def _are_shifted(self) -> bool:
        """Whether folds of one shape have the same programs but for the elements' numbers."""
        if len(self.cells) > 1 or any(len(axis.loops) > 1 for axis in self._recurrence.axes):
            return False
        ((name, each),) = self.cells.items()
        registers = ((name, read) for read in range(len(each.statement.reads)))
        if each.indices or any(self._between.makers[register] for register in registers if not self.is_sum(register)):
            return False
        return name in self._between.sums or self._between.domain(name).is_subset(self._between.last[name])

    def _corner_instance(self, fold: _Fold) -> np.ndarray:
        """The least value of each loop."""
        ((_, instances),) = fold.instances.items()
        return np.array([least for least, _ in polyhedra.ranges(instances)], np.int64)

    def _moved(self, program: FoldProgram, before: np.ndarray, fold: _Fold) -> FoldProgram:
        """The program of a fold that is alike, of another one's first instance."""
        step = self._corner_instance(fold) - before
        ((_, each),) = self.cells.items()

        def moved(events: Events | Runs, access: Access) -> Events | Runs:
            row, _ = self._element(access)
            return events.moved(int(affine(row, 0, step)))

        operands = {
            (name, read): replace(operand, loads=tuple(moved(load, each.statement.reads[read]) for load in operand.loads))
            for (name, read), operand in program.operands.items()
        }
        stores = tuple((name, moved(events, each.statement.write)) for name, events in program.stores)
        return replace(program, number=fold.number, operands=operands, stores=stores)

    # -- what comes in -----------------------------------------------------------------------------------------------

    def _operand(self, register: Register, fold: _Fold) -> Operand:
        name, read = register
        each, instances = self.cells[name], fold.instances[name]
        if read >= len(each.statement.reads):
            index = each.indices[read - len(each.statement.reads)]
            return Operand(None, (), (self._numbers(name, index, instances, fold),))
        if register not in self._sources:
            return self._everywhere(register, fold)
        wire, transfers, wired, driven, rest = None, [], [], [], instances
        for source in self._sources[register]:
            pairs = source.pairs.intersect_domain(fold.instances[source.register[0]]).intersect_range(rest)
            coming = pairs.range()
            if coming.is_empty():
                continue
            rest = rest.subtract(coming)
            cycles, *steps = self.folds.mapping.steps(source.vector)
            if source.along is not None:
                here = Wire(source.register, cycles, (0,) * len(steps), 0)
                driven.append((here, source.along, self._driving(name, source.register[0], pairs, fold)))
                continue
            found = Wire(source.register, cycles, tuple(steps), sum(map(mul, steps, self._steps)))
            if cycles == 0 and source.register == register:
                wired.append((found.along, pairs))
            elif wire is None:
                wire = found
            else:
                transfers.append((found, self._places(name, lattice(coming), fold)[0]))
        loads = tuple(self._loads(register, rest.coalesce(), fold))
        transfers += [(here, drivers) for here, _, drivers in driven]
        broadcasts = (*self._broadcasts(name, wired, fold), *(Broadcast(along, drivers) for _, along, drivers in driven))
        return Operand(wire, tuple(transfers), loads, broadcasts)

    def _driving(self, name: str, maker: str, pairs: isl.Map, fold: _Fold) -> Places:
        """Units with values { S[p] }, in the cycles in which { T[q] } take them."""
        row, start = self._times[name]
        loops = [f"i{k}" for k in range(len(row))]
        times = pairs.apply_range(isl.Map(f"{{ {name}[{', '.join(loops)}] -> [{linear(row, loops, start - fold.start)}] }}"))
        found = lattice(polyhedra.flat(times))
        return in_cycles(found[:, -1], affine(*self._unit(maker, fold), found[:, :-1]), fold.cycles)[0]

    def _broadcasts(self, name: str, wired: Sequence[tuple[int, isl.Map]], fold: _Fold) -> Iterator[Broadcast]:
        """wired: (along, { p -> q : q takes what p has in the same cycle }). What takes from none of its line drives it."""
        for along in sorted({along for along, _ in wired}):
            pairs = [each for other, each in wired if other == along]
            driving = polyhedra.subtracted(polyhedra.union([p.domain() for p in pairs]), [p.range() for p in pairs])
            yield Broadcast(along, self._places(name, lattice(driving.coalesce()), fold)[0])

    def _everywhere(self, register: Register, fold: _Fold) -> Operand:
        """An element that every unit has from the first cycle on."""
        name, read = register
        access = self.cells[name].statement.reads[read]
        places = Places(np.array([0] + [self.units] * fold.cycles), np.arange(self.units))
        _, element = self._element(access)
        load = Events(("initial", access.array), places, np.full(self.units, element))
        return Operand(Wire(register, 1, (0,) * len(self._steps), 0), (), (load,))

    def _loads(self, register: Register, rest: isl.Set, fold: _Fold) -> Iterator[Events | Runs]:
        """Of the instances that have no source in the fold."""
        name, read = register
        access = self.cells[name].statement.reads[read]
        if self.is_sum(register):
            if not rest.is_empty():
                yield self._events(name, rest, fold, ("array", access.array), self._element(access))
            return
        for maker, pairs in self._between.makers[register].items():
            coming = pairs.intersect_range(rest)
            if coming.is_empty():
                continue
            rest = rest.subtract(coming.range())
            if maker in self._between.sums:
                yield self._events(name, coming.range(), fold, ("array", access.array), self._element(access))
            else:
                yield self._made(name, maker, coming, fold)
        if not rest.is_empty():
            yield self._events(name, rest, fold, ("initial", access.array), self._element(access))

    def _made(self, name: str, maker: str, pairs: isl.Map, fold: _Fold) -> Events:
        """Values of other folds, nests or statements."""
        made, used = np.split(lattice(polyhedra.flat(pairs)), [len(self._between.instance(maker)[0])], axis=1)
        places, order = self._places(name, used, fold)
        return Events(("made", maker), places, affine(*self._between.instance(maker), made)[order])

    def _numbers(self, name: str, index: Index, instances: isl.Set, fold: _Fold) -> Events:
        """An integer of the loops, of each instance."""
        parts = [
            (lattice(instances.intersect(polyhedra.at_sizes(where, self._sizes))), row, divisor)
            for where, row, divisor in polyhedra.rows_by_piece(index.value)
        ]
        values = np.concatenate([row_value(row, points, self._sizes) // divisor for points, row, divisor in parts])
        places, order = self._places(name, np.concatenate([points for points, _, _ in parts]), fold)
        return Events(("number", ""), places, values[order])

    # -- what goes out -----------------------------------------------------------------------------------------------

    def _stores(self, name: str, fold: _Fold) -> Iterator[tuple[str, Events | Runs]]:
        """The ends of sums, and last values of elements; and what other folds, nests or statements use."""
        instances, write = fold.instances[name], self.cells[name].statement.write
        leaving = instances.intersect(self._between.last[name])
        if name in self._between.sums:
            (found,) = (found for register, found in self._sources.items() if self.is_sum(register))
            inside = [s.pairs.intersect_domain(instances).intersect_range(instances).domain() for s in found]
            leaving = polyhedra.subtracted(instances, inside)
        elif self._between.is_live(name):
            leaving = instances.intersect(self._last_of_nest(name))
        if not leaving.is_empty():
            yield name, self._events(name, leaving.coalesce(), fold, ("array", write.array), self._element(write))
        used = list(self._between.used_elsewhere(name))
        for register in self._sources:
            pairs = self._between.makers[register].get(name)
            if pairs is not None and not self.is_sum(register):
                used.append(pairs.intersect_domain(instances).subtract_range(fold.instances[register[0]]).domain())
        made = polyhedra.union(used).intersect(instances) if used else None
        if made is not None and not made.is_empty():
            yield name, self._events(name, made.coalesce(), fold, ("made", name), self._between.instance(name))

    def _last_of_nest(self, name: str) -> isl.Set:
        """Instances whose element no instance of the nest writes after them."""
        order, later = SourceOrder(self._scop), []
        statement = self.cells[name].statement
        own = statement.write.relation.intersect_domain(statement.domain)
        for other in (each.statement for each in self.cells.values()):
            if other.write.array == statement.write.array:
                same = own.apply_range(other.write.relation.intersect_domain(other.domain).reverse())
                later.append(order.among(same, name, other.name).domain())
        return polyhedra.at_sizes(polyhedra.subtracted(statement.domain, later), self._sizes)

    def _active(self, name: str, fold: _Fold) -> np.ndarray:
        """Instances by cycle: of chains from their first to their last."""
        instances = fold.instances[name]
        own = (s for register, found in self._sources.items() if register[0] == name for s in found if s.register[0] == name)
        chain = min((s for s in own if self._cycles(s) and s.along is None), key=self._cycles, default=None)
        if chain is None:
            return self._by_cycle(name, instances, fold)
        inside = chain.pairs.intersect_domain(instances).intersect_range(instances)
        apart = self._cycles(chain)
        begin, end = (
            self._by_cycle(name, instances.subtract(others).coalesce(), fold) for others in (inside.range(), inside.domain())
        )
        changes = np.pad(begin, (0, apart)) - np.pad(end, (apart, 0))
        for phase in range(apart):
            np.cumsum(changes[phase::apart], out=changes[phase::apart])
        return changes[: fold.cycles]

    def _cycles(self, source: _Source) -> int:
        return self.folds.mapping.steps(source.vector)[0]

    def _by_cycle(self, name: str, instances: isl.Set, fold: _Fold) -> np.ndarray:
        """How many run in each cycle."""
        row, start = self._times[name]
        if not polyhedra.is_whole_box(instances):
            return np.bincount(affine(row, start, lattice(instances)) - fold.start, minlength=fold.cycles)
        box = polyhedra.ranges(instances)
        found = np.zeros(fold.cycles, np.int64)
        found[start - fold.start + sum(min(c * low, c * high) for c, (low, high) in zip(row, box))] = 1
        for c, length in ((abs(c), high - low + 1) for c, (low, high) in zip(row, box)):
            if c == 0:
                found *= length
                continue
            before = found[: max(0, len(found) - c * length)].copy()
            found[len(found) - len(before) :] -= before  # each counts `length` times, c cycles apart
            for phase in range(c):
                np.cumsum(found[phase::c], out=found[phase::c])
        return found

    # -- instances, units and elements -------------------------------------------------------------------------------

    def _events(self, name: str, instances: isl.Set, fold: _Fold, memory: Memory, element: Row) -> Events | Runs:
        if polyhedra.is_whole_box(instances):
            time, start = self._times[name]
            row, first = self._unit(name, fold)
            found = runs(memory, polyhedra.ranges(instances), (time, start - fold.start), (row, first), element, fold.cycles)
            if found is not None:
                return found
        points = lattice(instances)
        places, order = self._places(name, points, fold)
        return Events(memory, places, affine(*element, points)[order])

    def _unit(self, name: str, fold: _Fold) -> Row:
        """The number of an instance's unit."""
        parts = list(zip(self._steps, self._coordinates[name], fold.corner))
        loops = range(len(self._times[name][0]))
        return tuple(sum(s * row[k] for s, (row, _), _ in parts) for k in loops), sum(
            s * (c - corner) for s, (_, c), corner in parts
        )

    def _places(self, name: str, points: np.ndarray, fold: _Fold) -> tuple[Places, np.ndarray]:
        """Where and when these instances run, and the order in which they do."""
        cycles = affine(*self._times[name], points) - fold.start
        return in_cycles(cycles, affine(*self._unit(name, fold), points), fold.cycles)

    def _row(self, name: str, axes: Sequence[int]) -> Row:
        """A sum of axes as one of a statement's loops."""
        rows = self._recurrence.coordinates(name)
        loops = range(len(rows[0][0]))
        return tuple(sum(c * row[k] for c, (row, _) in zip(axes, rows)) for k in loops), sum(c * k for c, (_, k) in zip(axes, rows))

    def _element(self, access: Access) -> Row:
        if id(access) not in self._elements:
            self._elements[id(access)] = element(self._scop, access, self._sizes)
        return self._elements[id(access)]

    def shape(self, array: str) -> tuple[int, ...]:
        return tuple(polyhedra.value_at(length, self._sizes) for length in self._scop.arrays[array].shape)

    @property
    def streams(self) -> dict[Register, str]:
        """Registers of what does not stay the same everywhere, by what the source calls it."""
        return {(s.use.statement, s.use.read): self._recurrence.label(s.use) for s in self._recurrence.streams}

    def is_sum(self, register: Register) -> bool:
        return self._kinds.get(register) == "result"

    def _found_sources(self) -> dict[Register, tuple[_Source, ...]]:
        """Of each read, in the order in which they count. Reads of what every unit has are not there."""
        back = {name: self._recurrence.embedding_of(name).reverse() for name in self.cells}
        found = {}
        for (name, read), sources in self._recurrence.sources.items():
            parts = []
            for source in sources:
                vector, pairs = source.vector, source.pairs
                if self.folds.mapping.sense(source) < 0:
                    vector, pairs = tuple(-v for v in vector), pairs.reverse()
                register = source.statement, RESULT if source.read is None else source.read
                pairs = pairs.apply_domain(back[source.statement]).apply_range(back[name])
                along = line(self.folds.mapping.steps(source.line)[1:]) if source.line else None
                parts.append(_Source(register, vector, pairs, along))
            found[name, read] = tuple(parts)
        return found
