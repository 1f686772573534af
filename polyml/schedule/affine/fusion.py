"""Which neighbouring loop nests share a loop: a choice by memory traffic against parallelism.

    for i: S      ->      for i: S; T
    for i: T

Two neighbours in a sequence are fused along their outermost loops when that loop stays parallel for both (every
dependence between them has distance zero along it) and they touch the same elements in the same iteration, so that one
pass over that data instead of two is enough. A nest that is to be tiled shares the loop over its tiles of rows. Called fuse in
Pluto and Halide's compute_with. Traffic saved costs no parallelism here; nests where it might are the matter of `passes`.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Scop
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.analysis.loop_roles import LoopRole, has_reuse, loop_role
from polyml.schedule.analysis.strides import accesses, iterators_of, moves
from polyml.schedule.tree.bands import members_of, together
from polyml.schedule.tree.text import Tree, parse_tree, print_tree

DEEP = 3  # members of a band that may be tiled


def fuse(schedule: isl.Schedule, scop: Scop, dependences: Dependences, everything: bool = False) -> isl.Schedule:
    """The schedule with neighbours fused where that pays, or everywhere where it is legal. Still legal if it was."""
    tree = parse_tree(str(schedule))
    fused = _fused(tree, _Facts(scop, dependences, everything))
    return schedule if fused is tree else isl.Schedule(print_tree(fused))


class _Facts:
    """What the choice needs to know of two groups of statements."""

    def __init__(self, scop: Scop, dependences: Dependences, everything: bool):
        self._scop, self._dependences, self.everything = scop, dependences, everything
        self.apart: set[tuple[str, str, bool]] = set()  # pairs of groups that were asked about and stay so
        self._known: dict[tuple[str, str], isl.UnionMap] = {}
        self._named: dict[str, frozenset[str]] = {}
        self._touched: dict[str, dict[str, isl.UnionMap]] = {}
        self._groups: dict[str, tuple[isl.UnionSet, list[str]]] = {}

    def stays_parallel(self, first: Tree, second: Tree, member: isl.MultiUnionPwAff) -> bool:
        """Whether every dependence between the groups has distance zero along the member."""
        between = self._between(first, second)
        return between.lex_lt_at_multi_union_pw_aff(member).is_empty() and between.lex_gt_at_multi_union_pw_aff(member).is_empty()

    def stays_forward(self, first: Tree, second: Tree, member: isl.UnionPwAff) -> bool:
        """Whether no dependence between the groups goes back along the member."""
        times = isl.UnionMap.from_union_pw_aff(member)
        along = self._between(first, second).apply_domain(times).apply_range(times)
        return all(p.intersect(isl.Map.lex_gt(p.get_space().domain())).is_empty() for p in polyhedra.pieces(along))

    def independent(self, first: Tree, second: Tree) -> bool:
        """Whether the groups may run in any order."""
        return self._between(first, second).is_empty()

    def _between(self, first: Tree, second: Tree) -> isl.UnionMap:
        """The dependences of one group on the other."""
        key = (first["filter"], second["filter"])
        if key not in self._known:
            (domain, names), (other, others) = self._group(first), self._group(second)
            pairs = self._dependences.among(names, others)
            if not pairs.is_empty():
                back = pairs.intersect_domain(other).intersect_range(domain)
                pairs = pairs.intersect_domain(domain).intersect_range(other)
                pairs = pairs if back.is_empty() else pairs.union(back)
            self._known[key] = pairs
        return self._known[key]

    def _group(self, group: Tree) -> tuple[isl.UnionSet, list[str]]:
        """The group's instances, and the names of its statements."""
        text = group["filter"]
        if text not in self._groups:
            instances = isl.UnionSet(text)
            self._groups[text] = instances, polyhedra.set_names(instances)
        return self._groups[text]

    def joinable(self, group: Tree, band: Tree) -> bool:
        """A band whose first loop is parallel, and if the band is to be tiled, one whose tiles may have others beside them."""
        if not _first_is_parallel(band):
            return False
        if len(band["coincident"]) < DEEP:
            return True
        (_, names), members = self._group(group), members_of(band)
        return has_reuse(members, self._scop, names) and loop_role(members[0], self._scop, names) <= LoopRole.ROWS

    def is_contraction(self, group: Tree) -> bool:
        """Whether some statement of the group may be one."""
        return any(may_be_contraction(self._scop.statements[name]) for name in self._group(group)[1])

    def same_range(self, first: Tree, second: Tree, member: isl.MultiUnionPwAff) -> bool:
        """Whether the member takes the same values for both groups wherever both have any."""
        values = isl.UnionMap.from_multi_union_pw_aff(member).intersect_domain(self._scop.domain)
        mine, theirs = (values.intersect_domain(self._group(group)[0]).range() for group in (first, second))
        return mine.intersect_params(theirs.params()).is_equal(theirs.intersect_params(mine.params()))

    def share_data(self, first: Tree, second: Tree, member: isl.MultiUnionPwAff) -> bool:
        """Whether some element of an array is touched by both groups in the same iteration, in many iterations."""
        mine, theirs = self._touches(first), self._touches(second)
        for array in self._arrays(first) & self._arrays(second):
            if all(self._has_columns(group, array, member.get_at(0)) for group in (first, second)):
                continue
            together = mine[array].apply_range(theirs[array].reverse()).eq_at_multi_union_pw_aff(member)
            if any(self._are_most(piece.domain()) for piece in polyhedra.pieces(together)):
                return True
        return False

    def may_share(self, first: Tree, second: Tree) -> bool:
        """Whether a loop around both is worth a closer look."""
        return self.everything or bool(self._arrays(first) & self._arrays(second))

    def _arrays(self, group: Tree) -> frozenset[str]:
        """Those that the group's statements touch, without scalars."""
        key = group["filter"]
        if key not in self._named:
            statements = (self._scop.statements[name] for name in self._group(group)[1])
            self._named[key] = frozenset(a.array for s in statements for a in accesses(s) if a.subscripts)
        return self._named[key]

    def _has_columns(self, group: Tree, array: str, member: isl.UnionPwAff) -> bool:
        """Whether an iteration of the loop has an element of each of many rows, and the next one their neighbours: loops that
        may be exchanged would rather go along rows, which one loop around several of them forbids.
        """
        for name in self._group(group)[1]:
            statement, along = self._scop.statements[name], iterators_of(member, name)
            inside = [k for k in range(len(statement.iterators)) if k not in along]
            found = [a for a in accesses(statement) if a.array == array]
            if any(moves(a, along, slice(-1, None)) and moves(a, inside, slice(0, -1)) for a in found):
                return True
        return False

    def _are_most(self, instances: isl.Set) -> bool:
        """Whether they are not thinner than all instances of their statement."""
        every = self._scop.statements[instances.get_tuple_name()].domain
        return polyhedra.hull_dimension(instances) == polyhedra.hull_dimension(every)

    def _touches(self, group: Tree) -> dict[str, isl.UnionMap]:
        """array -> { S[i] -> A[j] } of the group's statements."""
        key = group["filter"]
        if key not in self._touched:
            found: dict[str, list[isl.UnionMap]] = {}
            for statement in map(self._scop.statements.__getitem__, self._group(group)[1]):
                for access in accesses(statement):
                    relation = isl.UnionMap.from_map(access.relation.intersect_domain(statement.domain))
                    found.setdefault(access.array, []).append(relation)
            self._touched[key] = {array: polyhedra.union(relations) for array, relations in found.items()}
        return self._touched[key]


def _fused(tree: Tree, facts: _Facts) -> Tree:
    """The tree with the children of every sequence fused from left to right."""
    if "child" in tree:
        child = _fused(tree["child"], facts)
        if child is not tree["child"]:
            tree = {**tree, "child": child}
    if "sequence" not in tree:
        return tree
    children = [_fused(c, facts) for c in tree["sequence"]]
    merged = _neighbours_joined(children, facts)
    if len(merged) == len(tree["sequence"]) and all(a is b for a, b in zip(merged, tree["sequence"])):
        return tree
    if len(merged) == 1:
        return merged[0].get("child", tree)
    return {**tree, "sequence": merged}


def _neighbours_joined(children: list[Tree], facts: _Facts) -> list[Tree]:
    """Each child joined to one before it where that pays, until nothing more is. What is between them may be passed by
    one that does not depend on it.
    """
    merged: list[Tree] = []
    for child in children:
        merged = _with_child(merged, child, facts)
    return merged if len(merged) == len(children) else _neighbours_joined(merged, facts)


def _with_child(merged: list[Tree], child: Tree, facts: _Facts) -> list[Tree]:
    for k in reversed(range(len(merged))):
        between = merged[k + 1 :]
        pair = merged[k]["filter"], child["filter"], bool(between)
        if pair in facts.apart or not facts.may_share(merged[k], child):
            continue
        rises = all(facts.independent(child, other) for other in between)
        if not rises and not all(facts.independent(merged[k], other) for other in between):
            continue
        joined = _join(merged[k], child, facts, apart=bool(between))
        if joined is None:
            facts.apart.add(pair)
        else:
            return [*merged[:k], joined, *between] if rises else [*merged[:k], *between, joined]
    return [*merged, child]


def _join(first: Tree, second: Tree, facts: _Facts, apart: bool) -> Tree | None:
    """Two groups in one loop, or None where they stay apart. apart: others are between them, which is worth passing only
    for a loop over the same range: guards inside it would cost more.
    """
    band, other = first.get("child", {}), second.get("child", {})
    if "schedule" not in band or "schedule" not in other:
        return None
    members, others = members_of(band), members_of(other)
    loop = members[0].union_add(others[0])
    shared = isl.MultiUnionPwAff.from_union_pw_aff(loop)
    parallel = _first_is_parallel(band) and _first_is_parallel(other)
    if facts.everything:
        if not facts.stays_forward(first, second, loop):
            return None
        parallel = parallel and facts.stays_parallel(first, second, shared)
    elif not _pays(first, second, shared, facts, apart):
        return None
    inside = [*_inside(first, band), *_inside(second, other)]
    both = isl.UnionSet(first["filter"]).union(isl.UnionSet(second["filter"]))
    return {
        "filter": str(both),
        "child": {
            "schedule": str(shared),
            "permutable": 1,
            "coincident": [int(parallel)],
            "child": {"sequence": inside},
        },
    }


def _pays(first: Tree, second: Tree, shared: isl.MultiUnionPwAff, facts: _Facts, apart: bool) -> bool:
    """Whether the loop stays parallel, around groups that use the same data. Contractions get blocks of their own."""
    if not facts.joinable(first, first["child"]) or not facts.joinable(second, second["child"]):
        return False
    if facts.is_contraction(first) and facts.is_contraction(second):
        return False
    if not facts.share_data(first, second, shared) or not facts.stays_parallel(first, second, shared):
        return False
    return not apart or facts.same_range(first, second, shared)


def _first_is_parallel(band: Tree) -> bool:
    return band.get("coincident", [0])[0] == 1


def _inside(group: Tree, band: Tree) -> Iterator[Tree]:
    """What the group runs inside the shared loop: its band without the first member, as children of a sequence."""
    members = members_of(band)
    if len(members) > 1:
        rest = {**band, "schedule": str(together(members[1:])), "coincident": band.get("coincident", [0] * len(members))[1:]}
        yield {"filter": group["filter"], "child": rest}
        return
    below = band.get("child")
    if below is not None and "sequence" in below:
        yield from below["sequence"]
    elif below is None:
        yield {"filter": group["filter"]}
    else:
        yield {"filter": group["filter"], "child": below}
