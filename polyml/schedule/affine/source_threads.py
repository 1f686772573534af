"""The source's order with loops for threads and for lanes: those that carry no dependence, for SCoPs with regions."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Scop, Statement
from polyml.schedule.legality.check import parallel_bands
from polyml.schedule.legality.proof import carries_none
from polyml.schedule.tree.bands import APART, NODE, PARALLEL, POINT, mark
from polyml.source import Loc

_MOST_TOLD = 3  # of what carries dependences


def with_threads(schedule: isl.Schedule, dependences: Dependences) -> isl.Schedule:
    """Returns the schedule of a SCoP's source order in which each outermost loop that carries no dependence goes to threads."""
    return _marked(schedule.get_root(), dependences.validity).root().get_schedule()


def with_lanes(schedule: isl.Schedule, dependences: Dependences) -> isl.Schedule:
    """Returns the schedule of a SCoP's source order in which each innermost loop that carries no dependence is marked as such."""
    return _apart(schedule.get_root(), dependences.validity).root().get_schedule()


def sequential_loops(scop: Scop, dependences: Dependences | None) -> frozenset[Loc]:
    """Returns the places of the outermost loops around regions of which no loop may go to threads.

    dependences: None where they are not known
    """
    threaded: set[str] = set()
    if dependences is not None:
        for node, _ in parallel_bands(with_threads(scop.schedule, dependences).get_root()):
            threaded |= {*polyhedra.set_names(node.get_domain())}
    regions = {name: s for name, s in scop.statements.items() if s.region is not None}
    kept = {loop for name in threaded & regions.keys() for loop in regions[name].loops}
    around = (s.loops for name, s in regions.items() if s.iterators and name not in threaded)
    places = (next((loop for loop in loops if loop not in kept), None) for loops in around)
    return frozenset(place for place in places if place is not None)


def in_order(scop: Scop, places: Collection[Loc]) -> tuple[str, ...]:
    """Returns sentences which say that the loops at these places run in order, and what of their regions may carry a dependence."""
    told = []
    for place in sorted(places, key=lambda each: (each.line, each.column)):
        inside = [s for s in scop.statements.values() if s.region is not None and place in s.loops]
        carriers = list(dict.fromkeys(text for statement in inside for text in _carriers(scop, statement)))
        since = f", since {' and '.join(carriers[:_MOST_TOLD])}" if carriers else ""
        told.append(f"the loop in line {place.line} runs in order, in a region{since}")
    return tuple(told)


def _carriers(scop: Scop, statement: Statement) -> Iterator[str]:
    """Yields what a region writes in one iteration that it may read or write in another one."""
    region = statement.region
    for access in () if region is None else region.accesses:
        array = scop.arrays[access.array]
        name = array.source_name or array.name
        if access.writes and not array.shape:
            yield f"{name} goes from one iteration to the next"
        elif access.writes and None in access.subscripts and access.loc is not None:
            yield f"{access.loc.text} may be any element of {name}"


def _apart(node: isl.ScheduleNode, order: isl.UnionMap) -> isl.ScheduleNode:
    """Returns a node of a schedule tree in which the innermost loops that carry none of the pairs `order` have the mark."""
    if node.get_type() == NODE.band and node.child(0).get_type() == NODE.leaf:
        return mark(node, APART).parent() if node.band_n_member() == 1 and carries_none(node, order) else node
    for position in range(node.n_children()):
        node = _apart(node.child(position), order).parent()
    return node


def _marked(node: isl.ScheduleNode, order: isl.UnionMap) -> isl.ScheduleNode:
    """Returns a node of a schedule tree in which the outermost loops that carry none of the pairs `order` have the mark."""
    if node.get_type() == NODE.band and carries_none(node, order):
        if node.child(0).get_type() != NODE.leaf:
            node = mark(node.child(0), POINT).parent().parent()
        return mark(node, PARALLEL).parent()
    for position in range(node.n_children()):
        node = _marked(node.child(position), order).parent()
    return node
