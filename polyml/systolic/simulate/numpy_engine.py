"""Folds run cycle by cycle with NumPy, all PEs of the array at once.

A register of all PEs is one vector. Values that go on along a link of their own keep their places in a longer vector, along
which the PEs move instead, against the link: what they leave behind is gone, what lies ahead has not been loaded.
Sums that are added up along rows or columns in no time take as many steps in a cycle as a line has PEs, with all lines at once.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from polyml.numpy_dtypes import numpy_dtype
from polyml.systolic.program.events import Events, MemoryContents, StridedEvents
from polyml.systolic.program.fold_program import Broadcast, Datapath, FoldProgram, Link, Operand, Register
from polyml.systolic.program.program import NestProgram
from polyml.systolic.recurrences.value_sources import RESULT
from polyml.systolic.simulate.numpy_values import Vector, evaluator

ROOM = 64  # steps of the PEs along a vector before its values are moved back


class NumpyEngine:
    """A NumpyEngine simulates the folds of one nest with NumPy; arguments: the values of scalar arguments, by name."""

    def __init__(self, program: NestProgram, arguments: Mapping[str, object]):
        self._datapaths, self._units, self._grid, self._arguments = program.datapaths, program.units, program.grid, arguments
        self._evaluators = {name: evaluator(datapath, arguments, program.units) for name, datapath in program.datapaths.items()}

    def run(self, fold: FoldProgram, memories: MemoryContents) -> None:
        """Runs all cycles of a fold, and changes elements of the memories in place."""
        wiring = self._wiring(fold)
        histories = wiring.histories
        registers = {own: self._register_vector(own, operand, wiring, memories) for own, operand in fold.operands.items()}
        results: dict[str, _RegisterHistory | _RegisterVector] = {own[0]: registers[own] for own in wiring.in_place}
        results |= {name: histories[name, RESULT] for name in self._datapaths if (name, RESULT) in histories}
        parts = [
            (self._evaluating(name, fold), [registers[name, read] for read in range(len(datapath.types))], results[name])
            for name, datapath in self._datapaths.items()
        ]
        stores = [_Stores(events, memories[events.memory], results[name]) for name, events in fold.stores]
        with np.errstate(all="ignore"):
            for cycle in range(fold.cycles):
                for evaluate, own, made in parts:
                    vectors = [register.next(cycle) for register in own]
                    evaluate(cycle, vectors, made.at(cycle))
                for store in stores:
                    store.at(cycle)

    def _evaluating(self, name: str, fold: FoldProgram) -> Callable[[int, list[Vector], Vector], None]:
        """Returns a function of (cycle, vectors of the registers, vector of results) that computes a statement in all PEs."""
        if (read := chained_sums(fold).get(name)) is not None:
            return _ChainedSums(self._datapaths[name], self._arguments, self._grid, read, fold.operands[name, read])
        evaluate = self._evaluators[name]
        return lambda cycle, vectors, made: evaluate(vectors, made)

    def _type(self, register: Register) -> np.dtype:
        """Returns the NumPy type of a register's values."""
        name, read = register
        return numpy_dtype(self._datapaths[name].result if read == RESULT else self._datapaths[name].types[read])

    def _wiring(self, fold: FoldProgram) -> _Wiring:
        """Returns which registers of a fold take values from which, and whose past values must be remembered."""
        held = in_place(fold)
        depths, reach = history_depths(fold, self._datapaths, held)
        histories = {source: _RegisterHistory(depth, reach, self._units, self._type(source)) for source, depth in depths.items()}
        users = Counter(link.source for operand in fold.operands.values() for link in operand.links)
        return _Wiring(frozenset(held), histories, users)

    def _register_vector(self, own: Register, operand: Operand, wiring: _Wiring, memories: MemoryContents) -> _RegisterVector:
        """Returns a register's values in all PEs, with what loads, transfers and broadcasts put into them."""
        kind, link, histories = self._type(own), operand.link, wiring.histories
        base: _Vector
        if link is None or link.cycles == 0:
            base = _StationaryVector(self._units, kind)
        elif link.source == own or own in wiring.in_place:
            base = _ShiftedVector(link, self._units, kind)
        else:
            base = _LinkedVector(histories[link.source], link, shared=wiring.users[link.source] > 1)
        transfers = [_Transfer(units.slices, histories[each.source], each) for each, units in operand.transfers]
        loads = [
            _StridedLoads(events, memories) if isinstance(events, StridedEvents) else _ListedLoads(events, memories)
            for events in operand.loads
        ]
        broadcasts = [_WireBroadcast(each, self._grid) for each in operand.broadcasts]
        return _RegisterVector(base, [*transfers, *loads], broadcasts, histories.get(own))


@dataclass(frozen=True)
class _Wiring:
    """A _Wiring says which registers of a fold take values from which.

    in_place: registers that take results of their own statement; the results are written straight into the registers' vectors.
    histories: for each register or result from which others take values, its values in past cycles.
    users: how many links take values from each register or result.
    """

    in_place: frozenset[Register]
    histories: Mapping[Register, _RegisterHistory]
    users: Counter[Register]


class _Vector(Protocol):
    """A _Vector is a register's values in all PEs. is_own: whether they may be changed without changing another register's."""

    is_own: bool

    @property
    def at(self) -> Callable[[int], Vector]:
        """Returns a function from a cycle to the vector of that cycle."""


def in_place(fold: FoldProgram) -> set[Register]:
    """Returns the registers that take results of their own statement which no other register takes. Such results can be written
    straight into the register's vector.
    """
    users = Counter(link.source for operand in fold.operands.values() for link in operand.links)
    made = ((own, operand.link) for own, operand in fold.operands.items() if operand.link)
    return {own for own, link in made if link.source == (own[0], RESULT) and users[link.source] == 1 and link.cycles}


def chained_sums(fold: FoldProgram) -> dict[str, int]:
    """Returns the statements whose sums are added up along a row or column of PEs within one cycle, each with the number of the
    read that takes the sum so far.
    """
    return {name: read for (name, read), operand in fold.operands.items() if operand.link and not operand.link.cycles}


def history_depths(fold: FoldProgram, names: Iterable[str], held: Collection[Register]) -> tuple[dict[Register, int], int]:
    """Returns (depths, reach). depths: for each register or result whose values other registers take, for how many cycles they are
    remembered. reach: the greatest difference between the number of a PE and that of the one from which it takes a value.

    names: the names of the statements.
    held: registers that are `in_place`, whose results need no history.
    """
    depths: Counter[Register] = Counter({(name, RESULT): 0 for name in {*names} - {name for name, _ in held}})
    reach = 0
    for own, operand in fold.operands.items():
        for link in operand.links:
            if own not in held and (link is not operand.link or link.source != own):
                depths[link.source] = max(depths[link.source], link.cycles)
                reach = max(reach, abs(link.offset))
    return depths, reach


class _RegisterHistory:
    """A _RegisterHistory keeps a register's values in all PEs, for the current cycle and `depth` cycles before it.

    reach: the greatest difference between the number of a PE and that of one that takes its value.
    """

    def __init__(self, depth: int, reach: int, units: int, kind: np.dtype):
        self._depth, self._reach, self._units = depth + 1, reach, units
        self._vectors = np.zeros((depth + 1, units + 2 * reach), kind)
        self._now = [vector[reach : reach + units] for vector in self._vectors]

    def at(self, cycle: int) -> Vector:
        """Returns the register's values in all PEs in a cycle; those of the current cycle are to be written into this vector."""
        return self._now[cycle % self._depth]

    def along(self, link: Link) -> Callable[[int], Vector]:
        """Returns a function that gives for each cycle the vector of what the PEs get by a link in that cycle."""
        first = self._reach - link.offset
        views = [self._vectors[(phase - link.cycles) % self._depth, first : first + self._units] for phase in range(self._depth)]
        return lambda cycle: views[cycle % self._depth]


class _StationaryVector:
    """A _StationaryVector is a register whose values stay in their PEs."""

    is_own = True

    def __init__(self, units: int, kind: np.dtype):
        self._vector = np.zeros(units, kind)

    def at(self, cycle: int) -> Vector:
        """Returns the vector, which is the same in every cycle."""
        return self._vector


class _ShiftedVector:
    """A _ShiftedVector is a register in which each PE takes what a PE at a fixed distance had some cycles before. No value is
    copied for that: it stays where it is in a longer vector, and the position that stands for the first PE moves.
    """

    is_own = True

    def __init__(self, link: Link, units: int, kind: np.dtype):
        self._cycles, self._offset, self._units = link.cycles, link.offset, units
        self._room = max(ROOM * abs(link.offset), units)
        self._begin = self._room if link.offset > 0 else 0
        self._vectors = [np.zeros(units + self._room, kind) for _ in range(link.cycles)]
        self._starts = [self._begin] * link.cycles

    def at(self, cycle: int) -> Vector:
        """Returns the values in all PEs in a cycle. Cycles have to come in their order, since each call moves the first PE's
        position.
        """
        phase = cycle % self._cycles
        vector, start = self._vectors[phase], self._starts[phase]
        if cycle >= self._cycles:
            if not 0 <= start - self._offset <= self._room:
                vector[self._begin : self._begin + self._units] = vector[start : start + self._units].copy()
                start = self._begin
            start -= self._offset
            self._starts[phase] = start
        return vector[start : start + self._units]


class _LinkedVector:
    """A _LinkedVector is a register that takes, by a link, the values that another register had some cycles before.

    shared: whether more than one link takes them, so that they must not be changed in place.
    """

    def __init__(self, history: _RegisterHistory, link: Link, shared: bool):
        self.at, self.is_own = history.along(link), not shared


class _ListedLoads:
    """_ListedLoads are a register's loads from a memory, listed one by one. Elements of arrays are read in the cycle of their load,
    since sums are stored to them meanwhile; those of other memories are read at the beginning.
    """

    def __init__(self, events: Events, memories: MemoryContents):
        self._starts, self._elements = events.units_by_cycle.starts.tolist(), events.elements
        self.slices = events.units_by_cycle.slices
        kind, _ = events.memory
        self._memory = memories[events.memory] if kind == "array" else None
        self._values = events.elements if kind in ("number", "array") else memories[events.memory][events.elements]

    def values(self, cycle: int, where: slice | np.ndarray) -> np.ndarray:
        """Returns the elements that are loaded in a cycle, one for each PE in `where`, which are the PEs that load."""
        part = slice(self._starts[cycle], self._starts[cycle + 1])
        return self._values[part] if self._memory is None else self._memory[self._elements[part]]


class _StridedLoads:
    """_StridedLoads are a register's loads of elements that, within each cycle, are equally far apart."""

    def __init__(self, events: StridedEvents, memories: MemoryContents):
        self.slices = _slices(events.units, events.unit_step, events.counts)
        self._memory = memories[events.memory]
        self._elements = _slices(events.elements, events.element_step, events.counts)

    def values(self, cycle: int, where: slice | np.ndarray) -> np.ndarray:
        """Returns the elements that are loaded in a cycle: one for each PE in `where`, or a single one for all."""
        return self._memory[self._elements[cycle]]


def _slices(first: np.ndarray, step: int, counts: np.ndarray) -> list[slice | None]:
    """Returns, for each cycle, the slice of positions first, first + step and so on, of which there are as many as `counts` has for
    the cycle; None for a cycle with none. Where step is 0, the slice is the position `first` alone, which all events of the cycle
    share.
    """
    ends = first + step * counts if step else first + 1
    step = step or 1
    return [
        slice(start, None if end < 0 else end, step) if count else None
        for start, end, count in zip(first.tolist(), ends.tolist(), counts.tolist())
    ]


class _Transfer:
    """A _Transfer gives the values that some PEs take by a link in some cycles."""

    def __init__(self, slices: Sequence[slice | np.ndarray | None], history: _RegisterHistory, link: Link):
        self.slices, self._along = slices, history.along(link)

    def values(self, cycle: int, where: slice | np.ndarray) -> np.ndarray:
        """Returns the values that the PEs in `where`, which are numbers of PEs, take by the link in a cycle."""
        return self._along(cycle)[where]


class _WireBroadcast:
    """A _WireBroadcast copies the values of drivers (PEs that put their value on a wire) to all PEs of their rows or columns."""

    def __init__(self, broadcast: Broadcast, grid: tuple[int, int]):
        self.slices, self._along, self._grid = broadcast.drivers.slices, broadcast.along, grid
        self._lines = broadcast.lines(grid[1]).slices

    def spread(self, cycle: int, vector: Vector) -> None:
        """Changes a register's vector in place: each PE that drives a row or column in this cycle gives its value to all of it."""
        values, field = vector[self.slices[cycle]], vector.reshape(self._grid)
        if self._along:
            field[self._lines[cycle]] = values[:, None]
        else:
            field[:, self._lines[cycle]] = values


class _ChainedSums:
    """_ChainedSums computes the results of a statement whose sums go along rows or columns within one cycle: PE after PE adds its
    term to the result of the PE before it.

    read: the number of the read that takes the sum so far.
    """

    def __init__(self, datapath: Datapath, arguments: Mapping[str, object], grid: tuple[int, int], read: int, operand: Operand):
        rows, columns = grid
        link, self._read = operand.link, read
        if link is None:
            raise ValueError("a sum that goes on has a link")
        step = link.steps[-1] if link.along else link.steps[0]
        if link.along:
            places = [slice(column, None, columns) for column in range(columns)]
        else:
            places = [slice(row * columns, (row + 1) * columns) for row in range(rows)]
        order = range(len(places)) if step > 0 else reversed(range(len(places)))
        self._places = [(places[p], places[p - step] if 0 <= p - step < len(places) else None) for p in order]
        self._evaluate = evaluator(datapath, arguments, rows if link.along else columns)
        self._begins = np.zeros(rows * columns, bool)
        self._loads = [
            _slices(e.units, e.unit_step, e.counts) if isinstance(e, StridedEvents) else e.units_by_cycle.slices
            for e in operand.loads
        ]

    def __call__(self, cycle: int, vectors: list[Vector], made: Vector) -> None:
        """Computes the results of a cycle into `made` from the registers' vectors; the vector of the register that has the sums so
        far is changed, too.
        """
        begins, sums = self._begins, vectors[self._read]
        begins[:] = False
        for where in (slices[cycle] for slices in self._loads):
            if where is not None:
                begins[where] = True
        for here, before in self._places:
            if before is not None:
                sums[here] = np.where(begins[here], sums[here], made[before])
            self._evaluate([vector[here] for vector in vectors], made[here])


class _RegisterVector:
    """A _RegisterVector puts together the values that a register has in all PEs, cycle by cycle.

    base: the values that all PEs get.
    others: loads and links, which then replace the values of some PEs.
    wired: wires, which after that spread values over rows or columns.
    history: where the values are remembered for other registers; None where none takes them.
    """

    def __init__(
        self,
        base: _Vector,
        others: Sequence[_ListedLoads | _StridedLoads | _Transfer],
        wired: list[_WireBroadcast],
        history: _RegisterHistory | None,
    ):
        self._base, self._others, self._wired, self._history = base, others, wired, history
        self._now = np.empty(0)

    def next(self, cycle: int) -> Vector:
        """Returns the vector of a cycle, for cycles in their order."""
        vector, is_own = self._base.at(cycle), self._base.is_own
        for other in self._others:
            where = other.slices[cycle]
            if where is not None:
                if not is_own:
                    vector, is_own = vector.copy(), True
                vector[where] = other.values(cycle, where)
        for each in self._wired:
            if each.slices[cycle] is not None:
                if not is_own:
                    vector, is_own = vector.copy(), True
                each.spread(cycle, vector)
        if self._history is not None:
            np.copyto(self._history.at(cycle), vector)
        self._now = vector
        return vector

    def at(self, cycle: int) -> Vector:
        """Returns the vector that `next` returned last."""
        return self._now


class _Stores:
    """A _Stores puts the results of some PEs into a memory."""

    def __init__(self, events: Events | StridedEvents, memory: np.ndarray, results: _RegisterHistory | _RegisterVector):
        self._memory, self._results = memory, results
        self._slices: Sequence[slice | np.ndarray | None]
        self._elements: Sequence[slice | np.ndarray | None]
        if isinstance(events, StridedEvents):
            self._slices = _slices(events.units, events.unit_step, events.counts)
            self._elements = _slices(events.elements, events.element_step, events.counts)
        else:
            self._slices = events.units_by_cycle.slices
            starts = events.units_by_cycle.starts.tolist()
            self._elements = [events.elements[first:end] for first, end in itertools.pairwise(starts)]

    def at(self, cycle: int) -> None:
        """Stores the results of one cycle that go to memory."""
        where = self._slices[cycle]
        if where is not None:
            self._memory[self._elements[cycle]] = self._results.at(cycle)[where]
