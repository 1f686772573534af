"""The proof that a schedule tree runs every instance once and keeps an order, node by node from the root.

    band        no pair goes back along the loop; pairs within one iteration are left for the nodes below
    sequence    no pair goes back to an earlier child; pairs within a child are left for the nodes below
    leaf        no pair is left

Each test is of one loop and of the pairs that no loop around has put in order, so that all together take a fraction of the time
of one test of whole times, which is a relation of twice as many dimensions with a case for each of them. Loops over tiles divide,
which makes sets hard for isl: that pairs are in the same tile is held back until a test needs it, and pairs that do not go back
along the loop inside a tile do not go back to an earlier tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polyml import polyhedra
from polyml.schedule.tree.bands import NODE
from polyml.values import cached_property

_PASSED = (NODE.domain, NODE.filter, NODE.mark)
_BACK, _FORTH = isl.UnionMap.lex_gt_at_multi_union_pw_aff, isl.UnionMap.lex_lt_at_multi_union_pw_aff
_Direction = Callable[[isl.UnionMap, isl.MultiUnionPwAff], isl.UnionMap]  # pairs, values -> the pairs that go so along the values


@dataclass(frozen=True)
class _BandMember:
    """A loop of a band: its member { S[i] -> [(e)] }, and all instances { S[i] } inside it."""

    member: isl.UnionPwAff
    instances: isl.UnionSet

    @cached_property
    def is_over_tiles(self) -> bool:
        return polyhedra.has_division(self.member)

    @cached_property
    def values(self) -> isl.MultiUnionPwAff:
        """Returns the loop's values { S[i] -> [(e)] }; those of a loop over tiles are simplified and hold for `instances` alone."""
        return _tuple_of(self.member.gist(self.instances) if self.is_over_tiles else self.member)

    @cached_property
    def inside_tiles(self) -> tuple[isl.MultiUnionPwAff, ...]:
        """Returns the expressions { S[i] -> [(e)] } that a loop over tiles divides; () where they are not known.

        Where no pair of instances goes back along any of the expressions, none goes back along the loop.
        """
        return tuple(map(_tuple_of, polyhedra.before_rounding(self.member))) if self.is_over_tiles else ()


@dataclass(frozen=True)
class Pairs:
    """Pairs of instances { S[i] -> T[j] }, source and sink, which the loops seen so far do not put in order.

    The pairs are those of `some` whose source and sink are in the same iteration of every loop of `tiles`.

    some: { S[i] -> T[j] }, a relation that has all of the pairs and maybe more.
    tiles: loops over tiles.
    """

    some: isl.UnionMap
    tiles: tuple[_BandMember, ...] = ()

    def is_empty(self) -> bool:
        some = self.some
        for tile in self.tiles:
            if some.is_empty():
                return True
            some = some.eq_at_multi_union_pw_aff(tile.values)
        return some.is_empty()

    def of(self, sources: isl.UnionSet) -> Pairs:
        """Returns the pairs whose sources are among `sources`."""
        return replace(self, some=self.some.intersect_domain(sources))

    def to(self, sinks: isl.UnionSet) -> Pairs:
        """Returns the pairs whose sinks are among `sinks`."""
        return replace(self, some=self.some.intersect_range(sinks))

    def go_back(self, loop: _BandMember) -> bool:
        """Returns whether some pair's sink is in an earlier iteration of the loop than its source."""
        return self._some(loop, _BACK)

    def go_forth(self, loop: _BandMember) -> bool:
        """Returns whether some pair's sink is in a later iteration of the loop than its source."""
        return self._some(loop, _FORTH)

    def in_one_iteration(self, loop: _BandMember) -> Pairs:
        """Returns the pairs whose source and sink are in one iteration of the loop."""
        if loop.is_over_tiles:
            return replace(self, tiles=(*self.tiles, loop))
        return replace(self, some=self.some.eq_at_multi_union_pw_aff(loop.values))

    def share_a_sum(self, loop: _BandMember) -> bool:
        """Returns whether one of `tiles` goes over the sum of this loop and a loop along which no pair goes back (a wavefront).

        Pairs in one iteration of the sum are then in one iteration of this loop, unless some pair goes back along it.
        """
        others = (_BandMember(tile.member.sub(loop.member), tile.instances) for tile in self.tiles) if loop.is_over_tiles else ()
        return any(self._none_inside(other, _BACK) for other in others)

    def _some(self, loop: _BandMember, direction: _Direction) -> bool:
        """Returns whether some pair goes in the given direction, back or forth, along the loop."""
        return not self._none_inside(loop, direction) and not replace(self, some=direction(self.some, loop.values)).is_empty()

    def _none_inside(self, loop: _BandMember, direction: _Direction) -> bool:
        """Returns whether no pair goes in the direction along the expressions that a loop over tiles divides.

        It returns False where the expressions are not known.
        """
        return bool(loop.inside_tiles) and all(direction(self.some, values).is_empty() for values in loop.inside_tiles)


def keeps(schedule: isl.Schedule, order: isl.UnionMap) -> bool:
    """Returns whether every sink of `order`, { S[i] -> T[j] }, runs after its source; False for trees that add instances."""
    return _keeps(schedule.get_root(), Pairs(order), schedule.get_domain())


def _keeps(node: isl.ScheduleNode, pairs: Pairs, domain: isl.UnionSet) -> bool:
    """Returns whether the subtree runs every sink of the pairs after its source.

    domain: { S[i] }, all instances of the tree.
    """
    if pairs.some.is_empty():
        return True
    kind = node.get_type()
    if kind == NODE.band:
        for loop in _loops(node, domain):
            if pairs.go_back(loop):
                return False
            pairs = pairs.in_one_iteration(loop)
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
    """Returns whether the tree runs each of the instances { S[i] } once, and nothing else; False for trees that add instances."""
    domain = schedule.get_domain()
    return domain.is_equal(instances) and _runs_once(schedule.get_root(), domain)


def _runs_once(node: isl.ScheduleNode, instances: isl.UnionSet) -> bool:
    """Returns whether the subtree runs each of some instances exactly once.

    instances: { S[i] }, those that the nodes above let through to the subtree.
    """
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
    """Returns whether a band's first loop carries no pair of `order`, { S[i] -> T[j] }.

    Only pairs within one iteration of the loops around the band count.
    """
    domain = band.get_domain()
    pairs, above = Pairs(order).of(domain).to(domain), band
    while above.has_parent():
        above = above.parent()
        if above.get_type() == NODE.band:
            for loop in _loops(above, domain):
                pairs = pairs.in_one_iteration(loop)
    own = next(_loops(band, domain))
    return not pairs.go_back(own) and (pairs.share_a_sum(own) or not pairs.go_forth(own))


def _loops(band: isl.ScheduleNode, instances: isl.UnionSet) -> Iterator[_BandMember]:
    """Yields the loops of a band, outermost first, each with the instances { S[i] } of the whole tree."""
    partial = band.band_get_partial_schedule()
    return (_BandMember(partial.get_at(k), instances) for k in range(band.band_n_member()))


def _filters(node: isl.ScheduleNode) -> Sequence[isl.UnionSet]:
    return [node.child(k).filter_get_filter() for k in range(node.n_children())]


def _tuple_of(member: isl.UnionPwAff) -> isl.MultiUnionPwAff:
    return isl.MultiUnionPwAff.from_union_pw_aff(member)
