"""Schedules of nests whose loops are short, except for loops that carry no dependence, such as the factors of a few columns.

    for i, j, k: { S; T }      ->      parallel it: for k: { for i, j in the tile: S; for i, j in the tile: T }

Tiles of short loops gain nothing, whereas loops inside one step of the sums can be vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Scop
from polyml.schedule.affine.scheduler import stays
from polyml.schedule.analysis.loop_roles import LoopRole, loop_role
from polyml.schedule.tree import nodes
from polyml.schedule.tree.bands import NODE, PARALLEL, POINT, TILE, Band, band_of, reorder, scaled_floor, statements_of, together
from polyml.schedule.tree.text import Tree, tuple_text

SHORT = 64  # iterations of a loop at most
STRIP = 32  # iterations a thread takes at a time


def map_short(schedule: isl.Schedule, scop: Scop, dependences: Dependences, *, parallel: bool) -> isl.Schedule | None:
    """Returns a schedule, for statements that depend on each other in a cycle, with the loops that add up outermost.

    In one iteration of these, the statements run one after the other, each in all other loops, one of which goes to threads where
    it is parallel. None where the given schedule is not one permutable band, where statements have no cycle, or where a loop with
    many iterations carries a dependence.
    """
    node = schedule.get_root().child(0)
    if node.get_type() != NODE.band or not _has_cycle(dependences):
        return None
    band, names = band_of(node), statements_of(node)
    roles = [loop_role(member, scop, names) for member in band.members]
    depth = roles.count(LoopRole.DEPTH)
    if not band.permutable or not 0 < depth < len(roles):
        return None
    free = tuple(stays(member, node, dependences.validity) for member in band.members)
    if not all(is_free or _is_short(member, scop) for member, is_free in zip(band.members, free)):
        return None
    order = sorted(range(len(roles)), key=lambda i: (roles[i] is not LoopRole.DEPTH, not free[i], roles[i]))
    band = reorder(Band(band.members, free, True), order)
    ordered = _by_levels(names, dependences.validity.eq_at_multi_union_pw_aff(together(band.members[:depth])))
    if ordered is None:
        return None
    filters = [f"{{ {tuple_text(scop.statements[name])} }}" for name in ordered]
    parts = [{"filter": where, "child": _band(band, depth, len(roles), where)} for where in filters]
    tree: Tree = {**_band(band, 0, depth), "child": {"sequence": parts}}
    if band.coincident[depth]:
        strip = scaled_floor(Band(band.members[depth : depth + 1], (True,), True), [STRIP])
        tree = {"mark": POINT, "child": tree}
        tree = {"mark": PARALLEL if parallel else TILE, "child": {**_band(strip, 0, 1), "child": tree}}
    return nodes.schedule({"domain": nodes.text_of(scop.domain), "child": tree})


def _has_cycle(dependences: Dependences) -> bool:
    """Returns whether two statements depend on each other, each on the other one."""
    ends = {(polyhedra.domain_name(m), polyhedra.range_name(m)) for m in polyhedra.pieces(dependences.validity)}
    return any((b, a) in ends for a, b in ends if a != b)


def _is_short(member: isl.UnionPwAff, scop: Scop) -> bool:
    """Returns whether the loop has few iterations, at most a fixed number, whatever the sizes are.

    Only the most deeply nested statements count; for others, the loop may be longer.
    """
    times = isl.UnionMap.from_union_pw_aff(member).intersect_domain(scop.domain)
    depth = max(len(s.iterators) for s in scop.statements.values())
    deep = [m for m in polyhedra.pieces(times) if len(scop.statements[polyhedra.domain_name(m)].iterators) == depth]
    return all(polyhedra.is_within(m.range(), SHORT) for m in deep)


def _band(band: Band, first: int, stop: int, where: str | None = None) -> Tree:
    """Returns those members of a band from position `first` up to, not including, `stop` as a band node of a tree.

    where: the text of a filter; the members are then restricted to its instances.
    """
    members = band.members[first:stop]
    if where is not None:
        members = tuple(m.intersect_domain(nodes.instances(where)) for m in members)
    flags = [int(c) for c in band.coincident[first:stop]]
    return {"schedule": nodes.text_of(together(members)), "permutable": 1, "coincident": flags}


def _by_levels(names: Sequence[str], order: isl.UnionMap) -> list[str] | None:
    """Returns the statements in an order in which none depends on a later one; None where that is not possible (in a cycle).

    Of two statements that do not depend on each other, the one that waits for the shorter sequence of others comes first.

    order: { S[i] -> T[j] }, the dependences.
    """
    edges = {(polyhedra.domain_name(m), polyhedra.range_name(m)) for m in polyhedra.pieces(order)}
    left, found = list(names), []
    while left:
        ready = [n for n in left if not any((other, n) in edges for other in left if other != n)]
        if not ready:
            return None
        found += ready
        left = [n for n in left if n not in ready]
    return found
