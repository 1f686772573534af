"""A uniform recurrence is a nest with the axes of an array: the directions of its values are known, its mapping is still to be
chosen.

Arrays have two dimensions, or one, and time; nests have more loops. An axis is a loop, or several that move the same accesses;
loops that are in no axis run outside, one iteration after another. `layouts` finds the axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.model.counting.count_points import size
from polyml.systolic.recurrences.spacetime import Direction, SpaceTime, Vector, linear
from polyml.systolic.recurrences.systolic_nest import ArrayUse, SystolicNest
from polyml.systolic.recurrences.value_sources import RESULT, ReadKey, ValueSource, shifted
from polyml.values import cached_property


@dataclass(frozen=True)
class RecurrenceAxis:
    """A RecurrenceAxis is a dimension of the space that is mapped to time and PEs: a number for the iterations of one or more loops
    of a nest.

    loops: the positions of the loops in the nest.
    coefficients: for each loop of the nest, its factor in the number; 0 for loops that are not in the axis.
    """

    loops: tuple[int, ...]
    coefficients: Vector


@dataclass(frozen=True)
class DataStream:
    """A DataStream is an access of the nest together with the directions in which its values go from instance to instance.

    use: the access.
    directions: the steps along the axes; () where each instance has an element of its own.
    """

    use: ArrayUse
    directions: tuple[Direction, ...]


@dataclass(frozen=True)
class UniformRecurrence:
    """A UniformRecurrence is a nest as `axes`, which are mapped to space and time, inside `outer` loops, which run one after
    another.

    nest: the nest.
    sizes: the parameters' values; () for all sizes.
    outer: the positions of the outer loops in the nest.
    axes: the axes.
    streams: the nest's reads, each with the directions in which its values go from instance to instance.
    result: the write of the nest's deepest statement; along its directions instances write the same element, which keeps the last
        value.
    points: { [o0, ..., a0, a1, ...] }, the instances by outer loops o and axes a.
    embedding: { S[i] -> [o0, ..., a0, ...] }, for all statements.
    lengths: the lengths of the nest's loops where the domain is a box; else None.
    """

    nest: SystolicNest
    sizes: tuple[tuple[str, int], ...]
    outer: tuple[int, ...]
    axes: tuple[RecurrenceAxis, ...]
    streams: tuple[DataStream, ...]
    result: DataStream
    points: isl.Set = field(repr=False)
    embedding: isl.UnionMap = field(repr=False)
    lengths: Vector | None = None

    @cached_property
    def box(self) -> tuple[int, Vector] | None:
        """Returns (iterations of all outer loops, lengths of the axes) where the instances fill a box; None where they do not."""
        if self.lengths is None:
            return None
        return prod(self.lengths[k] for k in self.outer), tuple(prod(self.lengths[k] for k in axis.loops) for axis in self.axes)

    @cached_property
    def is_injective(self) -> bool:
        """Returns whether no two instances share a point of the outer loops and axes."""
        return self.box is not None or self.embedding.is_injective()

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Returns the directions along the axes in which values of any stream travel, each once."""
        return tuple(dict.fromkeys(d for s in self.streams for d in s.directions))

    @cached_property
    def sources(self) -> dict[ReadKey, tuple[ValueSource, ...]]:
        """Returns the sources of each read, the instances from which it may get its value, by (statement, number of the read).

        The value at a point comes from the first of these sources whose instance runs in the same fold, or from memory where
        there is none. A source's `vector` is a step along the axes a; its `pairs` are { [o, a] -> [o, a] }, with the outer loops o.
        """
        return {(s.use.statement, s.use.read): tuple(self._sources(s)) for s in self.streams}

    def sources_of(self, stream: DataStream) -> tuple[ValueSource, ...]:
        """Returns the sources from which the instances get the values of a stream, in terms of the axes."""
        return self.sources[stream.use.statement, stream.use.read]

    def _sources(self, stream: DataStream) -> Iterator[ValueSource]:
        """Yields the sources from which the instances get the values of a stream, in terms of the axes."""
        use = stream.use
        for source in use.sources:
            direction = direction_along_axes(source, self.outer, self.axes)
            if direction is not None:
                yield replace(source, vector=direction.vector, line=direction.line, pairs=self.along_axes(source.pairs))
        for direction in () if use.sources else stream.directions:
            pairs = shifted(self.users(stream), direction.vector, len(self.outer))
            kind, read = ("produced", RESULT) if use.kind == "result" else ("forwarded", use.read)
            yield ValueSource(kind, use.statement, read, direction.vector, direction.free, pairs)

    @cached_property
    def reversible_axes(self) -> tuple[int, ...]:
        """Returns the positions of the axes that can be run backwards without leaving the domain: those whose range does not depend
        on the values of other axes.
        """
        if self.box is not None:
            return tuple(range(len(self.axes)))
        first = len(self.outer)
        return tuple(k for k in range(len(self.axes)) if polyhedra.is_product(self.points, [first + k]))

    @cached_property
    def instances(self) -> int:
        """Returns how many instances the nest has."""
        return size(self.points) if self.lengths is None else prod(self.lengths)

    @cached_property
    def elements(self) -> int:
        """Returns how many elements the nest's deepest statement writes."""
        loops = [[loop for loop, c in enumerate(row) if c] for row in self.nest.written.rows]
        if self.lengths is not None and all(len(row) == 1 for row in loops) and len({row[0] for row in loops}) == len(loops):
            return prod(self.lengths[row[0]] for row in loops)
        statement = self.nest.statement
        written = statement.write.relation.intersect_domain(statement.domain).range()
        return size(polyhedra.at_sizes(written, dict(self.sizes)))

    @property
    def is_sum(self) -> bool:
        """Returns whether the nest computes a sum, or another reduction, whose running result instances hand on."""
        return any(stream.use.kind == "result" for stream in self.streams)

    @property
    def statements(self) -> tuple[str, ...]:
        """Returns the names of the nest's statements."""
        return tuple(embedding.statement.name for embedding in self.nest.embeddings)

    def coordinates(self, statement: str) -> list[tuple[Vector, int]]:
        """Returns each axis as an affine function of the iterators of the named statement: coefficients and a constant."""
        return [self._sum(axis.coefficients, statement) for axis in self.axes]

    def loops_row(self, row: Sequence[int]) -> Vector:
        """Returns the coefficients of the nest's loops in a linear function of the axes, whose coefficients are in `row`."""
        return tuple(sum(c * a.coefficients[k] for c, a in zip(row, self.axes)) for k in range(len(self.nest.loops)))

    def sum_text(self, row: Sequence[int], name: str) -> str:
        """Returns a linear function of the axes as text, written in the iterators of a statement.

        row: the coefficients of the axes.
        name: the statement's name.
        """
        coefficients, constant = self._sum(self.loops_row(row), name)
        return linear(coefficients, self.nest.embedding(name).statement.iterators, constant)

    def _sum(self, factors: Sequence[int], name: str) -> tuple[Vector, int]:
        """Returns a linear function of the nest's loops as an affine function of a statement's iterators: coefficients and a
        constant.

        factors: the coefficients of the loops.
        name: the statement's name.
        """
        embedding = self.nest.embedding(name)
        coefficients = (
            sum(f * row[k] for f, row in zip(factors, embedding.rows)) for k in range(len(embedding.statement.iterators))
        )
        return tuple(coefficients), sum(f * c for f, c in zip(factors, embedding.constants))

    def text(self, mapping: SpaceTime) -> str:
        """Returns a mapping as text, in the iterators of the statements: `t = i + j + k, x = i, y = j`, or `S0: t = ...; S1: t =
        ...` for several.
        """
        found = []
        for embedding in self.nest.embeddings:
            name = embedding.statement.name
            sums = ", ".join(f"{letter} = {self.sum_text(row, name)}" for letter, row in zip("txy", mapping.rows))
            found.append(f"{name}: {sums}" if len(self.nest.embeddings) > 1 else sums)
        return "; ".join(found)

    def label(self, use: ArrayUse) -> str:
        """Returns the text of an access: `A[i, k]`, or `S0: A[i, k]` where the nest has several statements."""
        return f"{use.statement}: {use.text}" if len(self.nest.embeddings) > 1 else use.text

    def along_axes(self, pairs: isl.Map) -> isl.Map:
        """Returns a relation between points of the nest's index space as one between outer loops and axes, { [o, a] -> [o, a] }."""
        there = with_sizes(pairs, self.sizes)
        return there.apply_domain(self.to_axes).apply_range(self.to_axes)

    @cached_property
    def to_axes(self) -> isl.Map:
        """Returns { [c] -> [o, a] }: the values of the outer loops and of the axes at each point of the nest's index space."""
        return axes_of_points(self.nest, self.outer, self.axes)

    def embedding_of(self, statement: str) -> isl.Map:
        """Returns { S[i] -> [o, a] }: the values of the outer loops and of the axes at each instance of the named statement."""
        return with_sizes(self.nest.embedding(statement).map, self.sizes).apply_range(self.to_axes)

    def users(self, stream: DataStream) -> isl.Set:
        """Returns the points { [o, a] }, by outer loops and axes, of the statement whose access the stream is."""
        return self.points if len(self.nest.embeddings) == 1 else self.embedding_of(stream.use.statement).range()

    def flow_of(self, stream: DataStream) -> isl.Map:
        """Returns { [o, a] -> [o, a] } for a stream whose values the nest makes: from the outer loops and axes of the instance that
        makes a value to those of the instance that uses it. Raises ValueError for a stream whose values the nest only reads.
        """
        if stream.use.flow is None:
            raise ValueError(f"the nest makes no value of {stream.use.text}")
        return self.along_axes(stream.use.flow)

    @cached_property
    def live_out(self) -> isl.Set:
        """Returns the points { [o, a] }, by outer loops and axes, whose values are in their arrays at the end, or are used by other
        nests.
        """
        return with_sizes(self.nest.live_out, self.sizes).apply(self.to_axes)


def direction_along_axes(source: ValueSource, outer: Sequence[int], axes: Sequence[RecurrenceAxis]) -> Direction | None:
    """Returns a source's step as a direction along the axes; None where the step leads to another iteration of the outer loops, or
    does not change the axes.

    outer: the positions of the outer loops.
    """
    if any(way[loop] for way in (source.vector, source.line) if way for loop in outer):
        return None
    steps = tuple(sum(a * v for a, v in zip(axis.coefficients, source.vector)) for axis in axes)
    line = tuple(sum(a * v for a, v in zip(axis.coefficients, source.line)) for axis in axes) if source.line else ()
    return Direction(steps, source.free, line) if any(steps) else None


def axes_of_points(nest: SystolicNest, outer: Sequence[int], axes: Sequence[RecurrenceAxis]) -> isl.Map:
    """Returns { [c] -> [o, a] }: the values of the outer loops and of the axes at each point of a nest's index space.

    outer: the positions of the outer loops.
    """
    loops = [f"c{k}" for k in range(len(nest.loops))]
    values = [*(loops[k] for k in outer), *(linear(axis.coefficients, loops) for axis in axes)]
    return isl.Map(f"{{ [{', '.join(loops)}] -> [{', '.join(values)}] }}")


def with_sizes(value, sizes: tuple[tuple[str, int], ...]):
    """Returns an isl set or map with the parameters fixed at `sizes`, pairs of name and value; unchanged where there are none."""
    return polyhedra.at_sizes(value, dict(sizes)) if sizes else value
