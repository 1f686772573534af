"""The source's order with loops for threads and for lanes: those that carry no dependence, for SCoPs with regions."""

from __future__ import annotations

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Scop
from polyml.schedule.legality.check import parallel_bands
from polyml.schedule.legality.proof import carries_none
from polyml.schedule.tree.bands import APART, NODE, PARALLEL, POINT, mark
from polyml.source import Loc


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
    around = (s.loops for name, s in scop.statements.items() if s.region is not None and s.iterators and name not in threaded)
    return frozenset(loops[0] for loops in around if loops and loops[0] is not None)


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
