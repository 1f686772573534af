"""The proof that a mapping is legal for the instances of all statements of a nest together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from operator import add

import islpy as isl

from polyml import polyhedra
from polyml.errors import IllegalSchedule
from polyml.systolic.mapping.legality import check_flow, check_injective, check_wires
from polyml.systolic.recurrences.recurrence import DataStream, UniformRecurrence
from polyml.systolic.recurrences.spacetime import Direction, SpaceTime
from polyml.systolic.recurrences.value_sources import ValueSource, shifted


def prove(recurrence: UniformRecurrence, mapping: SpaceTime, links: str) -> None:
    """Proves that a space-time mapping of a recurrence is legal: no PE runs two instances in a cycle, and every value arrives
    before it is used.

    Where instances form a box and no value goes along a wire, a proof for boxes of all sizes, which is made once, is tried first.

    links: "manhattan", "diagonal" or "broadcast".
    Raises: IllegalSchedule, with a pair of instances, where the mapping is not legal.
    """
    if not recurrence.is_injective:
        raise IllegalSchedule(f"instances of {recurrence.nest.name} share a point of its axes")
    joint = [(stream, direction) for stream in recurrence.streams for direction in _joint_directions(mapping, stream)]
    if recurrence.box is not None and not any(d.line for d in recurrence.directions):
        directions = dict.fromkeys((*recurrence.directions, *(direction for _, direction in joint)))
        if _holds_on_boxes(mapping, tuple(directions), links):
            return
    outer = len(recurrence.outer)
    order = recurrence.embedding.apply_range(isl.UnionMap.from_map(mapping.relation(outer)))
    check_injective(order)
    back = recurrence.embedding.reverse()
    sources = [(s, source) for s in recurrence.streams for source in recurrence.sources_of(s)]
    wired = next((s for s, source in sources if source.line), None)
    if wired is not None and links != "broadcast":
        raise IllegalSchedule(f"{wired.use.text} goes along wires", notes=["expected broadcast links"])
    ways = [(s, source.pairs, source.vector, source.free) for s, source in sources if not source.line]
    ways += [(s, shifted(recurrence.points, d.vector, outer), d.vector, True) for s, d in joint]
    for stream, pairs, vector, free in ways:
        between = isl.UnionMap.from_map(pairs).apply_domain(back).apply_range(back)
        forward = between if not free or mapping.steps(vector)[0] > 0 else between.reverse()
        check_flow(order, forward, _links_for(links, free), what=stream.use.text, outer=outer)
    _prove_wires(recurrence, mapping, order, back, [(s, source) for s, source in sources if source.line])


def _prove_wires(
    recurrence: UniformRecurrence,
    mapping: SpaceTime,
    order: isl.UnionMap,
    back: isl.UnionMap,
    sources: Sequence[tuple[DataStream, ValueSource]],
) -> None:
    """Checks that each value that goes along a wire is on the wire when it is used.

    The statements that one statement was split into take an operand from the same wires.

    order: the mapping, { S[p] -> [o, t, x, y] }.
    back: { [o, a] -> S[p] }, the instance at each point of the recurrence.
    sources: the streams that take values from wires, with the sources of these.
    Raises: IllegalSchedule where a value is not there, or no wire goes to all PEs that use it.
    """
    wires: dict[tuple[str, int | None, int], list[tuple[DataStream, isl.UnionMap]]] = {}
    for stream, source in sources:
        use = stream.use
        along = mapping.wire(Direction(source.vector, False, source.line))
        if along is None:
            message = f"no wire brings {use.text} to all units that use it in one cycle: they are along {source.line}"
            raise IllegalSchedule(message, notes=[f"mapping {recurrence.text(mapping)}"])
        pairs = isl.UnionMap.from_map(source.pairs).apply_domain(back).apply_range(back)
        wires.setdefault((recurrence.nest.origins[use.statement], use.read, along), []).append((stream, pairs))
    for (_, _, along), found in wires.items():
        drivers = polyhedra.union([pairs for _, pairs in found])
        parts = dict.fromkeys(stream.use.statement for stream, _ in found)
        users = polyhedra.union([isl.UnionSet.from_set(recurrence.embedding_of(part).domain()) for part in parts])
        check_wires(order, along, drivers, users, what=found[0][0].use.text, outer=len(recurrence.outer))


def _joint_directions(mapping: SpaceTime, stream: DataStream) -> list[Direction]:
    """Returns, for each two directions in which a stream's elements reach other PEs within the same cycle, the sum of the two.

    An instance that is such a sum away uses the same element, but lies along neither of the two directions alone.
    """
    found = [d.vector for d in stream.directions if mapping.steps(d.vector)[0] == 0]
    return [Direction(tuple(map(add, a, b)), True) for a, b in combinations(found, 2)]


def _links_for(links: str, free: bool) -> str:
    """Returns the links that a value may use: `links`, but "manhattan" in place of "broadcast" for a value that is not free.

    free: whether the value may travel either way along its direction, as an operand's may.
    """
    return links if free or links != "broadcast" else "manhattan"


@lru_cache(maxsize=4096)
def _holds_on_boxes(mapping: SpaceTime, directions: tuple[Direction, ...], links: str) -> bool:
    """Returns whether a mapping is legal on boxes of all sizes, wherever they begin, for values that travel in these directions."""
    axes = range(len(mapping.time))
    sizes, within = ", ".join(f"n{k}" for k in axes), " and ".join(f"0 <= a{k} < n{k}" for k in axes)
    points = isl.Set(f"[{sizes}] -> {{ [{', '.join(f'a{k}' for k in axes)}] : {within} }}")
    order = isl.UnionMap.from_map(mapping.relation(0).intersect_domain(points))
    try:
        check_injective(order)
        for direction in directions:
            pairs = shifted(points, direction.vector)
            forward = pairs if not direction.free or mapping.steps(direction.vector)[0] > 0 else pairs.reverse()
            check_flow(order, isl.UnionMap.from_map(forward), _links_for(links, direction.free))
    except IllegalSchedule:
        return False
    return True
