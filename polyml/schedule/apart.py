"""What is left where isl's scheduler takes too long for a whole kernel: its parts one by one, and the source's order.

    strongly connected components of the dependences, each to be scheduled alone, in an order that keeps all dependences
    the source's own loops, with what they carry computed
"""

from __future__ import annotations

import islpy as isl

from polyml import polyhedra
from polyml.model.dependence import Dependences
from polyml.model.scop import Scop
from polyml.schedule.legality import carried
from polyml.schedule.tree import NODE


def components(scop: Scop, dependences: Dependences) -> list[isl.UnionSet]:
    """The instances of statements that depend on one another both ways, after all that they depend on and else as in the source."""
    names = list(scop.statements)
    after: dict[str, set[str]] = {name: set() for name in names}
    for piece in polyhedra.pieces(dependences.validity):
        after[polyhedra.range_name(piece)].add(polyhedra.domain_name(piece))
    reached = {name: _reached(name, after) for name in names}
    groups = list(dict.fromkeys(tuple(n for n in names if n == m or n in reached[m] and m in reached[n]) for m in names))
    ordered: list[tuple[str, ...]] = []
    while groups:
        done = {n for group in ordered for n in group}
        ready = next(g for g in groups if all(reached[n] <= done | set(g) for n in g))
        groups.remove(ready)
        ordered.append(ready)
    return [polyhedra.union([isl.UnionSet.from_set(scop.statements[n].domain) for n in group], None) for group in ordered]


def _reached(start: str, edges: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = edges[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def in_source_order(scop: Scop, dependences: Dependences) -> isl.Schedule:
    """The source's loops, of which those that carry no dependence are said to be parallel."""

    def marked(node: isl.ScheduleNode) -> isl.ScheduleNode:
        if node.get_type() == NODE.band and node.band_n_member() == 1 and carried(node, dependences.validity).is_empty():
            node = node.band_member_set_coincident(0, 1)
        for i in range(node.n_children()):
            node = marked(node.child(i)).parent()
        return node

    return marked(scop.schedule.get_root()).get_schedule()
