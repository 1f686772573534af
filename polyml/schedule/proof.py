"""Whether a schedule tree runs every instance once and keeps an order, asked node by node from the root.

    band        no pair goes back along the loop; pairs of one iteration are asked about further below
    sequence    no pair goes back to an earlier child; pairs within a child are asked about further below
    leaf        no pair is left

Each question is about one loop and about the pairs that no loop around has put in order, so that all together take a fraction of
the time of the one question about whole times, which is a relation of twice as many dimensions with a case for each of them.
Loops over tiles divide, which makes sets hard for isl: that pairs are in the same tile is held back until a question needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polyml import polyhedra
from polyml.schedule.tree import NODE

_PASSED = (NODE.domain, NODE.filter, NODE.mark)


@dataclass(frozen=True)
class Pairs:
    """{ S[i] -> T[j] }: the pairs of `some` with equal values of all of `tiles`."""

    some: isl.UnionMap
    tiles: tuple[isl.MultiUnionPwAff, ...] = ()

    def is_empty(self) -> bool:
        some = self.some
        for tile in self.tiles:
            if some.is_empty():
                return True
            some = some.eq_at_multi_union_pw_aff(tile)
        return some.is_empty()

    def of(self, sources: isl.UnionSet) -> Pairs:
        return replace(self, some=self.some.intersect_domain(sources))

    def to(self, sinks: isl.UnionSet) -> Pairs:
        return replace(self, some=self.some.intersect_range(sinks))

    def back_along(self, member: isl.UnionPwAff) -> Pairs:
        return replace(self, some=self.some.lex_gt_at_multi_union_pw_aff(_loop(member)))

    def forth_along(self, member: isl.UnionPwAff) -> Pairs:
        return replace(self, some=self.some.lex_lt_at_multi_union_pw_aff(_loop(member)))

    def in_one_iteration(self, member: isl.UnionPwAff) -> Pairs:
        if polyhedra.has_division(member):
            return replace(self, tiles=(*self.tiles, _loop(member)))
        return replace(self, some=self.some.eq_at_multi_union_pw_aff(_loop(member)))


def keeps(schedule: isl.Schedule, order: isl.UnionMap) -> bool:
    """Whether every sink of { S[i] -> T[j] } runs after its source. False as well for trees with nodes that add instances."""
    return _keeps(schedule.get_root(), Pairs(order), schedule.get_domain())


def _keeps(node: isl.ScheduleNode, pairs: Pairs, domain: isl.UnionSet) -> bool:
    if pairs.some.is_empty():
        return True
    kind = node.get_type()
    if kind == NODE.band:
        for member in _members(node, domain):
            if not pairs.back_along(member).is_empty():
                return False
            pairs = pairs.in_one_iteration(member)
    elif kind in (NODE.sequence, NODE.set):
        earlier, parts = None, []
        for own in _filters(node):
            mine = pairs.of(own)
            if earlier is not None and not mine.to(earlier).is_empty():
                return False
            earlier = own if earlier is None else earlier.union(own)
            parts.append(mine.to(own))
        return all(_keeps(node.child(k).child(0), part, domain) for k, part in enumerate(parts))
    elif kind == NODE.leaf:
        return pairs.is_empty()
    elif kind not in _PASSED:
        return False
    return _keeps(node.child(0), pairs, domain)


def runs_once(schedule: isl.Schedule, instances: isl.UnionSet) -> bool:
    """Whether the tree runs each of the instances once, and nothing else. False as well for trees with nodes that add any."""
    domain = schedule.get_domain()
    return domain.is_equal(instances) and _runs_once(schedule.get_root(), domain)


def _runs_once(node: isl.ScheduleNode, instances: isl.UnionSet) -> bool:
    kind = node.get_type()
    if kind == NODE.leaf:
        return True
    if kind in (NODE.sequence, NODE.set):
        left, parts = instances, []
        for own in _filters(node):
            parts.append(instances.intersect(own))
            if not parts[-1].is_subset(left):
                return False
            left = left.subtract(own)
        return left.is_empty() and all(_runs_once(node.child(k).child(0), part) for k, part in enumerate(parts))
    if kind == NODE.band:
        if not instances.is_subset(node.band_get_partial_schedule().domain()):
            return False
    elif kind not in _PASSED:
        return False
    return _runs_once(node.child(0), instances)


def carries_none(band: isl.ScheduleNode, order: isl.UnionMap) -> bool:
    """Whether no pair is of two iterations of a band's first loop, all loops around being in one iteration."""
    domain = band.get_domain()
    pairs, above = Pairs(order).of(domain).to(domain), band
    while above.has_parent():
        above = above.parent()
        if above.get_type() == NODE.band:
            for member in _members(above, domain):
                pairs = pairs.in_one_iteration(member)
    own = next(_members(band, domain))
    return pairs.back_along(own).is_empty() and pairs.forth_along(own).is_empty()


def _members(band: isl.ScheduleNode, domain: isl.UnionSet) -> Iterator[isl.UnionPwAff]:
    """The band's loops; those over tiles without what they say of the instances that all of the domain have."""
    partial = band.band_get_partial_schedule()
    for member in (partial.get_at(k) for k in range(band.band_n_member())):
        yield member.gist(domain) if polyhedra.has_division(member) else member


def _filters(node: isl.ScheduleNode) -> Sequence[isl.UnionSet]:
    return [node.child(k).filter_get_filter() for k in range(node.n_children())]


def _loop(member: isl.UnionPwAff) -> isl.MultiUnionPwAff:
    return isl.MultiUnionPwAff.from_union_pw_aff(member)
