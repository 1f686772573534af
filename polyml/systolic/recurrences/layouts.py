"""The ways to see a nest as a recurrence of few axes.

Arrays have two dimensions, or one, and time; nests have more loops. So loops that move the same accesses are joined to one axis (of
a convolution the rows and columns of a picture, of channels and filters), or some are left outside, and run one after another.
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
from polyml.systolic.recurrences.nests import Nest, Use
from polyml.systolic.recurrences.recurrence import Axis, Recurrence, Stream, axes_of_points, direction_along_axes, with_sizes
from polyml.systolic.recurrences.spacetime import Direction, Vector

MOST_LOOPS = 5  # of nests whose loops are taken one by one


def layouts(nest: Nest, sizes: Mapping[str, int] | None, dims: int) -> Iterator[Recurrence]:
    """The ways to see a nest as at most `dims` + 1 axes inside outer loops. sizes: None for all, without axes of several loops."""
    domain = nest.domain if sizes is None else with_sizes(nest.domain, tuple(sizes.items()))
    ranges = None if sizes is None else polyhedra.ranges(domain)
    lengths = None if ranges is None else _lengths(domain, ranges)
    loops = range(len(nest.loops))
    choices = [[(loop,) for loop in loops]] if len(loops) <= MOST_LOOPS or len(nest.places) > 1 else []
    if len(nest.places) == 1:
        grouped: dict[tuple[bool, ...], list[int]] = {}
        for loop in loops:
            role = tuple(use.depends_on(loop) for use in (*nest.uses, nest.written))
            grouped.setdefault(role, []).append(loop)
        if sizes is not None or len(grouped) == len(loops):
            choices.append([tuple(group) for group in grouped.values()])
    seen = set()
    for units in choices:
        number = max(0, len(units) - dims - 1)
        more = number + (number == 0 and nest.is_wired)  # an array smaller than the nest goes through it iteration by iteration
        for outside in (each for length in range(number, more + 1) for each in combinations(units, length)):
            inside = tuple(unit for unit in units if unit not in outside)
            outer = tuple(sorted(loop for unit in outside for loop in unit))
            if (outer, inside) in seen:
                continue
            seen.add((outer, inside))
            axes = tuple(_axis(unit, ranges, len(loops)) for unit in inside)
            streams = _streams(nest, outer, axes)
            if streams is not None:
                found = _recurrence(nest, tuple((sizes or {}).items()), outer, axes, streams)
                yield replace(found, lengths=lengths if len(nest.places) == 1 else None)


def _lengths(domain: isl.Set, ranges: Sequence[tuple[int, int]]) -> Vector | None:
    """Of the loops of a nest that has all points between their ends."""
    found = tuple(last - first + 1 for first, last in ranges)
    return found if size(domain) == prod(found) else None


def _axis(unit: tuple[int, ...], ranges: Sequence[tuple[int, int]] | None, loops: int) -> Axis:
    factors = dict.fromkeys(unit, 1)
    for k, loop in enumerate(unit[:-1]):
        factors[loop] = prod(ranges[inner][1] - ranges[inner][0] + 1 for inner in unit[k + 1 :])
    return Axis(unit, tuple(factors.get(loop, 0) for loop in range(loops)))


def _streams(nest: Nest, outer: Sequence[int], axes: Sequence[Axis]) -> tuple[Stream, ...] | None:
    """None where a sum goes along several axes."""
    found = []
    for use in nest.uses:
        if not use.rows and use.kind == "operand":
            continue  # a number that every unit has
        if use.sources:
            ways = dict.fromkeys(direction_along_axes(source, outer, axes) for source in use.sources)
            found.append(Stream(use, tuple(way for way in ways if way is not None)))
            continue
        directions = _unused(nest, use if use.kind == "operand" else nest.written, outer, axes)
        if use.kind == "result" and len(directions) > 1:
            return None
        found.append(Stream(use, tuple(Direction(vector, True) for vector in directions)))
    return tuple(found)


def _unused(nest: Nest, use: Use, outer: Sequence[int], axes: Sequence[Axis]) -> list[Vector]:
    """Directions along which the element stays the same."""
    if any(len(axis.loops) > 1 for axis in axes):  # of nests of one statement
        mixed = [k for k, axis in enumerate(axes) if len(axis.loops) > 1 and any(map(use.depends_on, axis.loops))]
        kept = [k for k in range(len(axes)) if k not in mixed]
        single = {k: axes[k].loops[0] for k in kept if len(axes[k].loops) == 1}
        rows = [[row[single[k]] if k in single else 0 for k in kept] for row in use.rows]
        found = kernel(rows, len(kept)) if kept else ()
        return [tuple(vector[kept.index(k)] if k in kept else 0 for k in range(len(axes))) for vector in found]
    place = nest.place(use.statement)
    fixed = [*use.rows, *(place.rows[loop] for loop in outer)]
    every = [place.steps(vector) for vector in kernel(fixed, len(place.statement.iterators))]
    return [tuple(vector[axis.loops[0]] for axis in axes) for vector in every]


def _recurrence(
    nest: Nest, sizes: tuple[tuple[str, int], ...], outer: tuple[int, ...], axes: tuple[Axis, ...], streams: tuple[Stream, ...]
) -> Recurrence:
    placing = axes_of_points(nest, outer, axes)
    parts = [with_sizes(place.map, sizes).apply_range(placing) for place in nest.places]
    embedding = polyhedra.union([isl.UnionMap.from_map(part) for part in parts])
    points = polyhedra.union([part.range() for part in parts]).coalesce()
    result = Stream(nest.written, tuple(Direction(vector, True) for vector in _unused(nest, nest.written, outer, axes)))
    return Recurrence(nest, sizes, outer, axes, streams, result, points, embedding)
