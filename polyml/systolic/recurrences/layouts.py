"""The ways to see a nest as a recurrence of few axes.

Arrays have two dimensions, or one, and time; nests have more loops. So loops that move the same accesses are joined to one axis (in
a convolution the rows and columns of a picture, or channels and filters), or some loops are left outside and run one after another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.model.counting.brascamp_lieb import kernel
from polyml.model.counting.count_points import size
from polyml.systolic.recurrences.recurrence import (
    DataStream,
    RecurrenceAxis,
    UniformRecurrence,
    axes_of_points,
    direction_along_axes,
    with_sizes,
)
from polyml.systolic.recurrences.spacetime import Direction, Vector
from polyml.systolic.recurrences.systolic_nest import ArrayUse, SystolicNest

MOST_LOOPS = 5  # of nests whose loops may each be an axis


def layouts(nest: SystolicNest, sizes: Mapping[str, int] | None, dims: int) -> Iterator[UniformRecurrence]:
    """Yields ways to see a nest as a uniform recurrence of at most `dims` + 1 axes: each axis is a loop or several joined loops,
    and loops that are in no axis run outside, one iteration after another.

    nest: the nest.
    sizes: the values of the parameters; None for all sizes, where no axis has several loops.
    dims: the dimensions of the array.
    """
    domain = nest.domain if sizes is None else with_sizes(nest.domain, tuple(sizes.items()))
    loops = range(len(nest.loops))
    extents = tuple(1 for _ in loops) if sizes is None else tuple(last - first + 1 for first, last in polyhedra.ranges(domain))
    lengths = extents if sizes is not None and size(domain) == prod(extents) else None
    choices: list[list[tuple[int, ...]]] = (
        [[(loop,) for loop in loops]] if len(loops) <= MOST_LOOPS or len(nest.embeddings) > 1 else []
    )
    if len(nest.embeddings) == 1:
        grouped: dict[tuple[bool, ...], list[int]] = {}
        for loop in loops:
            role = tuple(use.depends_on(loop) for use in (*nest.uses, nest.written))
            grouped.setdefault(role, []).append(loop)
        if sizes is not None or len(grouped) == len(loops):
            choices.append([tuple(group) for group in grouped.values()])
    seen = set()
    for groups in choices:
        number = max(0, len(groups) - dims - 1)
        more = number + (number == 0 and nest.is_wired)  # an array that is too small then runs the nest iteration by iteration
        for outside in (each for length in range(number, more + 1) for each in combinations(groups, length)):
            inside = tuple(group for group in groups if group not in outside)
            outer = tuple(sorted(loop for group in outside for loop in group))
            if (outer, inside) in seen:
                continue
            seen.add((outer, inside))
            axes = tuple(_axis(group, extents) for group in inside)
            streams = _streams(nest, outer, axes)
            if streams is not None:
                found = _recurrence(nest, tuple((sizes or {}).items()), outer, axes, streams)
                yield replace(found, lengths=lengths if len(nest.embeddings) == 1 else None)


def _axis(group: tuple[int, ...], extents: Vector) -> RecurrenceAxis:
    """Returns the axis that numbers the iterations of the loops in `group`, the last one fastest.

    extents: the lengths of all loops of the nest.
    """
    factors = dict.fromkeys(group, 1)
    for k, loop in enumerate(group[:-1]):
        factors[loop] = prod(extents[inner] for inner in group[k + 1 :])
    return RecurrenceAxis(group, tuple(factors.get(loop, 0) for loop in range(len(extents))))


def _streams(nest: SystolicNest, outer: Sequence[int], axes: Sequence[RecurrenceAxis]) -> tuple[DataStream, ...] | None:
    """Returns a stream for each read of the nest: the read with the directions along the axes in which a value goes from instance
    to instance. Scalars, which every PE has, are left out. Returns None where the terms of a sum lie along several axes.

    outer: the positions of the loops that run outside the axes.
    """
    found = []
    for use in nest.uses:
        if not use.rows and use.kind == "operand":
            continue  # a scalar, which every PE has
        if use.sources:
            steps = dict.fromkeys(direction_along_axes(source, outer, axes) for source in use.sources)
            found.append(DataStream(use, tuple(step for step in steps if step is not None)))
            continue
        directions = _unused(nest, use if use.kind == "operand" else nest.written, outer, axes)
        if use.kind == "result" and len(directions) > 1:
            return None
        found.append(DataStream(use, tuple(Direction(vector, True) for vector in directions)))
    return tuple(found)


def _unused(nest: SystolicNest, use: ArrayUse, outer: Sequence[int], axes: Sequence[RecurrenceAxis]) -> list[Vector]:
    """Returns a basis of the steps along the axes between instances that access the same element by this access, within one
    iteration of the outer loops.

    use: the access.
    outer: the positions of the loops that run outside the axes.
    """
    if any(len(axis.loops) > 1 for axis in axes):  # so the nest has one statement
        mixed = [k for k, axis in enumerate(axes) if len(axis.loops) > 1 and any(map(use.depends_on, axis.loops))]
        kept = [k for k in range(len(axes)) if k not in mixed]
        single = {k: axes[k].loops[0] for k in kept if len(axes[k].loops) == 1}
        rows = [[row[single[k]] if k in single else 0 for k in kept] for row in use.rows]
        found = kernel(rows, len(kept)) if kept else ()
        return [tuple(vector[kept.index(k)] if k in kept else 0 for k in range(len(axes))) for vector in found]
    embedding = nest.embedding(use.statement)
    fixed = [*use.rows, *(embedding.rows[loop] for loop in outer)]
    every = [embedding.steps(vector) for vector in kernel(fixed, len(embedding.statement.iterators))]
    return [tuple(vector[axis.loops[0]] for axis in axes) for vector in every]


def _recurrence(
    nest: SystolicNest,
    sizes: tuple[tuple[str, int], ...],
    outer: tuple[int, ...],
    axes: tuple[RecurrenceAxis, ...],
    streams: tuple[DataStream, ...],
) -> UniformRecurrence:
    """Returns the uniform recurrence of a nest.

    sizes: the parameters' values; () for all sizes.
    outer: the positions of the loops that run outside the axes.
    """
    placing = axes_of_points(nest, outer, axes)
    parts = [with_sizes(embedding.map, sizes).apply_range(placing) for embedding in nest.embeddings]
    embedding = polyhedra.union([isl.UnionMap.from_map(part) for part in parts])
    points = polyhedra.union([part.range() for part in parts]).coalesce()
    result = DataStream(nest.written, tuple(Direction(vector, True) for vector in _unused(nest, nest.written, outer, axes)))
    return UniformRecurrence(nest, sizes, outer, axes, streams, result, points, embedding)
