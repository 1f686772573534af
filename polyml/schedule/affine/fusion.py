"""Loop fusion of neighbouring nests where memory traffic is saved and parallelism is kept.

    for i: S      ->      for i: S; T
    for i: T

Two neighbours in a sequence are fused along their outermost loops when that loop is parallel for both, every dependence from one
to the other has distance zero along it, and they access the same elements in the same iteration, so that these are read once
instead of twice. A nest that is to be tiled shares the loop over its tiles of rows. Others call this fusion (Pluto) and
compute_with (Halide). Fusion that costs parallelism is left to `traffic_fusion`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Scop
from polyml.schedule.affine.fused_nests import is_flat
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.analysis.loop_roles import LoopRole, has_reuse, loop_role
from polyml.schedule.analysis.strides import accesses, iterators_of, moves
from polyml.schedule.tree import nodes
from polyml.schedule.tree.bands import members_of, together
from polyml.schedule.tree.text import Tree

DEEP = 3  # members of a band that may be tiled


def fuse(
    schedule: isl.Schedule, scop: Scop, dependences: Dependences, sums: Collection[str] = (), everything: bool = False
) -> isl.Schedule:
    """Returns the schedule with neighbouring nests fused where that pays, or with `everything` wherever it is legal.

    The result is legal if the schedule is.

    sums: the statements that are updates of reductions, whose order is free.
    """
    tree = nodes.tree_of(schedule)
    fused = _fused(tree, _FusionCriteria(scop, dependences, frozenset(sums), everything))
    return schedule if fused is tree else nodes.schedule(fused)


class _FusionCriteria:
    """The conditions under which two groups of statements, children of a sequence, are fused; answers are remembered.

    sums: the statements that are updates of reductions.
    everything: whether groups are fused wherever it is legal.
    separate: pairs of groups that are known not to be fused: the filters of both, and whether other groups are between the two.
    """

    def __init__(self, scop: Scop, dependences: Dependences, sums: frozenset[str], everything: bool):
        self._scop, self._dependences, self._sums, self.everything = scop, dependences, sums, everything
        self.separate: set[tuple[str, str, bool]] = set()
        self._known: dict[tuple[str, str], isl.UnionMap] = {}
        self._named: dict[str, frozenset[str]] = {}
        self._touched: dict[str, dict[str, isl.UnionMap]] = {}
        self._groups: dict[str, tuple[isl.UnionSet, list[str]]] = {}

    def stays_parallel(self, first: Tree, second: Tree, member: isl.MultiUnionPwAff) -> bool:
        """Returns whether every dependence between the two groups has distance zero along the member."""
        pairs = self._dependences_of(first, second)
        return pairs.lex_lt_at_multi_union_pw_aff(member).is_empty() and pairs.lex_gt_at_multi_union_pw_aff(member).is_empty()

    def stays_forward(self, first: Tree, second: Tree, member: isl.UnionPwAff) -> bool:
        """Returns whether no dependence between the two groups goes back along the member."""
        times = isl.UnionMap.from_union_pw_aff(member)
        along = self._dependences_of(first, second).apply_domain(times).apply_range(times)
        return all(p.intersect(isl.Map.lex_gt(p.get_space().domain())).is_empty() for p in polyhedra.pieces(along))

    def independent(self, first: Tree, second: Tree) -> bool:
        """Returns whether no statement of one group depends on one of the other, so that they may run in any order."""
        return self._dependences_of(first, second).is_empty()

    def _dependences_of(self, first: Tree, second: Tree) -> isl.UnionMap:
        """Returns the dependences { S[i] -> T[j] } between the two groups, in both directions."""
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
        """Returns the group's instances { S[i] }, and the names of its statements."""
        text = group["filter"]
        if text not in self._groups:
            instances = nodes.instances(text)
            self._groups[text] = instances, polyhedra.set_names(instances)
        return self._groups[text]

    def joinable(self, group: Tree, band: Tree) -> bool:
        """Returns whether the group's nest may share the first loop of its band with other nests.

        That loop must be parallel. A band with enough loops to be tiled must also access some elements more than once, and its
        first loop must have the role BATCH or ROWS (`LoopRole`), as the outermost loops over tiles do.
        """
        if not _first_is_parallel(band):
            return False
        if len(band["coincident"]) < DEEP:
            return True
        (_, names), members = self._group(group), members_of(band)
        return has_reuse(members, self._scop, names) and loop_role(members[0], self._scop, names) <= LoopRole.ROWS

    def is_contraction(self, group: Tree) -> bool:
        """Returns whether some statement of the group may be a contraction."""
        return any(may_be_contraction(self._scop.statements[name]) for name in self._group(group)[1])

    def are_sums(self, *groups: Tree) -> bool:
        """Returns whether all groups are single loops of reductions, as sums over one vector are, which lanes may share."""
        for group in groups:
            band = group.get("child", {})
            if "schedule" not in band or _first_is_parallel(band) or len(members_of(band)) > 1 or not is_flat(band.get("child")):
                return False
        return all(self._sums.issuperset(self._group(group)[1]) for group in groups)

    def same_range(self, first: Tree, second: Tree, member: isl.MultiUnionPwAff) -> bool:
        """Returns whether the member takes the same values for both groups, at sizes for which both have instances."""
        values = isl.UnionMap.from_multi_union_pw_aff(member).intersect_domain(self._scop.domain)
        mine, theirs = (values.intersect_domain(self._group(group)[0]).range() for group in (first, second))
        return mine.intersect_params(theirs.params()).is_equal(theirs.intersect_params(mine.params()))

    def share_data(self, first: Tree, second: Tree, member: isl.MultiUnionPwAff) -> bool:
        """Returns whether most instances of one group access an element that the other accesses in the same iteration of `member`.

        Arrays that both groups go through column by column do not count.
        """
        mine, theirs = self._accesses(first), self._accesses(second)
        for array in self._arrays(first) & self._arrays(second):
            if all(self._has_columns(group, array, member.get_at(0)) for group in (first, second)):
                continue
            together = mine[array].apply_range(theirs[array].reverse()).eq_at_multi_union_pw_aff(member)
            if any(self._are_most(piece.domain()) for piece in polyhedra.pieces(together)):
                return True
        return False

    def may_share(self, first: Tree, second: Tree) -> bool:
        """Returns whether the groups access a common array, which fusion needs unless it is asked for wherever it is legal."""
        return self.everything or bool(self._arrays(first) & self._arrays(second))

    def _arrays(self, group: Tree) -> frozenset[str]:
        """Returns the names of the arrays that the group's statements access, without scalars."""
        key = group["filter"]
        if key not in self._named:
            statements = (self._scop.statements[name] for name in self._group(group)[1])
            self._named[key] = frozenset(a.array for s in statements for a in accesses(s) if a.subscripts)
        return self._named[key]

    def _has_columns(self, group: Tree, array: str, member: isl.UnionPwAff) -> bool:
        """Returns whether an access of the group goes down one column of the array in each iteration of `member`.

        Such loops are better exchanged so that they go along rows, which is not possible once `member` is shared by several nests.
        """
        for name in self._group(group)[1]:
            statement, along = self._scop.statements[name], iterators_of(member, name)
            inside = [k for k in range(len(statement.iterators)) if k not in along]
            found = [a for a in accesses(statement) if a.array == array]
            if any(moves(a, along, slice(-1, None)) and moves(a, inside, slice(0, -1)) for a in found):
                return True
        return False

    def _are_most(self, instances: isl.Set) -> bool:
        """Returns whether the instances have the dimension of their statement's whole domain, unlike a border or a diagonal."""
        every = self._scop.statements[instances.get_tuple_name()].domain
        return polyhedra.hull_dimension(instances) == polyhedra.hull_dimension(every)

    def _accesses(self, group: Tree) -> dict[str, isl.UnionMap]:
        """Returns array -> { S[i] -> A[j] }, the accesses of the group's statements."""
        key = group["filter"]
        if key not in self._touched:
            found: dict[str, list[isl.UnionMap]] = {}
            for statement in map(self._scop.statements.__getitem__, self._group(group)[1]):
                for access in accesses(statement):
                    relation = isl.UnionMap.from_map(access.relation.intersect_domain(statement.domain))
                    found.setdefault(access.array, []).append(relation)
            self._touched[key] = {array: polyhedra.union(relations) for array, relations in found.items()}
        return self._touched[key]


def _fused(tree: Tree, criteria: _FusionCriteria) -> Tree:
    """Returns the tree with the children of every sequence fused with earlier ones; the tree itself where none are."""
    if "child" in tree:
        child = _fused(tree["child"], criteria)
        if child is not tree["child"]:
            tree = {**tree, "child": child}
    if "sequence" not in tree:
        return tree
    children = [_fused(c, criteria) for c in tree["sequence"]]
    merged = _neighbours_joined(children, criteria)
    if len(merged) == len(tree["sequence"]) and all(a is b for a, b in zip(merged, tree["sequence"])):
        return tree
    if len(merged) == 1:
        return merged[0].get("child", tree)
    return {**tree, "sequence": merged}


def _neighbours_joined(children: list[Tree], criteria: _FusionCriteria) -> list[Tree]:
    """Returns the children of a sequence, each fused with an earlier one where that pays, until no more can be fused.

    A child may be moved past children between the two that do not depend on it.
    """
    merged: list[Tree] = []
    for child in children:
        merged = _with_child(merged, child, criteria)
    return merged if len(merged) == len(children) else _neighbours_joined(merged, criteria)


def _with_child(merged: list[Tree], child: Tree, criteria: _FusionCriteria) -> list[Tree]:
    """Returns the children of a sequence so far with one more, fused with the last one with which it can be, or else at the end.

    merged: the children so far, fused.
    """
    for k in reversed(range(len(merged))):
        passed = merged[k + 1 :]
        pair = merged[k]["filter"], child["filter"], bool(passed)
        if pair in criteria.separate or not criteria.may_share(merged[k], child):
            continue
        order = _around(merged[k], passed, child, criteria)
        if order is None:
            continue
        joined = _join(merged[k], child, criteria, passes=bool(passed))
        if joined is None:
            criteria.separate.add(pair)
        else:
            before, behind = order
            return [*merged[:k], *before, joined, *behind]
    return [*merged, child]


def _around(first: Tree, passed: list[Tree], child: Tree, criteria: _FusionCriteria) -> tuple[list[Tree], list[Tree]] | None:
    """Returns which of the children between two run before both and which behind, where the two become one; None where neither order
    keeps the dependences.

    passed: the children between `first` and `child`.
    """
    if all(criteria.independent(child, other) for other in passed):
        return [], passed
    if all(criteria.independent(first, other) for other in passed):
        return passed, []
    if not criteria.are_sums(first, child):
        return None
    before: list[Tree] = []
    behind: list[Tree] = []
    for other in passed:
        needs_first = not all(criteria.independent(other, earlier) for earlier in (first, *behind))
        (behind if needs_first else before).append(other)
    return (before, behind) if all(criteria.independent(child, other) for other in behind) else None


def _join(first: Tree, second: Tree, criteria: _FusionCriteria, passes: bool) -> Tree | None:
    """Returns the two groups in one loop as a child of a sequence; None where they are not fused.

    passes: whether the second group is moved past other groups to get to the first. The two are then fused only where the loop has
        the same range for both, so that it needs no conditions.
    """
    band, other = first.get("child", {}), second.get("child", {})
    if "schedule" not in band or "schedule" not in other:
        return None
    members, others = members_of(band), members_of(other)
    loop = members[0].union_add(others[0])
    shared = isl.MultiUnionPwAff.from_union_pw_aff(loop)
    parallel = _first_is_parallel(band) and _first_is_parallel(other)
    if criteria.everything:
        if not criteria.stays_forward(first, second, loop):
            return None
        parallel = parallel and criteria.stays_parallel(first, second, shared)
    elif not _pays(first, second, shared, criteria, passes):
        return None
    inside = [*_inside(first, band), *_inside(second, other)]
    both = nodes.instances(first["filter"]).union(nodes.instances(second["filter"]))
    return {
        "filter": nodes.text_of(both),
        "child": {
            "schedule": nodes.text_of(shared),
            "permutable": 1,
            "coincident": [int(parallel)],
            "child": {"sequence": inside},
        },
    }


def _pays(first: Tree, second: Tree, shared: isl.MultiUnionPwAff, criteria: _FusionCriteria, passes: bool) -> bool:
    """Returns whether fusing two groups along their first loops pays.

    Both groups must be `joinable`, access the same elements in one iteration of the fused loop, and leave that loop parallel. Two
    contractions are never fused, as each gets blocks of its own. Sums over the same vectors, which are not parallel, share a loop
    where none needs the other.

    shared: the first loop of both groups.
    passes: whether one group is moved past others that stand between the two; the loop must then have the same range for both.
    """
    if criteria.are_sums(first, second) and criteria.independent(first, second):
        return criteria.share_data(first, second, shared) and criteria.same_range(first, second, shared)
    if not criteria.joinable(first, first["child"]) or not criteria.joinable(second, second["child"]):
        return False
    if criteria.is_contraction(first) and criteria.is_contraction(second):
        return False
    if not criteria.share_data(first, second, shared) or not criteria.stays_parallel(first, second, shared):
        return False
    return not passes or criteria.same_range(first, second, shared)


def _first_is_parallel(band: Tree) -> bool:
    return band.get("coincident", [0])[0] == 1


def _inside(group: Tree, band: Tree) -> Iterator[Tree]:
    """Yields what the group runs inside the first loop of its band, as children of a sequence.

    It is the rest of the band with what is below it, or, where the band has a single loop, just what is below.
    """
    members = members_of(band)
    if len(members) > 1:
        rest = {
            **band,
            "schedule": nodes.text_of(together(members[1:])),
            "coincident": band.get("coincident", [0] * len(members))[1:],
        }
        yield {"filter": group["filter"], "child": rest}
        return
    below = band.get("child")
    if below is not None and "sequence" in below:
        yield from below["sequence"]
    elif below is None:
        yield {"filter": group["filter"]}
    else:
        yield {"filter": group["filter"], "child": below}
