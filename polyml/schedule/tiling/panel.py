"""Nests of which all loops are short but for those that carry nothing, such as the factors of a few columns.

    for i, j, k: { S; T }      ->      parallel it: for k: { for i, j in the tile: S; for i, j in the tile: T }

Nothing is gained by tiles of short loops, and much by loops inside one step of the sums that are vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Scop
from polyml.schedule.affine.scheduler import stays
from polyml.schedule.analysis.loop_roles import LoopRole, loop_role
from polyml.schedule.tree.bands import NODE, PARALLEL, POINT, TILE, Band, band_of, reorder, scaled_floor, statements_of, together
from polyml.schedule.tree.text import Tree, print_tree, tuple_text

SHORT = 64  # iterations of a loop at most
STRIP = 32  # iterations a thread takes at a time


def map_short(schedule: isl.Schedule, scop: Scop, dependences: Dependences, *, parallel: bool) -> isl.Schedule | None:
    """The schedule of statements that wait for each other in one permutable band, in steps of their sums; None where it
    is none, or has other long loops.
    """
    node = schedule.get_root().child(0)
    if node.get_type() != NODE.band or not _is_knot(dependences):
        return None
    band, names = band_of(node), statements_of(node)
    roles = [loop_role(member, scop, names) for member in band.members]
    depth = roles.count(LoopRole.DEPTH)
    if not band.permutable or not 0 < depth < len(roles):
        return None
    free = tuple(stays(member, node, dependences.validity) for member in band.members)
    if not all(parallel or _is_short(member, scop) for member, parallel in zip(band.members, free)):
        return None
    order = sorted(range(len(roles)), key=lambda i: (roles[i] is not LoopRole.DEPTH, not free[i], roles[i]))
    band = reorder(Band(band.members, free, True), order)
    turns = _in_turn(names, together(band.members[:depth]), dependences)
    if turns is None:
        return None
    filters = [f"{{ {tuple_text(scop.statements[name])} }}" for name in turns]
    parts = [{"filter": where, "child": _band(band, depth, len(roles), where)} for where in filters]
    tree: Tree = {**_band(band, 0, depth), "child": {"sequence": parts}}
    if band.coincident[depth]:
        strip = scaled_floor(Band(band.members[depth : depth + 1], (True,), True), [STRIP])
        tree = {"mark": POINT, "child": tree}
        tree = {"mark": PARALLEL if parallel else TILE, "child": {**_band(strip, 0, 1), "child": tree}}
    return isl.Schedule(print_tree({"domain": str(scop.domain), "child": tree}))


def _is_knot(dependences: Dependences) -> bool:
    """Whether some statements wait for each other."""
    ends = {(polyhedra.domain_name(m), polyhedra.range_name(m)) for m in polyhedra.pieces(dependences.validity)}
    return any((b, a) in ends for a, b in ends if a != b)


def _is_short(member: isl.UnionPwAff, scop: Scop) -> bool:
    """Whether the loop has few iterations for the deepest statements, whatever the sizes."""
    times = isl.UnionMap.from_union_pw_aff(member).intersect_domain(scop.domain)
    depth = max(len(s.iterators) for s in scop.statements.values())
    deep = [m for m in polyhedra.pieces(times) if len(scop.statements[polyhedra.domain_name(m)].iterators) == depth]
    return all(polyhedra.is_within(m.range(), SHORT) for m in deep)


def _band(band: Band, first: int, stop: int, where: str | None = None) -> Tree:
    """Some of the members, for the instances of a filter."""
    members = band.members[first:stop]
    if where is not None:
        members = tuple(m.intersect_domain(isl.UnionSet(where)) for m in members)
    flags = [int(c) for c in band.coincident[first:stop]]
    return {"schedule": str(together(members)), "permutable": 1, "coincident": flags}


def _in_turn(names: Sequence[str], step: isl.MultiUnionPwAff, dependences: Dependences) -> list[str] | None:
    """The statements so that none waits for a later one in the same step; None where two wait for each other."""
    same = polyhedra.pieces(dependences.validity.eq_at_multi_union_pw_aff(step))
    before = {(polyhedra.domain_name(m), polyhedra.range_name(m)) for m in same}
    left, turns = list(names), []
    while left:
        ready = [n for n in left if not any((other, n) in before for other in left if other != n)]
        if not ready:
            return None
        turns += ready
        left = [n for n in left if n not in ready]
    return turns
