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

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from operator import mul

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.dtypes import DType
from polyml.model.core.dependence import Order
from polyml.model.core.nest import children, with_children
from polyml.model.core.scop import Access, Index, Load, Scop, Statement, Value
from polyml.model.counting.lattice_points import affine, lattice, row_value
from polyml.systolic.folding.folds import Folds, fold_points, shifts
from polyml.systolic.program.interface import Between
from polyml.systolic.recurrences.recurrence import Recurrence
from polyml.systolic.recurrences.spacetime import SpaceTime, Vector, linear

RESULT = -1  # in place of the number of a read

Register = tuple[str, int]  # a statement, and the number of its read, or RESULT
Memory = tuple[str, str]  # ("array", name), ("initial", name): as the call found it, ("made", statement), ("number", "")
Row = tuple[tuple[int, ...], int]  # a sum of loops and a constant


@dataclass(frozen=True)
class _Source:
    """`register` of the instance `vector` before, along the axes, or by a wire from there: 0 down a column, 1 along a row.
    pairs: { S[p] -> T[q] : T[q] has it from S[p] }.
    """

    register: Register
    vector: Vector
    pairs: isl.Map
    along: int | None = None


@dataclass(frozen=True)
class Wire:
    """What `source` had so many cycles before, at the unit `steps` back: `offset` by number. cycles: 0 of sums that are added up along
    a row or a column.
    """

    source: Register
    cycles: int
    steps: tuple[int, ...]
    offset: int

    @property
    def along(self) -> int:
        """0 for wires down a column, 1 along a row."""
        return line(self.steps)


def line(steps: Sequence[int]) -> int:
    """0 of steps down a column, 1 of those along a row, which an array of one dimension is."""
    return int(len(steps) == 1 or not steps[0])


@dataclass(frozen=True, eq=False)
class Places:
    """Units by cycle: those of cycle t are units[starts[t]:starts[t + 1]]."""

    starts: np.ndarray
    units: np.ndarray

    @cached_property
    def slices(self) -> list[slice | np.ndarray | None]:
        """By cycle, units as an index; None where there are none."""
        steps = np.diff(self.units)
        turns = np.concatenate([[0, 0], np.cumsum(np.diff(steps) != 0)])  # how often the step changed before a unit
        bounds = self.starts.tolist()
        return [self._index(first, end, steps, turns) for first, end in itertools.pairwise(bounds)]

    def _index(self, first: int, end: int, steps: np.ndarray, turns: np.ndarray) -> slice | np.ndarray | None:
        if first == end:
            return None
        unit = int(self.units[first])
        if end - first == 1:
            return slice(unit, unit + 1)
        if steps[first] > 0 and turns[end - 1] == turns[first + 1]:
            return slice(unit, int(self.units[end - 1]) + 1, int(steps[first]))
        return self.units[first:end]


@dataclass(frozen=True, eq=False)
class Events:
    """Elements of a memory at units. elements: in the order of `places`; of the memory "number" the numbers themselves."""

    memory: Memory
    places: Places
    elements: np.ndarray

    @property
    def number(self) -> int:
        return len(self.elements)

    def moved(self, step: int) -> Events:
        """Of elements so much further."""
        return replace(self, elements=self.elements + step)

    def listed(self) -> Events:
        return self


@dataclass(frozen=True, eq=False)
class Runs:
    """Events of which those of one cycle are equally far apart. units, elements, counts: by cycle, of the first one, and how many.
    distinct: no element is there twice, as far as its strides show.
    """

    memory: Memory
    units: np.ndarray
    elements: np.ndarray
    counts: np.ndarray
    unit_step: int
    element_step: int
    distinct: bool

    @cached_property
    def number(self) -> int:
        return int(self.counts.sum())

    def moved(self, step: int) -> Runs:
        return replace(self, elements=self.elements + step)

    def listed(self) -> Events:
        """One by one."""
        starts = np.concatenate([[0], np.cumsum(self.counts)])
        steps = np.arange(starts[-1]) - np.repeat(starts[:-1], self.counts)
        units = np.repeat(self.units, self.counts) + self.unit_step * steps
        return Events(self.memory, Places(starts, units), np.repeat(self.elements, self.counts) + self.element_step * steps)


def runs(memory: Memory, box: Sequence[tuple[int, int]], time: Row, unit: Row, element: Row, cycles: int) -> Runs | None:
    """Of all points of a box, whose cycle, unit and element are these sums. None where those of one cycle are not equally far apart."""
    free = [k for k, (low, high) in enumerate(box) if low < high]
    if len(free) > 2 or len(free) == 2 and not any(abs(time[0][k]) == 1 for k in free):
        return None
    lows, distinct = np.array([low for low, _ in box], np.int64), _is_distinct(box, element[0])
    first = [int(affine(*row, lows)) for row in (time, unit, element)]
    if len(free) == 2 and abs(time[0][free[0]]) != 1:
        free.reverse()
    # x goes with time, and y is free within a cycle: t = first + c*x + d*y
    x, y = (*free, None, None)[:2]
    c, d = (0 if k is None else time[0][k] for k in (x, y))
    m, n = (1 if k is None else box[k][1] - box[k][0] + 1 for k in (x, y))
    if y is None and c == 0:
        x, y, c, d, m, n = y, x, d, c, n, m
    sums = [(0 if x is None else row[x], 0 if y is None else row[y]) for row, _ in (unit, element)]
    at = np.arange(cycles) - first[0]
    if c == 0:  # all in one cycle
        counts = np.where(at == 0, n, 0)
        return Runs(memory, np.full(cycles, first[1]), np.full(cycles, first[2]), counts, sums[0][1], sums[1][1], distinct)
    if y is None:
        here = (at % c == 0) & (at // c >= 0) & (at // c < m)
        place = at // c
        return Runs(memory, first[1] + sums[0][0] * place, first[2] + sums[1][0] * place, here.astype(np.int64), 0, 0, distinct)
    # x = c * (t - d*y), as c is 1 or -1: 0 <= x < m bounds y
    low, high = _between(-c * d, c * at, m, n)
    counts = np.maximum(high - low + 1, 0)
    columns = c * (at - d * low)
    return Runs(
        memory,
        first[1] + sums[0][0] * columns + sums[0][1] * low,
        first[2] + sums[1][0] * columns + sums[1][1] * low,
        counts,
        sums[0][1] - sums[0][0] * c * d,
        sums[1][1] - sums[1][0] * c * d,
        distinct,
    )


def _is_distinct(box: Sequence[tuple[int, int]], row: Sequence[int]) -> bool:
    """Whether a sum of loops has another value at each point: each stride is longer than all shorter ones together reach."""
    reach = 0
    for stride, length in sorted((abs(c), high - low) for c, (low, high) in zip(row, box) if low < high):
        if stride <= reach:
            return False
        reach += stride * length
    return True


def _between(slope: int, start: np.ndarray, m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(least, greatest) y of 0 ... n - 1 with 0 <= start + slope * y < m."""
    if slope == 0:
        inside = (start >= 0) & (start < m)
        return np.zeros_like(start), np.where(inside, n - 1, -1)
    ends = (0, m - 1) if slope > 0 else (m - 1, 0)
    low, high = -((start - ends[0]) // slope), (ends[1] - start) // slope
    return np.maximum(low, 0), np.minimum(high, n - 1)


@dataclass(frozen=True, eq=False)
class Broadcast:
    """A line's units all take what its driver has. along: 0 down columns, 1 along rows. drivers: by cycle, at most one of a line;
    in lines that have none nothing changes.
    """

    along: int
    drivers: Places

    def lines(self, columns: int) -> Places:
        """Numbers of the rows or columns, of an array of so many columns."""
        units = self.drivers.units
        return Places(self.drivers.starts, units // columns if self.along else units % columns)


@dataclass(frozen=True, eq=False)
class Operand:
    """Where a register's values come from. wire: in all units, None where it only has what is loaded. Transfers and loads count
    where they are, broadcasts after them.
    """

    wire: Wire | None
    transfers: tuple[tuple[Wire, Places], ...]
    loads: tuple[Events | Runs, ...]
    broadcasts: tuple[Broadcast, ...] = ()

    @property
    def wires(self) -> list[Wire]:
        return [*([self.wire] if self.wire else []), *(wire for wire, _ in self.transfers)]


@dataclass(frozen=True, eq=False)
class FoldProgram:
    """One fold. number: of the outer loops, and the block of rows and columns. preload_cycles: before the first cycle.
    used: of each coordinate, the least and the greatest of units that ever have an instance. active: those that have one, by cycle.
    """

    number: tuple[int, ...]
    cycles: int
    preload_cycles: int
    operands: Mapping[Register, Operand]
    stores: tuple[tuple[str, Events | Runs], ...]
    used: tuple[tuple[int, int], ...]
    active: np.ndarray

    def loaded(self, register: Register) -> int:
        """Elements that come from memory."""
        return sum(events.number for events in self.operands[register].loads)

    @property
    def stored(self) -> int:
        """Values that go to memory, each counted once."""
        found: dict[str, list[Events | Runs]] = {}
        for name, events in self.stores:
            found.setdefault(name, []).append(events)
        return sum(each[0].number if len(each) == 1 else self._together(each) for each in found.values())

    def _together(self, stores: Sequence[Events | Runs]) -> int:
        """Units and cycles of any of them."""
        found = []
        for places in (events.listed().places for events in stores):
            cycles = np.repeat(np.arange(self.cycles), np.diff(places.starts))
            found.append(np.column_stack([cycles, places.units]))
        return len(np.unique(np.concatenate(found), axis=0))


@dataclass(frozen=True, eq=False)
class Cell:
    """What every unit computes for a statement. value: over `Load`s of registers alone, those of its reads and behind them one
    for each of the `indices`. types: of the registers; result: of the value.
    """

    statement: Statement
    value: Value
    types: tuple[DType, ...]
    result: DType
    indices: tuple[Index, ...]


def cell(scop: Scop, statement: Statement) -> Cell:
    types = [scop.arrays[access.array].element for access in statement.reads]
    indices: list[Index] = []

    def plain(value: Value) -> Value:
        if isinstance(value, Index):
            indices.append(value)
            types.append(value.dtype)
            return Load(len(types) - 1, dtype=value.dtype)
        return with_children(value, tuple(map(plain, children(value))))

    value = plain(statement.value)
    return Cell(statement, value, tuple(types), scop.arrays[statement.write.array].element, tuple(indices))


def element(scop: Scop, access: Access, sizes: Mapping[str, int]) -> Row:
    """The number of the accessed element in its array, row by row, as a sum of the statement's loops."""
    shape = [polyhedra.value_at(length, sizes) for length in scop.arrays[access.array].shape]
    row, start = [0] * polyhedra.dimensions(access.relation.domain()), 0
    for k, subscript in enumerate(access.subscripts):
        stride, (terms, constant) = prod(shape[k + 1 :]), polyhedra.linear_row(subscript)
        start += stride * constant
        for name, factor in terms.items():
            if isinstance(name, str):
                start += stride * factor * sizes[name]
            else:
                row[name] += stride * factor
    return tuple(row), start


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


def _places(cycles: np.ndarray, units: np.ndarray, end: int) -> tuple[Places, np.ndarray]:
    """Units in their cycles before `end`, and their order."""
    order = np.argsort(cycles.astype(np.uint16) if end < 1 << 16 else cycles, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(cycles, minlength=end))])
    return Places(starts, units[order]), order


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
        return _places(found[:, -1], affine(*self._unit(maker, fold), found[:, :-1]), fold.cycles)[0]

    def _broadcasts(self, name: str, wired: Sequence[tuple[int, isl.Map]], fold: _Fold) -> Iterator[Broadcast]:
        """wired: (along, { p -> q : q takes what p has in the same cycle }). What takes from none of its line drives it."""
        for along in sorted({along for along, _ in wired}):
            pairs = [each for other, each in wired if other == along]
            driving = polyhedra.without(polyhedra.union([p.domain() for p in pairs], None), [p.range() for p in pairs])
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
            leaving = polyhedra.without(instances, inside)
        elif self._between.is_live(name):
            leaving = instances.intersect(self._last_of_nest(name))
        if not leaving.is_empty():
            yield name, self._events(name, leaving.coalesce(), fold, ("array", write.array), self._element(write))
        used = list(self._between.used_elsewhere(name))
        for register in self._sources:
            pairs = self._between.makers[register].get(name)
            if pairs is not None and not self.is_sum(register):
                used.append(pairs.intersect_domain(instances).subtract_range(fold.instances[register[0]]).domain())
        made = polyhedra.union(used, None)
        made = made and made.intersect(instances)
        if made is not None and not made.is_empty():
            yield name, self._events(name, made.coalesce(), fold, ("made", name), self._between.instance(name))

    def _last_of_nest(self, name: str) -> isl.Set:
        """Instances whose element no instance of the nest writes after them."""
        order, later = Order(self._scop), []
        statement = self.cells[name].statement
        own = statement.write.relation.intersect_domain(statement.domain)
        for other in (each.statement for each in self.cells.values()):
            if other.write.array == statement.write.array:
                same = own.apply_range(other.write.relation.intersect_domain(other.domain).reverse())
                later.append(order.among(same, name, other.name).domain())
        return polyhedra.at_sizes(polyhedra.without(statement.domain, later), self._sizes)

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
        return _places(cycles, affine(*self._unit(name, fold), points), fold.cycles)

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
