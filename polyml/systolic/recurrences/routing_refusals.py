"""The errors for values that have no routes: each one names a pair of instances, and what would be accepted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import islpy as isl

from polyml import polyhedra
from polyml.errors import IllegalSchedule
from polyml.systolic.recurrences.embedding import Embedding
from polyml.systolic.recurrences.spacetime import Vector, smallest_pair
from polyml.systolic.recurrences.value_sources import ReadKey, RoutedRead, ValueSource, shift


def not_uniform(read: RoutedRead, embeddings: Mapping[str, Embedding]) -> IllegalSchedule:
    """Returns the error for a read whose values do not come by fixed steps. Its text names two uses as an example: at different
    distances from where the value is made, or in opposite directions from there.
    """
    for direction in read.reuse_directions:
        forth, back = (_towards(read, embeddings, tuple(sign * v for v in direction)) for sign in (1, -1))
        if forth is not None and back is not None:
            message = f"{read.text} is used on both sides of where it is made: {forth}, {back}"
            expected = "expected values that go on from where they are made in one direction"
            return IllegalSchedule(message, loc=read.loc, notes=[*_flow_notes(read), expected])
    first = smallest_pair(_union(list(read.flow.values())))
    (maker, source), (_, sink) = first.instances
    distance = tuple(b - a for a, b in zip(embeddings[maker].at(source), embeddings[read.key[0]].at(sink)))
    other = polyhedra.witness(_among(read, embeddings, lambda pairs: pairs.subtract(shift(distance))))
    message = f"{read.text} is used at distances that differ: {', '.join(str(pair) for pair in (first, other) if pair)}"
    expected = "expected values that are used at one distance from where they are made, or go on from there by equal steps"
    return IllegalSchedule(message, loc=read.loc, notes=[*_flow_notes(read), expected])


def _towards(read: RoutedRead, embeddings: Mapping[str, Embedding], direction: Vector) -> polyhedra.Witness | None:
    """Returns a pair of an instance that makes a value of the read, and one further along `direction` that uses it; None where
    there is no such pair.
    """
    here, there = ([f"{letter}{k}" for k in range(len(direction))] for letter in "pq")
    progress = " + ".join(f"{v}*({q} - {p})" for v, p, q in zip(direction, here, there))
    beyond = isl.Map(f"{{ [{', '.join(here)}] -> [{', '.join(there)}] : {progress} > 0 }}")
    return polyhedra.witness(_among(read, embeddings, lambda pairs: pairs.intersect(beyond)))


def _among(read: RoutedRead, embeddings: Mapping[str, Embedding], chosen: Callable[[isl.Map], isl.Map]) -> isl.UnionMap:
    """Returns those flow dependences { T[j] -> S[i] } of a read that `chosen` selects.

    chosen: takes the dependences of one statement T as { p -> q }, between points of the index space, and returns some of them.
    """
    found, here = [], embeddings[read.key[0]].map
    for name, flow in read.flow.items():
        pairs = chosen(flow.apply_domain(embeddings[name].map).apply_range(here))
        found.append(pairs.apply_domain(embeddings[name].map.reverse()).apply_range(here.reverse()))
    return _union(found)


def no_schedule(
    contradiction: Sequence[tuple[ReadKey, Sequence[tuple[ValueSource, ...]]]], reads: Mapping[ReadKey, RoutedRead]
) -> IllegalSchedule:
    """Returns the error for reads that allow no common linear schedule: none lets time grow along the steps of all their values.

    contradiction: each read with its routes; the last read is the one that fails.
    """
    read = reads[contradiction[-1][0]]
    steps = [f"{reads[k].text} by {' and '.join(str(s.vector) for s in routes[0])}" for k, routes in contradiction]
    pair = polyhedra.witness(_union(list(read.flow.values())))
    message = f"no time brings {read.text} on together with other values: {pair}"
    return IllegalSchedule(message, loc=read.loc, notes=[*_flow_notes(read), f"values go on: {', '.join(steps)}"])


def _flow_notes(read: RoutedRead) -> list[str]:
    """Returns, as the one note of an error, the flow dependence through a read."""
    shown = polyhedra.text(_union(list(read.flow.values()))).replace("\n", "; ")
    return [f"flow dependence through {read.name}: {shown}"]


def _union(maps: Sequence[isl.Map]) -> isl.UnionMap:
    """Returns one union map of all the maps."""
    return polyhedra.union([isl.UnionMap.from_map(m) for m in maps])
