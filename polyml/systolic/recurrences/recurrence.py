"""A nest with the axes of an array: its points in space and time are still to be chosen, its directions are known.

Arrays have two dimensions, or one, and time; nests have more loops. An axis is a loop, or several that move the same accesses;
loops that are in no axis run outside, one iteration after another. `layouts` finds the axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.model.counting.count_points import size
from polyml.systolic.recurrences.nests import Nest, Use
from polyml.systolic.recurrences.routing import Key, Source, shifted
from polyml.systolic.recurrences.spacetime import Direction, SpaceTime, Vector, linear


@dataclass(frozen=True)
class Axis:
    """One or more loops: a number for the iterations of all of them. coefficients: of the nest's loops."""

    loops: tuple[int, ...]
    coefficients: Vector


@dataclass(frozen=True)
class Stream:
    """A use, by the directions in which its values go on; () where each instance has its own."""

    use: Use
    directions: tuple[Direction, ...]


@dataclass(frozen=True)
class Recurrence:
    """A nest with `axes`, inside `outer` loops that run one after another, of given sizes, or of all where there are none.

    result: the elements that it writes; along its directions the last value counts.
    points: { [o0, ..., a0, a1, ...] }. embedding: { S[i] -> [o0, ..., a0, ...] } of all statements. lengths: of the loops, where each
    is as long whatever the others are.
    """

    nest: Nest
    sizes: tuple[tuple[str, int], ...]
    outer: tuple[int, ...]
    axes: tuple[Axis, ...]
    streams: tuple[Stream, ...]
    result: Stream
    points: isl.Set = field(repr=False)
    embedding: isl.UnionMap = field(repr=False)
    lengths: Vector | None = None

    @cached_property
    def box(self) -> tuple[int, Vector] | None:
        """Iterations of the outer loops, and lengths of the axes: the points are all of these, whatever the others are."""
        if self.lengths is None:
            return None
        return prod(self.lengths[k] for k in self.outer), tuple(prod(self.lengths[k] for k in axis.loops) for axis in self.axes)

    @cached_property
    def is_injective(self) -> bool:
        """Whether no two instances share a point: an axis of a box has numbers in which each loop is a digit."""
        return self.box is not None or self.embedding.is_injective()

    @property
    def directions(self) -> list[Direction]:
        return list(dict.fromkeys(d for s in self.streams for d in s.directions))

    @cached_property
    def sources(self) -> dict[Key, tuple[Source, ...]]:
        """By statement and read, from where it gets what it uses: at a point that several lead to, of the first whose other point
        runs in the same fold; else from memory. Steps are along the axes, pairs { [o, a] -> [o, a] }.
        """
        return {(s.use.statement, s.use.read): tuple(self._sources(s)) for s in self.streams}

    def sources_of(self, stream: Stream) -> tuple[Source, ...]:
        return self.sources[stream.use.statement, stream.use.read]

    def _sources(self, stream: Stream) -> Iterator[Source]:
        use = stream.use
        for source in use.sources:
            direction = direction_along_axes(source, self.outer, self.axes)
            if direction is not None:
                yield replace(source, vector=direction.vector, line=direction.line, pairs=self.among(source.pairs))
        for direction in () if use.sources else stream.directions:
            pairs = shifted(self.users(stream), direction.vector, len(self.outer))
            kind, read = ("made", None) if use.kind == "result" else ("hop", use.read)
            yield Source(kind, use.statement, read, direction.vector, direction.free, pairs)

    @cached_property
    def turned(self) -> list[int]:
        """Axes that the domain has whole, whatever the others are."""
        if self.box is not None:
            return list(range(len(self.axes)))
        first = len(self.outer)
        return [k for k in range(len(self.axes)) if polyhedra.is_product(self.points, [first + k])]

    @cached_property
    def instances(self) -> int:
        return size(self.points) if self.lengths is None else prod(self.lengths)

    @cached_property
    def elements(self) -> int:
        """Elements that the nest writes."""
        loops = [[loop for loop, c in enumerate(row) if c] for row in self.nest.written.rows]
        if self.lengths is not None and all(len(row) == 1 for row in loops) and len({row[0] for row in loops}) == len(loops):
            return prod(self.lengths[row[0]] for row in loops)
        statement = self.nest.statement
        written = statement.write.relation.intersect_domain(statement.domain).range()
        return size(polyhedra.at_sizes(written, dict(self.sizes)))

    @property
    def is_sum(self) -> bool:
        return any(stream.use.kind == "result" for stream in self.streams)

    @property
    def statements(self) -> tuple[str, ...]:
        return tuple(place.statement.name for place in self.nest.places)

    def coordinates(self, statement: str) -> list[tuple[Vector, int]]:
        """The axes as sums of a statement's loops and constants."""
        return [self._sum(axis.coefficients, statement) for axis in self.axes]

    def loops_row(self, row: Sequence[int]) -> Vector:
        """Coefficients of the loops in a sum of axes."""
        return tuple(sum(c * a.coefficients[k] for c, a in zip(row, self.axes)) for k in range(len(self.nest.loops)))

    def sum_text(self, row: Sequence[int], name: str) -> str:
        """A sum of axes by the loops of a statement."""
        coefficients, constant = self._sum(self.loops_row(row), name)
        return linear(coefficients, self.nest.place(name).statement.iterators, constant)

    def _sum(self, factors: Sequence[int], name: str) -> tuple[Vector, int]:
        """A sum of the nest's coordinates as one of a statement's loops and a constant."""
        place = self.nest.place(name)
        coefficients = (sum(f * row[k] for f, row in zip(factors, place.rows)) for k in range(len(place.statement.iterators)))
        return tuple(coefficients), sum(f * c for f, c in zip(factors, place.constants))

    def text(self, mapping: SpaceTime) -> str:
        """`t = i + j + k, x = i, y = j`; of several statements each has its own, `S0: t = ..., S1: t = ...`."""
        found = []
        for place in self.nest.places:
            name = place.statement.name
            sums = ", ".join(f"{letter} = {self.sum_text(row, name)}" for letter, row in zip("txy", mapping.rows))
            found.append(f"{name}: {sums}" if len(self.nest.places) > 1 else sums)
        return "; ".join(found)

    def label(self, use: Use) -> str:
        """`A[i, k]`, of several statements `S0: A[i, k]`."""
        return f"{use.statement}: {use.text}" if len(self.nest.places) > 1 else use.text

    def among(self, pairs: isl.Map) -> isl.Map:
        """{ p -> q } of the nest's points as { [o, a] -> [o, a] }"""
        there = with_sizes(pairs, self.sizes)
        return there.apply_domain(self.placing).apply_range(self.placing)

    @cached_property
    def placing(self) -> isl.Map:
        """{ p -> [o, a] }"""
        return axes_of_points(self.nest, self.outer, self.axes)

    def embedding_of(self, statement: str) -> isl.Map:
        """{ S[i] -> [o, a] }"""
        return with_sizes(self.nest.place(statement).map, self.sizes).apply_range(self.placing)

    def users(self, stream: Stream) -> isl.Set:
        """{ [o, a] }: the points of its statement."""
        return self.points if len(self.nest.places) == 1 else self.embedding_of(stream.use.statement).range()

    def made(self, stream: Stream) -> isl.Map:
        """{ p -> q : q uses the value that p made }, of a stream of values."""
        return self.among(stream.use.flow)

    @cached_property
    def kept(self) -> isl.Set:
        """{ [o, a] } whose values are there at the end, or used by other nests."""
        return with_sizes(self.nest.kept, self.sizes).apply(self.placing)


def direction_along_axes(source: Source, outer: Sequence[int], axes: Sequence[Axis]) -> Direction | None:
    """Of a step among the nest's points; None where it leads to another iteration of the outer loops."""
    if any(way[loop] for way in (source.vector, source.line) if way for loop in outer):
        return None
    steps = tuple(sum(a * v for a, v in zip(axis.coefficients, source.vector)) for axis in axes)
    line = tuple(sum(a * v for a, v in zip(axis.coefficients, source.line)) for axis in axes) if source.line else ()
    return Direction(steps, source.free, line) if any(steps) else None


def axes_of_points(nest: Nest, outer: Sequence[int], axes: Sequence[Axis]) -> isl.Map:
    loops = [f"c{k}" for k in range(len(nest.loops))]
    values = [*(loops[k] for k in outer), *(linear(axis.coefficients, loops) for axis in axes)]
    return isl.Map(f"{{ [{', '.join(loops)}] -> [{', '.join(values)}] }}")


def with_sizes(value, sizes: tuple[tuple[str, int], ...]):
    """A set or map of these sizes; as it is without any."""
    return polyhedra.at_sizes(value, dict(sizes)) if sizes else value
