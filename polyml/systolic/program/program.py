"""The program of an array's PEs, cycle by cycle, in each fold of a plan.

PEs are numbered row by row. Every read of a statement has a register in each PE. A cycle has these steps:

    advance    registers take what a register some cycles before had, in a PE at some distance: the same for all PEs
    transfer   registers of some PEs take a value from another distance instead
    load       registers of some PEs take an element of a memory
    broadcast  all PEs of a row or a column take what one of them has now
    compute    every PE makes every statement's value of its registers; without an instance it makes one that nobody takes.
               Sums along a wire go on in no cycle: each PE takes what the one before it has just made
    store      some PEs put the value into a memory

An instance needs a load only for a value that it gets from no other instance of the fold, and a store only for a value that leaves
the array; so what is listed PE by PE is mostly what goes in and out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from operator import mul

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.model.core.dependence import SourceOrder
from polyml.model.core.scop import Access, Index
from polyml.model.counting.lattice_points import affine, lattice, row_value
from polyml.systolic.folding.folds import Folds, fold_points
from polyml.systolic.folding.preloading import preload_passes
from polyml.systolic.program.events import Events, StridedEvents, UnitsByCycle, by_cycle
from polyml.systolic.program.fold_program import Broadcast, FoldProgram, Link, Operand, Register, datapath, line_axis
from polyml.systolic.program.interface import NestInterface
from polyml.systolic.program.placement import FoldExtent, Placement
from polyml.systolic.recurrences.spacetime import Vector, linear
from polyml.values import cached_property


@dataclass(frozen=True)
class _RegisterSource:
    """A _RegisterSource is one way in which a register gets its values: from a register of the instance that lies one step before.

    register: the register that has the value there.
    vector: the step along the axes, from that instance to the one that gets the value.
    pairs: { S[p] -> T[q] : T[q] has the value from S[p] }.
    along: 0 or 1 for a wire, which brings a value to all PEs of a column (0) or a row (1) within one cycle; else None.
    """

    register: Register
    vector: Vector
    pairs: isl.Map
    along: int | None = None


class NestProgram:
    """A NestProgram is an iterable over `FoldProgram`s: what the PEs do in each fold of a plan, in the order in which the folds
    run.

    folds: the plan's folds.
    units: how many PEs the array has.
    grid: its numbers of rows and columns; an array of one dimension has one row.
    datapaths: what PEs compute, by statement.
    """

    def __init__(self, interface: NestInterface, folds: Folds):
        self.folds, self._interface, self._scop = folds, interface, interface.scop
        self._recurrence, self._sizes = folds.recurrence, dict(folds.recurrence.sizes)
        self.units = prod(folds.shape)
        rows, columns = folds.shape if len(folds.shape) == 2 else (1, *folds.shape)
        self.grid = rows, columns
        self._placement = Placement(self._scop, folds, self._sizes)
        statements = [self._scop.statements[name] for name in self._recurrence.statements]
        self.datapaths = {s.name: datapath(self._scop, s) for s in statements}
        self._sources = self._register_sources()
        self._kinds = {(s.use.statement, s.use.read): s.use.kind for s in self._recurrence.streams}
        self._known: dict[tuple, tuple[FoldProgram, np.ndarray]] = {}

    def __iter__(self) -> Iterator[FoldProgram]:
        """Yields the program of each fold, in the order in which the folds run."""
        for points in fold_points(self.folds):
            yield self._program(FoldExtent(points, self._recurrence, self.folds.mapping))

    def _program(self, fold: FoldExtent) -> FoldProgram:
        """Returns the program of one fold. It is computed anew only where no earlier fold had the same shape; else it is that
        fold's program with other elements loaded and stored.
        """
        key = self._shape_key(fold)
        if key in self._known:
            return self._relocated(*self._known[key], fold)
        registers = [(name, read) for name, each in self.datapaths.items() for read in range(len(each.types))]
        operands = {register: self._operand(register, fold) for register in registers}
        stores = tuple(store for name in self.datapaths for store in self._stores(name, fold))
        preload = fold.rows * preload_passes(self._recurrence, self.folds.mapping)
        active = np.sum([self._active(name, fold) for name in self.datapaths], axis=0)
        program = FoldProgram(fold.number, fold.cycles, preload, operands, stores, fold.used, active)
        if key is not None:
            self._known[key] = program, self._corner_instance(fold)
        return program

    # -- folds of one shape -------------------------------------------------------------------------------------------

    def _shape_key(self, fold: FoldExtent) -> tuple | None:
        """Returns a key that is equal for folds whose programs differ in nothing but the positions of the elements that they load
        and store; None where they may differ in more.

        More may differ where a fold uses values of other folds, where the statement computes with integers made of its iterators,
        or where an axis numbers the iterations of several loops.
        """
        if not self._differ_by_elements:
            return None
        ((name, _),) = self.datapaths.items()
        first = self._corner_instance(fold)
        points = polyhedra.translated(fold.instances[name], (-first).tolist())
        units = tuple(int(affine(*row, first) - corner) for row, corner in zip(self._placement.coordinates[name], fold.corner))
        return str(points), units, int(affine(*self._placement.times[name], first)) - fold.start

    @cached_property
    def _differ_by_elements(self) -> bool:
        """Returns whether programs of folds of the same shape load and store other elements, but are equal in all else."""
        if len(self.datapaths) > 1 or any(len(axis.loops) > 1 for axis in self._recurrence.axes):
            return False
        ((name, each),) = self.datapaths.items()
        registers = ((name, read) for read in range(len(each.statement.reads)))
        if each.indices or any(self._interface.producers[register] for register in registers if not self.is_sum(register)):
            return False
        return name in self._interface.sums or self._interface.domain(name).is_subset(self._interface.last_writers[name])

    def _corner_instance(self, fold: FoldExtent) -> np.ndarray:
        """Returns the least value of each iterator in a fold, for a nest of one statement."""
        ((_, instances),) = fold.instances.items()
        return np.array([least for least, _ in polyhedra.ranges(instances)], np.int64)

    def _relocated(self, program: FoldProgram, before: np.ndarray, fold: FoldExtent) -> FoldProgram:
        """Returns the program of a fold, made from that of another fold of the same shape.

        before: the least value of each iterator in the other fold.
        """
        step = self._corner_instance(fold) - before
        ((_, each),) = self.datapaths.items()

        def moved(events: Events | StridedEvents, access: Access) -> Events | StridedEvents:
            """Returns the other fold's loads or stores of an access, with the elements that the new fold loads or stores in place
            of its elements.
            """
            row, _ = self._placement.element(access)
            return events.shifted(int(affine(row, 0, step)))

        operands = {
            (name, read): replace(operand, loads=tuple(moved(load, each.statement.reads[read]) for load in operand.loads))
            for (name, read), operand in program.operands.items()
        }
        stores = tuple((name, moved(events, each.statement.write)) for name, events in program.stores)
        return replace(program, number=fold.number, operands=operands, stores=stores)

    # -- what comes in -----------------------------------------------------------------------------------------------

    def _operand(self, register: Register, fold: FoldExtent) -> Operand:
        """Returns where the values of a register come from in a fold: links to other PEs, wires along rows and columns, and loads
        from memory.
        """
        name, read = register
        each, instances = self.datapaths[name], fold.instances[name]
        if read >= len(each.statement.reads):
            index = each.indices[read - len(each.statement.reads)]
            return Operand(None, (), (self._numbers(name, index, instances, fold),))
        if register not in self._sources:
            return self._constant(register, fold)
        link, transfers, wire_pairs, driven_wires, rest = None, [], [], [], instances
        for source in self._sources[register]:
            pairs = source.pairs.intersect_domain(fold.instances[source.register[0]]).intersect_range(rest)
            coming = pairs.range()
            if coming.is_empty():
                continue
            rest = rest.subtract(coming)
            cycles, *steps = self.folds.mapping.steps(source.vector)
            if source.along is not None:
                here = Link(source.register, cycles, (0,) * len(steps), 0)
                driven_wires.append((here, source.along, self._driving(name, source.register[0], pairs, fold)))
                continue
            found = Link(source.register, cycles, tuple(steps), sum(map(mul, steps, self._placement.steps)))
            if cycles == 0 and source.register == register:
                wire_pairs.append((found.along, pairs))
            elif link is None:
                link = found
            else:
                transfers.append((found, self._placement.units_by_cycle(name, lattice(coming), fold)[0]))
        loads = tuple(self._loads(register, rest.coalesce(), fold))
        transfers += [(here, drivers) for here, _, drivers in driven_wires]
        broadcasts = (*self._broadcasts(name, wire_pairs, fold), *(Broadcast(along, drivers) for _, along, drivers in driven_wires))
        return Operand(link, tuple(transfers), loads, broadcasts)

    def _driving(self, name: str, producer: str, pairs: isl.Map, fold: FoldExtent) -> UnitsByCycle:
        """Returns by cycle the PEs that put a value onto a wire, which brings it to their row or column: the PEs in which instances
        of S made what instances of T take in that cycle.

        name, producer: the names of T and S.
        pairs: { S[p] -> T[q] : T[q] takes from a wire what S[p] made }.
        """
        row, start = self._placement.times[name]
        loops = [f"i{k}" for k in range(len(row))]
        times = pairs.apply_range(isl.Map(f"{{ {name}[{', '.join(loops)}] -> [{linear(row, loops, start - fold.start)}] }}"))
        found = lattice(polyhedra.flat(times))
        return by_cycle(found[:, -1], affine(*self._placement.unit(producer, fold), found[:, :-1]), fold.cycles)[0]

    def _broadcasts(self, name: str, wire_pairs: Sequence[tuple[int, isl.Map]], fold: FoldExtent) -> Iterator[Broadcast]:
        """Yields, first for the columns and then for the rows, the broadcasts of the values that instances of a statement hand on
        within one cycle. A column or row is driven by the PE, if any, whose instance hands on the value and takes it from no other
        PE of that column or row.

        name: the statement's name.
        wire_pairs: (0 down a column or 1 along a row, { p -> q : q takes what p has in the same cycle }).
        """
        for along in sorted({along for along, _ in wire_pairs}):
            pairs = [each for other, each in wire_pairs if other == along]
            driving = polyhedra.subtracted(polyhedra.union([p.domain() for p in pairs]), [p.range() for p in pairs])
            yield Broadcast(along, self._placement.units_by_cycle(name, lattice(driving.coalesce()), fold)[0])

    def _constant(self, register: Register, fold: FoldExtent) -> Operand:
        """Returns the operand of a register that reads the same element in every PE, such as a scalar: each PE loads it in the
        first cycle and keeps it.
        """
        name, read = register
        access = self.datapaths[name].statement.reads[read]
        places = UnitsByCycle(np.array([0] + [self.units] * fold.cycles), np.arange(self.units))
        _, element = self._placement.element(access)
        load = Events(("initial", access.array), places, np.full(self.units, element))
        return Operand(Link(register, 1, (0,) * len(self._placement.steps), 0), (), (load,))

    def _loads(self, register: Register, rest: isl.Set, fold: FoldExtent) -> Iterator[Events | StridedEvents]:
        """Yields the loads of a register from memory, for the instances in `rest`, which get its value from no other instance of
        the fold.
        """
        name, read = register
        access = self.datapaths[name].statement.reads[read]
        if self.is_sum(register):
            if not rest.is_empty():
                yield self._placement.events(name, rest, fold, ("array", access.array), self._placement.element(access))
            return
        for producer, pairs in self._interface.producers[register].items():
            coming = pairs.intersect_range(rest)
            if coming.is_empty():
                continue
            rest = rest.subtract(coming.range())
            if producer in self._interface.sums:
                yield self._placement.events(name, coming.range(), fold, ("array", access.array), self._placement.element(access))
            else:
                yield self._from_elsewhere(name, producer, coming, fold)
        if not rest.is_empty():
            yield self._placement.events(name, rest, fold, ("initial", access.array), self._placement.element(access))

    def _from_elsewhere(self, name: str, producer: str, pairs: isl.Map, fold: FoldExtent) -> Events:
        """Returns the loads of values that other folds, nests or statements made.

        name, producer: the statements T, which loads the values, and S, which made them.
        pairs: { S[p] -> T[q] : S[p] made what T[q] reads }.
        """
        made, used = np.split(lattice(polyhedra.flat(pairs)), [len(self._interface.instance(producer)[0])], axis=1)
        places, order = self._placement.units_by_cycle(name, used, fold)
        return Events(("produced", producer), places, affine(*self._interface.instance(producer), made)[order])

    def _numbers(self, name: str, index: Index, instances: isl.Set, fold: FoldExtent) -> Events:
        """Returns the events that load, for each instance of a statement, the value of an integer that is computed from its
        iterators.
        """
        parts = [
            (lattice(instances.intersect(polyhedra.at_sizes(where, self._sizes))), row, divisor)
            for where, row, divisor in polyhedra.rows_by_piece(index.value)
        ]
        values = np.concatenate([row_value(row, points, self._sizes) // divisor for points, row, divisor in parts])
        places, order = self._placement.units_by_cycle(name, np.concatenate([points for points, _, _ in parts]), fold)
        return Events(("number", ""), places, values[order])

    # -- what goes out -----------------------------------------------------------------------------------------------

    def _stores(self, name: str, fold: FoldExtent) -> Iterator[tuple[str, Events | StridedEvents]]:
        """Yields (statement's name, stores) for the values that the instances of a statement in this fold write to memory: sums
        after their last term in the fold, values that no instance overwrites later, and those that other folds, nests or statements
        use.
        """
        instances, write = fold.instances[name], self.datapaths[name].statement.write
        leaving = instances.intersect(self._interface.last_writers[name])
        if name in self._interface.sums:
            (found,) = (found for register, found in self._sources.items() if self.is_sum(register))
            inside = [s.pairs.intersect_domain(instances).intersect_range(instances).domain() for s in found]
            leaving = polyhedra.subtracted(instances, inside)
        elif self._interface.is_accumulated(name):
            leaving = instances.intersect(self._last_of_nest(name))
        if not leaving.is_empty():
            yield (
                name,
                self._placement.events(name, leaving.coalesce(), fold, ("array", write.array), self._placement.element(write)),
            )
        used = list(self._interface.used_elsewhere(name))
        for register in self._sources:
            pairs = self._interface.producers[register].get(name)
            if pairs is not None and not self.is_sum(register):
                used.append(pairs.intersect_domain(instances).subtract_range(fold.instances[register[0]]).domain())
        made = polyhedra.union(used).intersect(instances) if used else None
        if made is not None and not made.is_empty():
            yield name, self._placement.events(name, made.coalesce(), fold, ("produced", name), self._interface.instance(name))

    def _last_of_nest(self, name: str) -> isl.Set:
        """Returns the instances of a statement that write an element for the last time in the nest: no instance that runs later in
        the source's order writes it.
        """
        order, later = SourceOrder(self._scop), []
        statement = self.datapaths[name].statement
        own = statement.write.relation.intersect_domain(statement.domain)
        for other in (each.statement for each in self.datapaths.values()):
            if other.write.array == statement.write.array:
                same = own.apply_range(other.write.relation.intersect_domain(other.domain).reverse())
                later.append(order.among(same, name, other.name).domain())
        return polyhedra.at_sizes(polyhedra.subtracted(statement.domain, later), self._sizes)

    def _active(self, name: str, fold: FoldExtent) -> np.ndarray:
        """Returns how many instances of a statement run in each cycle of a fold.

        Where each instance gets a value from another one that ran n cycles before, the instances form sequences with one instance
        every n cycles. Then only the first and the last instance of each sequence are listed, and the numbers of all cycles follow
        from these.
        """
        instances = fold.instances[name]
        own = (s for register, found in self._sources.items() if register[0] == name for s in found if s.register[0] == name)
        chain = min((s for s in own if self._cycles(s) and s.along is None), key=self._cycles, default=None)
        if chain is None:
            return self._placement.count_by_cycle(name, instances, fold)
        inside = chain.pairs.intersect_domain(instances).intersect_range(instances)
        interval = self._cycles(chain)
        begin, end = (
            self._placement.count_by_cycle(name, instances.subtract(others).coalesce(), fold)
            for others in (inside.range(), inside.domain())
        )
        changes = np.pad(begin, (0, interval)) - np.pad(end, (interval, 0))
        for phase in range(interval):
            np.cumsum(changes[phase::interval], out=changes[phase::interval])
        return changes[: fold.cycles]

    def _cycles(self, source: _RegisterSource) -> int:
        """Returns how many cycles a value takes from a source to its use."""
        return self.folds.mapping.steps(source.vector)[0]

    # -- queries -----------------------------------------------------------------------------------------------------

    def shape(self, array: str) -> tuple[int, ...]:
        """Returns the lengths of an array's dimensions for the sizes of the call."""
        return tuple(polyhedra.value_at(length, self._sizes) for length in self._scop.arrays[array].shape)

    @property
    def streams(self) -> dict[Register, str]:
        """Returns, for each register, the text of the read whose values it has. Registers with the same element in all PEs are left
        out.
        """
        return {(s.use.statement, s.use.read): self._recurrence.label(s.use) for s in self._recurrence.streams}

    def is_sum(self, register: Register) -> bool:
        """Returns whether a register holds the running result of a sum, or another reduction, of the nest."""
        return self._kinds.get(register) == "result"

    def _register_sources(self) -> dict[Register, tuple[_RegisterSource, ...]]:
        """Returns where each register's values come from, the sources that take precedence first; registers that have one element
        in all PEs are left out.
        """
        back = {name: self._recurrence.embedding_of(name).reverse() for name in self.datapaths}
        found = {}
        for (name, read), sources in self._recurrence.sources.items():
            parts = []
            for source in sources:
                vector, pairs = source.vector, source.pairs
                if self.folds.mapping.sense(source) < 0:
                    vector, pairs = tuple(-v for v in vector), pairs.reverse()
                register = source.statement, source.read
                pairs = pairs.apply_domain(back[source.statement]).apply_range(back[name])
                along = line_axis(self.folds.mapping.steps(source.line)[1:]) if source.line else None
                parts.append(_RegisterSource(register, vector, pairs, along))
            found[name, read] = tuple(parts)
        return found
