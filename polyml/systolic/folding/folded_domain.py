"""The points of a recurrence by folds, as isl sets, for all that `box_folds` has no formulas for.

{ [o..., f, g, t, x, y] : f = x // rows, g = y // columns }
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.errors import IllegalSchedule
from polyml.model.counting.brascamp_lieb import kernel
from polyml.model.counting.cardinality import Count, count
from polyml.model.counting.count_points import size, size_classes, table
from polyml.model.counting.lattice_points import lattice
from polyml.systolic.folding.fold_counts import FoldClass, StreamTraffic, is_stationary, preloaded, traffic
from polyml.systolic.folding.preloading import preload_passes
from polyml.systolic.folding.stalls import FoldStep, RepeatedSteps, nested
from polyml.systolic.recurrences.recurrence import DataStream, UniformRecurrence
from polyml.systolic.recurrences.spacetime import Direction, SpaceTime, Vector, linear, smallest_pair

FORMULA_STEPS = 300  # of summation, to find one formula


class FoldPoints(NamedTuple):
    """FoldPoints holds the points of one fold, and where it lies.

    number: [o, f], the values of the outer loops and the numbers of the blocks of rows and columns.
    corner: the coordinates x, y that the mapping gives to the first PE of the fold, which is PE 0, 0 of the array.
    points: { [o, a] }, the values of the outer loops o and of the axes a of the recurrence.
    """

    number: Vector
    corner: Vector
    points: isl.Set


class FoldedDomain:
    """A FoldedDomain counts the folds of a mapping on an array with isl, by its points { [o, f, a] }: outer loops, blocks of rows
    and columns, and axes. A fold is numbered by [o, f].
    """

    def __init__(self, recurrence: UniformRecurrence, mapping: SpaceTime, shape: tuple[int, ...]):
        self._recurrence, self._mapping, self._shape = recurrence, mapping, shape
        self._outer = [f"o{k}" for k in range(len(recurrence.outer))]
        self._axes = [f"a{k}" for k in range(len(recurrence.axes))]
        self._units = [f"x{k}" for k in range(len(shape))]
        self._blocks = [f"f{k}" for k in range(len(shape))]
        self._numbers = [*self._outer, *self._blocks]
        self._image = recurrence.points.apply(mapping.relation(len(self._outer)))  # { [o, t, x, y] }
        starts = polyhedra.dimension_minima(self._image)[len(self._outer) + 1 :]
        self._origin = dict(zip(self._blocks, starts))
        places = [linear(row, self._axes) for row in mapping.space]
        self._points = recurrence.points.apply(self._blocking(self._axes, places))
        self._folds = self._by_fold(self._points, self._axes).domain().coalesce()  # { [o, f] }

    def _blocking(self, others: Sequence[str], places: Sequence[str]) -> isl.Map:
        """Returns { [o, others] -> [o, f, others] }; f are the numbers of the block of rows and of the block of columns of a PE.

        o: the values of outer loops.
        others: the names of the coordinates behind them, such as axes, or time and PE.
        places: the coordinates of the PE, as isl expressions of `others`.
        """
        parts = zip(self._shape, self._blocks, places)
        within = [f"{n}*{f} <= {place} - ({self._origin[f]}) < {n}*{f} + {n}" for n, f, place in parts]
        return _map([*self._outer, *others], [*self._numbers, *others], " and ".join(within))

    def _by_fold(self, points: isl.Set, others: Sequence[str]) -> isl.Map:
        """Returns points { [o, f, others] } as a map { [o, f] -> [others] } from their folds; others: the names of the coordinates
        behind o, f.
        """
        every = [*self._numbers, *others]
        return _map(every, self._numbers).intersect_domain(points).reverse().apply_range(_map(every, others))

    def _blocked(self, image: isl.Set) -> isl.Map:
        """Returns outer loops, cycles and PEs { [o, t, x, y] } as a map { [o, f] -> [t, x, y] } from the folds in which they are."""
        others = ["t", *self._units]
        return self._by_fold(image.apply(self._blocking(others, self._units)), others)

    def points(self) -> Iterator[FoldPoints]:
        """Yields the points of each fold with its number and its first PE, in the order in which folds run."""
        names = f"{{ [{', '.join([*self._outer, *self._axes])}] : "
        places = [linear(row, self._axes) for row in self._mapping.space]
        for _, number in sorted(polyhedra.points(self._folds)):
            outer, blocks = number[: len(self._outer)], number[len(self._outer) :]
            corner = tuple(self._origin[f] + n * b for f, n, b in zip(self._blocks, self._shape, blocks))
            parts = [f"{name} = {value}" for name, value in zip(self._outer, outer)]
            parts += [f"{low} <= {place} < {low + n}" for low, place, n in zip(corner, places, self._shape)]
            inside = isl.Set(f"{names}{' and '.join(parts)} }}")
            yield FoldPoints(number, corner, self._recurrence.points.intersect(inside).coalesce())

    def check_order(self) -> None:
        """Checks that values which instances make for others go to the same fold or to a later one, that none leaves a fold and
        comes back to it, and that no two are on one wire at once.

        Raises: IllegalSchedule where it is not so.
        """
        to_fold = _map([*self._numbers, *self._axes], self._numbers)
        for stream in self._recurrence.streams:
            if stream.use.kind != "value":
                continue
            pairs = self._flow(stream)
            flow = pairs.apply_domain(to_fold).apply_range(to_fold)
            back = flow.intersect(isl.Map.lex_gt(self._folds.get_space()))
            notes = [f"mapping {self._recurrence.text(self._mapping)}"]
            if not back.is_empty():
                earlier, later = (list(point) for _, point in smallest_pair(back).instances)
                message = f"the value {stream.use.text} would go from fold {earlier} to fold {later}, which runs before"
                raise IllegalSchedule(message, notes=[*notes, self._expected()])
            cut = pairs.intersect(to_fold.apply_range(to_fold.reverse())).subtract_range(self._received(stream))
            if not cut.is_empty():
                (_, point), _ = smallest_pair(cut).instances
                message = f"the value {stream.use.text} would leave fold {list(point[: len(self._numbers)])} and come back to it"
                raise IllegalSchedule(message, notes=notes)
            for number, source in enumerate(self._recurrence.sources_of(stream)):
                if source.free and self._mapping.steps(source.vector)[0] == 0:
                    self._check_drivers(stream, number)

    def _check_drivers(self, stream: DataStream, number: int) -> None:
        """Checks that at most one PE of a row or column puts a value from memory on its wire in a cycle.

        number: which of the stream's sources (the ways by which instances get its values) is the wire: its position in their list.
        Raises: IllegalSchedule where several do.
        """
        *before, source = self._recurrence.sources_of(stream)[: number + 1]
        takers, inside = self._with_folds(self._recurrence.users(stream)), self._same_fold()
        for each in before:
            takers = takers.subtract(self._across_folds(each.pairs).intersect(inside).range())
        begin = takers.subtract(self._across_folds(source.pairs).intersect(inside).range())
        along = next(k for k, step in enumerate(self._mapping.steps(source.vector)[1:]) if step)
        others = (row for k, row in enumerate(self._mapping.space) if k != along)
        rows = [linear(row, self._axes) for row in (self._mapping.time, *others)]
        line = _map([*self._numbers, *self._axes], [*self._numbers, *rows]).intersect_domain(begin)
        twice = line.apply_range(line.reverse()).subtract(begin.identity())
        if not twice.is_empty():
            one, other = (list(point[-len(self._axes) :]) for _, point in smallest_pair(twice).instances)
            message = f"{stream.use.text} would be put on one wire at {one} and at {other} in one cycle"
            raise IllegalSchedule(message, notes=[f"mapping {self._recurrence.text(self._mapping)}"])

    def _expected(self) -> str:
        """Returns the note of an error that says what array would be accepted: one on which all instances are in one fold."""
        lengths = (last - first + 1 for first, last in polyhedra.ranges(self._image)[len(self._outer) + 1 :])
        return f"expected an array of at least {' x '.join(map(str, lengths))} units, on which the instances are in one fold"

    def _flow(self, stream: DataStream) -> isl.Map:
        """Returns the stream's flow dependences between points of outer loops, blocks and axes, { [o, f, a] -> [o', f', a'] }."""
        return self._across_folds(self._recurrence.flow_of(stream))

    def _across_folds(self, pairs: isl.Map) -> isl.Map:
        """Returns pairs of points { [o, a] -> [o', a'] } with the blocks f of rows and columns in which they lie, { [o, f, a] ->
        [o', f', a'] }.
        """
        bare = _map([*self._numbers, *self._axes], [*self._outer, *self._axes]).intersect_domain(self._points)
        return bare.apply_range(pairs).apply_range(bare.reverse())

    def classes(self, padded: bool) -> Iterator[FoldClass]:
        """Yields the classes of folds with equal counts, those with the most instances first.

        padded: count the cycles as if every PE had instances.
        """
        units = self._blocked(self._image).apply_range(_map(["t", *self._units], self._units))
        times = self._coordinates(padded).apply_range(_map(["t", *self._units], ["t"]))
        stationary = preload_passes(self._recurrence, self._mapping)
        counted = [self._by_fold(self._points, self._axes), units, _hull(times), self._rows(padded)]
        found: Counter[tuple[int, ...]] = Counter()
        for number, (instances, used, cycles, rows) in self._distinct(self._folds, counted):
            found[instances, used, cycles, stationary * rows] += number
        return (FoldClass(number, *values) for values, number in sorted(found.items(), reverse=True))

    def formula(self) -> Count:
        """Returns the cycles of all folds, each as if every PE had instances, as a formula of the sizes.

        Raises: CannotCount; BudgetExceeded where it takes too long.
        """
        context = self._recurrence.nest.domain.params()
        times = _hull(self._coordinates(True).apply_range(_map(["t", *self._units], ["t"])))
        folds, stationary = count(self._folds), preload_passes(self._recurrence, self._mapping)
        preload = ((where, value.scaled(stationary * self._shape[0])) for where, value in folds.pieces)
        inside = count(times.wrap().flatten(), steps=FORMULA_STEPS)
        return Count((*inside.pieces, *preload)).within(context)

    def steps(self, padded: bool) -> tuple[FoldStep | RepeatedSteps, ...]:
        """Returns the folds as steps of a timeline, in their order, with equal ones as repetitions.

        padded: count the cycles as if every PE had instances.
        """
        local, here = self._local_coordinates(padded), ["t", *self._units]
        later = isl.Map.lex_lt(self._folds.get_space()).intersect_domain(self._folds).intersect_range(self._folds).lexmin()
        there = ["u", *(f"v{k}" for k in range(len(self._units)))]
        same = " and ".join(f"{unit} = {other}" for unit, other in zip(here[1:], there[1:]))
        waits = local.flat_range_product(later.apply_range(local)).apply_range(_map([*here, *there], ["t - u"], same)).lexmax()
        whole = _hull(local.apply_range(_map(here, ["t"])))
        alone = whole.intersect_domain(self._folds.subtract(waits.domain()))
        waiting = waits.apply_range(isl.Map("{ [t] -> [u] : 0 <= u <= t }")).union(alone)
        units = self._blocked(self._image).apply_range(_map(here, self._units))
        counted = [self._by_fold(self._points, self._axes), units, self._rows(padded), waiting]
        stationary, leaving = preload_passes(self._recurrence, self._mapping), is_stationary(self._mapping, self._recurrence.result)
        folds, made = np.unique(lattice(self._folds), axis=0), {}
        columns = [table(polyhedra.range_by_domain(each, self._numbers), self._numbers, folds) for each in counted]
        found = []
        for last, values in zip([*[False] * (len(folds) - 1), True], map(tuple, np.column_stack(columns).tolist())):
            if (last, values) not in made:
                instances, used, rows, free = values
                made[last, values] = FoldStep(
                    stationary * rows, Fraction(instances, used), max(free, rows if leaving and not last else 0)
                )
            found.append(made[last, values])
        return nested(folds.tolist(), found)

    def elements(self, order: Sequence[int]) -> tuple[list[str], isl.Map]:
        """Returns the names of the coordinates [o, f] that number a fold (outer loops, blocks of rows and columns), and the map
        { [o, f] -> A[e] } to the elements that each fold writes.

        order: the coordinates of the array in the order in which their blocks stand in [o, f].
        """
        names = [*self._outer, *(self._blocks[k] for k in order)]
        return names, self._elements().apply_domain(_map([*self._numbers, *self._axes], names))

    def _elements(self) -> isl.Map:
        """Returns { [o, f, a] -> A[e] }, the element that each instance writes, for a nest of one statement."""
        statement, sizes = self._recurrence.nest.statement, dict(self._recurrence.sizes)
        written = polyhedra.at_sizes(statement.write.relation.intersect_domain(statement.domain), sizes)
        at = self._recurrence.embedding_of(statement.name).reverse().apply_range(written)
        bare = _map([*self._numbers, *self._axes], [*self._outer, *self._axes])
        return bare.intersect_domain(self._points).apply_range(at)

    def _coordinates(self, padded: bool) -> isl.Map:
        """Returns the cycles and PEs of each fold, { [o, f] -> [t, x, y] }; padded: as if every PE of a fold had instances."""
        if not padded:
            return self._blocked(self._image)
        outer = [0] * len(self._outer)
        along = [(*outer, *vector) for vector in kernel(self._mapping.space, len(self._axes))]
        image = polyhedra.bounding(self._recurrence.points, along).apply(self._mapping.relation(len(outer)))
        return self._blocked(image).intersect_domain(self._folds)

    def _local_coordinates(self, padded: bool) -> isl.Map:
        """Returns the cycles and PEs of each fold, { [o, f] -> [t, x, y] }, counted from the fold's first cycle and first PE.

        padded: as if every PE of a fold had instances.
        """
        places, here = self._coordinates(padded), ["t", *self._units]
        starts = places.apply_range(_map(here, ["t"])).lexmin()
        blocks = isl.Map.identity(self._folds.get_space().map_from_set())
        every = places.flat_range_product(starts).flat_range_product(blocks)
        parts = zip(self._units, self._blocks, self._shape)
        units = [f"{unit} - {length}*{block} - ({self._origin[block]})" for unit, block, length in parts]
        return every.apply_range(_map([*here, "s", *self._numbers], ["t - s", *units]))

    def _rows(self, padded: bool) -> isl.Map:
        """Returns the rows x of each fold [o, f], { [o, f] -> [x] }, from the first that has instances to the last; padded: all
        rows.
        """
        if padded:
            return isl.Map.from_domain_and_range(self._folds, isl.Set(f"{{ [x] : 0 <= x < {self._shape[0]} }}"))
        return _hull(self._blocked(self._image).apply_range(_map(["t", *self._units], self._units[:1])))

    def _distinct(self, folds: isl.Set, values: Sequence[isl.Map]) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yields, for each combination of counts that some fold has, (how many folds have it, the counts).

        folds: { [o, f] }.
        values: maps { [o, f] -> values }; each of a fold's counts is how many values it has in one of these.
        """
        sets = [polyhedra.range_by_domain(each, self._numbers) for each in values]
        return size_classes(polyhedra.as_parameters(folds, self._numbers), sets)

    def active(self) -> tuple[int, ...]:
        """Returns how many PEs run an instance in each cycle of the first fold."""
        fold = self._blocked(self._image).intersect_domain(self._folds.lexmin()).range()
        at = _map(["t", *self._units], ["t"]).intersect_domain(fold).reverse().apply_range(_map(["t", *self._units], self._units))
        first, last = polyhedra.ranges(at.domain())[0]
        return tuple(table(polyhedra.range_by_domain(at, ["t"]), ["t"], np.arange(first, last + 1)[:, None]).tolist())

    def traffic(self) -> Iterator[StreamTraffic]:
        """Yields how many elements each stream moves between the array and memory, with the results last."""
        return traffic(self._recurrence, self._entering, self._leaving)

    def _entering(self, stream: DataStream) -> int:
        """Returns how many instances get the stream's value from memory, and not from an earlier instance of their fold."""
        return size(self._incoming(stream))

    def _incoming(self, stream: DataStream) -> isl.Set:
        """Returns the points { [o, f, a] } (outer loops, blocks, axes) that get the stream's value from memory, since no instance
        before them in their fold has it.
        """
        return self._with_folds(self._recurrence.users(stream)).subtract(self._received(stream))

    def _received(self, stream: DataStream) -> isl.Set:
        """Returns the points { [o, f, a] } (outer loops, blocks, axes) that get the stream's value from an instance before them in
        their fold.
        """
        users, found = self._with_folds(self._recurrence.users(stream)), [self._points.subtract(self._points)]
        for direction in stream.directions:
            sources = self._recurrence.sources_of(stream) if stream.use.sources else ()
            led = [s.pairs for s in sources if (s.vector, s.line) == (direction.vector, direction.line)]
            if led and (direction.line or direction.free):
                inside = self._across_folds(polyhedra.union(led)).intersect(self._same_fold())
                found.append(inside.range() if self._mapping.sense(direction) > 0 else inside.domain())
            elif stream.use.sources:
                users_there = self._with_folds(polyhedra.union([pairs.range() for pairs in led]))
                found.append(self._points.apply(self._step(direction)).intersect(users_there))
            else:
                found.append(users.apply(self._step(direction)).intersect(users))
        return polyhedra.union(found)

    def _with_folds(self, points: isl.Set) -> isl.Set:
        """Returns points { [o, a] } of outer loops and axes with the blocks f of rows and columns in which they lie, { [o, f, a] }."""
        if points is self._recurrence.points:
            return self._points
        return points.apply(self._blocking(self._axes, [linear(row, self._axes) for row in self._mapping.space]))

    def _leaving(self) -> int:
        """Returns how many of the values that the nest makes leave the array for memory."""
        return size(self._outgoing())

    def _outgoing(self) -> isl.Set:
        """Returns the points { [o, f, a] } (outer loops, blocks, axes) whose values leave the array for memory.

        A value leaves where another fold or statement uses it, or where it is the last one of its array element; a sum leaves from
        the last instance in a fold that adds to it.
        """
        if self._recurrence.is_sum:
            leaves = self._points
            for direction in self._recurrence.result.directions:
                leaves = leaves.subtract(self._points.apply(self._step(direction).reverse()))
            return leaves
        inside = self._same_fold()
        values = [self._flow(s) for s in self._recurrence.streams if s.use.kind == "value"]
        return polyhedra.union([self._with_folds(self._recurrence.live_out), *(flow.subtract(inside).domain() for flow in values)])

    def ports(self) -> Iterator[tuple[int, int]]:
        """Yields (how many PEs elements come in through, how many they go out through) for each stream, in the order of `traffic`."""
        chain = next((s for s in self._recurrence.streams if s.use.kind == "result"), None)
        for stream in self._recurrence.streams:
            if stream != chain:
                yield self._units_of(stream, self._incoming(stream)), 0
        result = chain or self._recurrence.result
        back = self._units_of(result, self._returning(chain)) if chain else 0
        yield back, self._units_of(result, self._outgoing())

    def _returning(self, chain: DataStream) -> isl.Set:
        """Returns the points { [o, f, a] } (outer loops, blocks, axes) that go on with a sum from memory: an array's element, or
        what an earlier fold has added up.

        chain: the stream of the sums.
        """
        coming = self._incoming(chain)
        if self._recurrence.nest.starts_from_arrays:
            return coming
        names, every = self._numbers, [*self._numbers, *self._axes]
        _, elements = self.elements(range(len(self._shape)))
        earlier = elements.intersect(isl.Map.lex_gt(self._folds.get_space()).apply_range(elements))
        return _map(every, names).range_product(self._elements()).intersect_range(earlier.wrap()).domain().intersect(coming)

    def _units_of(self, stream: DataStream, points: isl.Set) -> int:
        """Returns through how many PEs the stream's elements come or go, for the points { [o, f, a] } (outer loops, blocks, axes)
        that have them.

        An element that stays in a PE comes and goes through the first PE of its column; one on a wire, through the wire's first PE.
        """
        parts = zip(self._mapping.space, self._shape, self._blocks)
        units = [f"{linear(row, self._axes)} - {n}*{f} - ({self._origin[f]})" for row, n, f in parts]
        if is_stationary(self._mapping, stream) or stream in preloaded(self._recurrence, self._mapping):
            units[0] = "0"
        for cycles, *places in (self._mapping.steps(d.vector) for d in stream.directions):
            units = ["0" if cycles == 0 and step else unit for unit, step in zip(units, places)]
        return size(points.apply(_map([*self._numbers, *self._axes], units)))

    def _same_fold(self) -> isl.Map:
        """Returns { [o, f, a] -> [o, f, a'] }, the pairs of points (outer loops, blocks of rows and columns, axes) in one fold."""
        to_fold = _map([*self._numbers, *self._axes], self._numbers)
        return to_fold.apply_range(to_fold.reverse())

    def _step(self, direction: Direction) -> isl.Map:
        """Returns the map { [o, f, a] -> [o, f, a'] } from an instance to the one that its value goes on to along a direction.

        o are the values of outer loops, f the numbers of blocks of rows and columns, a and a' the values of axes. All a are mapped;
        whether a' is still in the fold is for the caller to check.
        """
        sense = self._mapping.sense(direction)
        there = [f"{axis} + {sense * step}" for axis, step in zip(self._axes, direction.vector)]
        return _map([*self._numbers, *self._axes], [*self._numbers, *there])


def _map(here: Sequence[str], there: Sequence[str], condition: str = "true") -> isl.Map:
    """Returns the isl map { [here] -> [there] : condition }; here, there: names of coordinates, or expressions in `there`."""
    return isl.Map(f"{{ [{', '.join(here)}] -> [{', '.join(there)}] : {condition} }}")


def _hull(values: isl.Map) -> isl.Map:
    """Returns the map `values`, { [f] -> [t] }, with all integers t between the least and the greatest t of each f added."""
    after = values.lexmin().apply_range(isl.Map("{ [t] -> [u] : u >= t }"))
    return after.intersect(values.lexmax().apply_range(isl.Map("{ [t] -> [u] : u <= t }")))
