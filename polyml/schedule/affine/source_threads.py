"""The source's order with loops for threads: the outermost loops that carry no dependence, for SCoPs with regions."""

from __future__ import annotations

import islpy as isl

from polyml.model.core.dependence import Dependences
from polyml.schedule.legality.proof import carries_none
from polyml.schedule.tree.bands import NODE, PARALLEL, mark


def with_threads(schedule: isl.Schedule, dependences: Dependences) -> isl.Schedule:
    """Returns the schedule of a SCoP's source order in which each outermost loop that carries no dependence goes to threads."""
    return _marked(schedule.get_root(), dependences.validity).root().get_schedule()


def _marked(node: isl.ScheduleNode, order: isl.UnionMap) -> isl.ScheduleNode:
    """Returns a node of a schedule tree in which the outermost loops that carry none of the pairs `order` have the mark."""
    if node.get_type() == NODE.band and carries_none(node, order):
        return mark(node, PARALLEL).parent()
    for position in range(node.n_children()):
        node = _marked(node.child(position), order).parent()
    return node
