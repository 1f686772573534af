"""The cycles of one fold as frames: where elements come from, where they are on their way, and where they go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Access
from polyml.systolic.folding.fold_counts import is_stationary
from polyml.systolic.folding.folded_domain import FoldPoints
from polyml.systolic.folding.preloading import preload_groups
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.recurrences.recurrence import DataStream, UniformRecurrence
from polyml.systolic.recurrences.spacetime import Vector
from polyml.systolic.recurrences.systolic_nest import ArrayUse
from polyml.systolic.recurrences.value_sources import ValueSource
from polyml.systolic.simulate.frames import (
    MOST_AHEAD,
    BoundaryElement,
    CycleFrame,
    HeldElement,
    PEIndex,
    PEState,
    Point,
    StatementInstance,
    Transit,
)
from polyml.values import cached_property


def lanes_of(recurrence: UniformRecurrence) -> tuple[DataStream, ...]:
    """Returns the streams whose elements are drawn in a PE, each in a register of its own: the nest's reads; and its results,
    unless they are running sums, which are among the reads.
    """
    summed = any(s.use.kind == "result" for s in recurrence.streams)
    return (*recurrence.streams, *(() if summed else (recurrence.result,)))


def _accesses(recurrence: UniformRecurrence, lane: DataStream) -> list[tuple[ArrayUse, Access]]:
    """Returns the accesses whose elements a drawn register holds. For a stream of results these are the writes of all statements;
    for any other, the read that the stream is of.
    """
    statements = {place.statement.name: place.statement for place in recurrence.nest.embeddings}
    if lane is recurrence.result:
        return [(use, statements[use.statement].write) for use in recurrence.nest.results]
    return [(lane.use, statements[lane.use.statement].reads[lane.use.read])]


def _instances(recurrence: UniformRecurrence, points: isl.Set) -> tuple[dict[Point, StatementInstance], list[dict[Point, str]]]:
    """Returns (instances, elements) for the given points [o, a], the values of outer loops and axes.

    instances: by point, the instance that runs there.
    elements: for each stream of `lanes_of`, by point, the text of the element that the instance there accesses.
    """
    pairs = {name: recurrence.embedding_of(name).intersect_range(points) for name in recurrence.statements}
    at = {instance: point for each in pairs.values() for instance, (_, point) in polyhedra.points(each)}
    elements = []
    for lane in lanes_of(recurrence):
        found: dict[Point, str] = {}
        for use, access in _accesses(recurrence, lane):
            relation = access.relation.intersect_domain(pairs[use.statement].domain())
            known = polyhedra.points(relation, **dict(recurrence.sizes))
            found |= {at[instance]: _element(use.array, index) for instance, (_, index) in known}
        elements.append(found)
    return {point: StatementInstance(*instance) for instance, point in at.items()}, elements


def _element(array: str, index: tuple[int, ...]) -> str:
    """Returns an element as text: `A[1,2]`, or `A` for a scalar."""
    return f"{array}[{','.join(map(str, index))}]" if index else array


class FoldFrames:
    """A FoldFrames makes the frames of one fold: what each PE runs and holds in each cycle, for pictures.

    plan: the plan.
    lanes: the streams that `lanes_of` returns.
    sources: for each of these streams, the ways by which an instance may get its value: pairs of another instance and this one.
    fold: (the fold's number, the coordinates of its first PE, its points).
    before: the elements that earlier folds wrote, as text.
    """

    def __init__(
        self,
        plan: Plan,
        lanes: tuple[DataStream, ...],
        sources: Sequence[tuple[ValueSource, ...]],
        fold: FoldPoints,
        before: set[str],
    ):
        recurrence, mapping = plan.recurrence, plan.mapping
        number, corner, points = fold
        self._plan, self._lanes, self._number, self._outer = plan, lanes, number, len(recurrence.outer)
        self._instances, self._elements = _instances(recurrence, points)
        self._t: dict[Point, int] = {}
        self._unit: dict[Point, PEIndex] = {}
        for point in self._instances:
            t, *place = mapping.steps(point[self._outer :])
            self._t[point] = t
            self._unit[point] = tuple(x - first for x, first in zip(place, corner))
        self._begin, self._end = min(self._t.values()), max(self._t.values())
        self._loads = [[lanes.index(stream) for stream in streams] for streams in preload_groups(recurrence, mapping)]
        self._stationary = [lane for each in self._loads for lane in each]
        self._kept = [
            *self._stationary,
            *(n for n, lane in enumerate(lanes) if lane.use.kind == "result" and is_stationary(mapping, lane)),
        ]
        self._source: dict[tuple[Point, int], Point | None] = {
            (point, lane): None for lane, known in enumerate(self._elements) for point in known
        }
        self._at_once: set[tuple[Point, int]] = set()  # elements that a wire brings in the cycle in which they are used
        for lane, found in enumerate(sources):
            for point, (source, other) in self._from(found, points).items():
                self._source[point, lane] = other
                if source.line:
                    self._at_once.add((point, lane))
        self._gone = self._leaving(points)
        self._new = self._entering(before)
        self._rows = [unit[0] for unit in self._unit.values()]

    def written(self) -> set[str]:
        """Returns the elements that the fold writes, as text."""
        return set(self._elements[self._result].values())

    @property
    def _result(self) -> int:
        """Returns which of the streams is that of the results, as its position among them."""
        return next(n for n, lane in enumerate(self._lanes) if lane.use.kind == "result")

    def _step(self, point: Point, vector: Vector, sign: int) -> Point:
        """Returns the point that lies a vector after another one (sign 1) or before it (sign -1)."""
        first = self._outer
        return (*point[:first], *(value + sign * step for value, step in zip(point[first:], vector)))

    def _from(self, sources: Sequence[ValueSource], points: isl.Set) -> dict[Point, tuple[ValueSource, Point]]:
        """Returns where instances get a stream's element from, for those that get it from another instance of the fold: by point of
        the instance, (the source that says so, the point of that other instance).

        sources: the ways by which the stream's values may come; the first one that fits counts. points: those of the fold.
        """
        found: dict[Point, tuple[ValueSource, Point]] = {}
        for source in sources:
            pairs = source.pairs if self._plan.mapping.sense(source) > 0 else source.pairs.reverse()
            for (_, before), (_, after) in polyhedra.points(pairs.intersect_domain(points).intersect_range(points)):
                found.setdefault(after, (source, before))
        return found

    def _leaving(self, points: isl.Set) -> set[Point]:
        """Returns the points of the instances whose results go to the buffer.

        In a nest of sums, these are the last instances in the fold that add to a sum. In any other nest, they are the instances
        whose value is there at the end of the nest, or used by another fold or statement.
        """
        recurrence, last = self._plan.recurrence, set(self._instances)
        if recurrence.is_sum:
            for direction in self._lanes[self._result].directions:
                sense = self._plan.mapping.sense(direction)
                last -= {p for p in last if self._step(p, direction.vector, sense) in self._instances}
            return last
        last = {point for _, point in polyhedra.points(recurrence.live_out.intersect(points))}
        for stream in (s for s in self._lanes if s.use.kind == "value"):
            made = recurrence.flow_of(stream).intersect_domain(points)
            last |= {source for (_, source), (_, sink) in polyhedra.points(made) if sink not in self._instances}
        return last

    def _entering(self, before: set[str]) -> set[tuple[Point, int]]:
        """Returns (point, position of the stream) for each element that an instance gets from the buffer. Sums that do not start
        from an array's element start inside the PE, so they do not count.

        before: the elements that folds before wrote, as text.
        """
        recurrence, found = self._plan.recurrence, set()
        for (point, lane), source in self._source.items():
            is_sum = self._lanes[lane].use.kind == "result"
            begins = is_sum and not recurrence.nest.starts_from_arrays and self._elements[lane][point] not in before
            if source is None and lane < len(recurrence.streams) and not begins:
                found.add((point, lane))
        return found

    def frames(self, cycle: int, index: int) -> Iterator[CycleFrame]:
        """Yields the frames of the fold: first of the cycles that shift stationary operands in, then of those that run instances.

        cycle: the number of the first frame.
        index: the number of the fold.
        """
        low, high = min(self._rows), max(self._rows)
        moves, registers = self._moves(), self._registers()
        outside = self._outside()
        preload_cycles = len(self._loads) * (high - low + 1)
        for step in range(preload_cycles):
            t = self._begin - preload_cycles + step
            pe_states, shifts, waiting = self._preload(step, low, high)
            yield CycleFrame(cycle + step, index, self._number, t, "preload", pe_states, tuple(shifts), (*waiting, *outside(t)))
        instances = {(t, self._unit[point]): self._instances[point] for point, t in self._t.items()}
        for t in range(self._begin, self._end + 1):
            here = registers.get(t, {})
            pe_states = {unit: PEState(instances.get((t, unit)), tuple(_sorted(held))) for unit, held in sorted(here.items())}
            now = cycle + preload_cycles + t - self._begin
            yield CycleFrame(now, index, self._number, t, "compute", pe_states, tuple(moves.get(t, ())), outside(t))

    def _registers(self) -> dict[int, dict[PEIndex, list[HeldElement]]]:
        """Returns the elements that PEs hold, by cycle and then by PE: those that their instances use, and those that wait in a PE
        before or after their use.
        """
        found: dict[int, dict[PEIndex, list[HeldElement]]] = defaultdict(lambda: defaultdict(list))
        stays_until: dict[tuple[PEIndex, int], tuple[int, str]] = {}
        stays_from: dict[tuple[PEIndex, int], tuple[int, str]] = {}
        for point in sorted(self._instances, key=self._t.__getitem__):
            t, unit = self._t[point], self._unit[point]
            for lane in self._lanes_at(point):
                element, source = self._elements[lane][point], self._source[point, lane]
                leaves = lane == self._result and point in self._gone
                shifted = lane in self._stationary and (unit, lane) not in stays_from
                enters = (point, lane) in self._new and not shifted
                found[t][unit].append(HeldElement(lane, element, enters, leaves, used=True))
                if source is not None and self._unit[source] == unit:
                    for between in range(self._t[source] + 1, t):
                        found[between][unit].append(HeldElement(lane, element))
                stays_from.setdefault((unit, lane), (t, element))
                stays_until[unit, lane] = t, element
        for (unit, lane), (t, element) in stays_from.items():
            for earlier in range(self._begin, t) if lane in self._stationary else ():
                found[earlier][unit].append(HeldElement(lane, element))
        for (unit, lane), (t, element) in stays_until.items():
            for later in range(t + 1, self._end + 1) if lane in self._kept else ():
                found[later][unit].append(HeldElement(lane, element))
        return found

    def _lanes_at(self, point: Point) -> list[int]:
        """Returns the positions of the streams of which the instance at a point has an element."""
        return [lane for lane, elements in enumerate(self._elements) if point in elements]

    def _moves(self) -> dict[int, list[Transit]]:
        """Returns, by cycle, the elements on their way from one PE to another.

        An element is on its way from the cycle in which the first PE uses it until the cycle before the second PE uses it. An
        element on a wire is on its way only in the cycle in which the second PE uses it.
        """
        found: dict[int, list[Transit]] = defaultdict(list)
        for (point, lane), source in self._source.items():
            if source is None or self._unit[source] == self._unit[point]:
                continue
            start, cycles = self._t[source], self._t[point] - self._t[source]
            if (point, lane) in self._at_once:
                start, cycles = self._t[point], 0
            for step in range(max(cycles, 1)):
                signs = self._unit[source], self._unit[point]
                found[start + step].append(Transit(lane, self._elements[lane][point], *signs, step, cycles))
        return {t: sorted(moves, key=lambda m: (m.lane, m.source)) for t, moves in found.items()}

    def _outside(self) -> Callable[[int], tuple[BoundaryElement, ...]]:
        """Returns a function from a cycle to the elements that are drawn outside the array in that cycle: those that will soon
        enter a PE, and results that have just left one.

        Only elements that move along one coordinate are drawn; in an array of one dimension, also those that a single PE gets
        from the buffer or gives to it.
        """
        signs_of_lanes = [self._signs(lane) for lane in range(len(self._lanes))]
        used = set(self._unit.values())
        found: dict[int, list[BoundaryElement]] = defaultdict(list)
        for point, lane in self._new:
            signs = signs_of_lanes[lane]
            if signs is not None and lane not in self._stationary and self._is_free(self._unit[point], signs, used, -1):
                for ahead in range(1, MOST_AHEAD + 1):
                    found[self._t[point] - ahead].append(self._token(point, lane, signs, -ahead))
        lane = self._result
        for point in self._gone:
            signs = signs_of_lanes[lane]
            if signs is not None and self._is_free(self._unit[point], signs, used, 1):
                for ago in range(1, MOST_AHEAD + 1):
                    found[self._t[point] + ago].append(self._token(point, lane, signs, ago))
        return lambda t: tuple(sorted(found.get(t, ()), key=lambda o: (o.lane, o.unit, o.cycles)))

    def _token(self, point: Point, lane: int, signs: Vector, cycles: int) -> BoundaryElement:
        """Returns the element that the instance at a point accesses by a stream, as one that is drawn outside the array.

        lane: the position of the stream.
        signs: the sign of its moves along each coordinate.
        cycles: how many cycles ago it left the PE; negative for how many are left before it enters.
        """
        return BoundaryElement(lane, self._elements[lane][point], self._unit[point], signs, cycles)

    def _signs(self, lane: int) -> Vector | None:
        """Returns the direction in which a stream's elements move, as the sign of each coordinate's change: for example (0, 1).

        In an array of one dimension it is (0,) for a stream whose elements stay in their PEs. The result is None for such a stream
        in an array of two dimensions, and for a stream that moves along two coordinates at once or in several directions.
        """
        stream, mapping = self._lanes[lane], self._plan.mapping
        along = [tuple((v > 0) - (v < 0) for v in mapping.displacement(d)[1:]) for d in stream.directions]
        nowhere = (0,) * len(mapping.space)
        if not along or along == [nowhere]:
            return nowhere if len(nowhere) == 1 else None
        return along[0] if len(along) == 1 and sum(map(abs, along[0])) == 1 else None

    def _is_free(self, unit: PEIndex, signs: Vector, used: set[PEIndex], sign: int) -> bool:
        """Returns whether the way from a PE to the boundary of the array is free: no PE in `used` lies on it.

        signs: a direction, as the sign of each coordinate's change.
        sign: 1 for the way in that direction, -1 for the way against it.
        """
        here = unit
        while any(signs):
            here = tuple(x + sign * step for x, step in zip(here, signs))
            if not all(0 <= x < length for x, length in zip(here, self._plan.folds.shape)):
                return True
            if here in used:
                return False
        return True

    def _preload(self, step: int, low: int, high: int) -> tuple[dict[PEIndex, PEState], list[Transit], list[BoundaryElement]]:
        """Returns what is drawn of one of the cycles before a fold, in which stationary operands are shifted in down the rows: (the
        state of each PE, elements on their way from PE to PE, elements that wait outside). Elements for the last row enter first.

        Streams that go to the same PEs are shifted in one after another.
        step: the number of this cycle among those before the fold, from 0.
        low, high: the first and the last row in use.
        """
        rows = high - low + 1
        loading, at = divmod(step, rows)
        first = self._firsts
        registers: dict[PEIndex, list[HeldElement]] = defaultdict(list)
        moves, waiting = [], []
        for lane in (lane for each in self._loads[:loading] for lane in each):
            for unit, element in first[lane].items():
                registers[unit].append(HeldElement(lane, element))
        coming = [(lane, unit, element) for lane in self._loads[loading] for unit, element in first[lane].items()]
        for lane, target, element in coming:
            row, column = target[0], target[1:]
            here = low + at - (high - row)
            signs = (1, *(0 for _ in column))
            if here < low:
                if low - here <= MOST_AHEAD:
                    waiting.append(BoundaryElement(lane, element, (low, *column), signs, here - low))
                continue
            unit = (here, *column)
            registers[unit].append(HeldElement(lane, element, enters=here == low))
            if here < row:
                moves.append(Transit(lane, element, unit, (here + 1, *column), 0, 1))
        pe_states = {unit: PEState(None, tuple(_sorted(held))) for unit, held in sorted(registers.items())}
        return pe_states, moves, waiting

    @cached_property
    def _firsts(self) -> dict[int, dict[PEIndex, str]]:
        """Returns, by position of a stationary stream and by PE, the text of the element that the PE uses first in the fold."""
        found: dict[int, dict[PEIndex, str]] = {lane: {} for lane in self._stationary}
        for point in sorted(self._instances, key=self._t.__getitem__):
            for lane in self._stationary:
                if point in self._elements[lane]:
                    found[lane].setdefault(self._unit[point], self._elements[lane][point])
        return found

    def drain(self, cycle: int, index: int) -> Iterator[CycleFrame]:
        """Yields the frames of the cycles in which stationary results are shifted down the rows and out, after the last fold.

        cycle: the number of the first frame; index: that of the fold.
        """
        lane, last = self._result, {}
        for point in sorted(self._instances, key=self._t.__getitem__):
            last[self._unit[point]] = self._elements[lane][point]
        rows = self._plan.folds.shape[0]
        for step in range(self._plan.folds.drain_cycles):
            pe_states, moves = {}, []
            for source, element in sorted(last.items()):
                here, column = source[0] + step, source[1:]
                unit = (here, *column)
                if here < rows:
                    pe_states[unit] = PEState(None, (HeldElement(lane, element, leaves=here == rows - 1),))
                if here < rows - 1:
                    moves.append(Transit(lane, element, unit, (here + 1, *column), 0, 1))
            yield CycleFrame(cycle + step, index, self._number, self._end + 1 + step, "drain", pe_states, tuple(moves), ())


def _sorted(registers: Sequence[HeldElement]) -> list[HeldElement]:
    """Returns the elements of a PE in the order in which they are drawn: by register, and in each one those that are used first."""
    return sorted(registers, key=lambda r: (r.lane, not r.used))
