"""Which loops nests can share: those along which no dependence between them moves, and which of a product are not much the shorter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import islpy as isl

from polyml import polyhedra
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.strips.part_loops import PartLoops
from polyml.schedule.strips.row_nests import Part, domain_of, shared_loop
from polyml.schedule.tree.bands import together

UNEVEN = 2  # times as many iterations as a product has in a loop that it shares: strips of the one might be the whole of the other


@dataclass(frozen=True)
class SharedLoops:
    """Which loops the nests of parts can share: no dependence between them moves along these, and none is much longer than a product's.

    dependences: { S[i] -> T[j] }, the ones that count.
    loops: what is known of the loops of parts.
    adding: whether loops may be shared that carry updates of reductions, which are then not among the dependences.
    _free, _between, _domains, _pairs, _shared: what is known, by the numbers of parts: how many loops may be shared, of one part and
        of two, the instances, the dependences from a part to another one, and whether two parts share a loop of each.
    """

    dependences: isl.UnionMap
    loops: PartLoops
    adding: bool = False
    _free: dict[int, int] = field(default_factory=dict)
    _between: dict[tuple[int, int, int, int], int] = field(default_factory=dict)
    _domains: dict[int, isl.UnionSet] = field(default_factory=dict)
    _pairs: dict[tuple[int, int], list[tuple[str, str, isl.UnionMap]]] = field(default_factory=dict)
    _shared: dict[tuple[int, int, int, int], bool] = field(default_factory=dict)

    def depth(self, parts: Sequence[Part]) -> int:
        """Returns how many outermost loops the nests of the last part can share with those of each of the others."""
        *before, last = parts
        return min(self.between(part, last) for part in (*before, last))

    def between(self, part: Part, other: Part) -> int:
        """Returns how many outermost loops the nests of two parts, or of one part and itself, can share."""
        key = part.number, part.outermost, other.number, other.outermost
        if key not in self._between:
            depth, most = 0, min(self.free(part), self.free(other))
            while depth < most and self._is_shared(part, other, depth):
                depth += 1
            self._between[key] = depth
        return self._between[key]

    def free(self, part: Part) -> int:
        """Returns how many outermost loops of a part may be shared: those that carry no dependence, and of a product all but two."""
        if part.number not in self._free:
            statements = [self.loops.scop.statements[name] for name in part.names]
            products = [len(s.iterators) - 2 for s in statements if may_be_contraction(s)]
            loops = [len(nest.members) if self.adding else nest.free for nest in part.nests]
            self._free[part.number] = min((*loops, *products), default=0)
        return self._free[part.number]

    def needs(self, part: Part, others: Sequence[Part]) -> bool:
        """Returns whether a statement of the part depends on one of the others."""
        return any(self._dependences_of(other, part) for other in others)

    def are_tied(self, part: Part, other: Part) -> bool:
        """Returns whether a dependence leads from one of two parts to the other."""
        return self.needs(part, [other]) or self.needs(other, [part])

    @cached_property
    def _by_statements(self) -> dict[str, dict[str, isl.UnionMap]]:
        """Returns the dependences { S[i] -> T[j] } by source S and then by sink T."""
        found: dict[str, dict[str, isl.UnionMap]] = {}
        for pairs in polyhedra.pieces(self.dependences):
            found.setdefault(polyhedra.domain_name(pairs), {})[polyhedra.range_name(pairs)] = isl.UnionMap.from_map(pairs)
        return found

    def _dependences_of(self, part: Part, other: Part) -> list[tuple[str, str, isl.UnionMap]]:
        """Returns the dependences from instances of a part to those of another one, or of itself: (S, T, { S[i] -> T[j] })."""
        key = part.number, other.number
        if key not in self._pairs:
            self._pairs[key] = [*self._found(part, other)]
        return self._pairs[key]

    def _found(self, part: Part, other: Part) -> Iterator[tuple[str, str, isl.UnionMap]]:
        for source in part.names:
            sinks = self._by_statements.get(source, {})
            for sink in (name for name in other.names if name in sinks):
                pairs = sinks[sink].intersect_domain(self._domain(part)).intersect_range(self._domain(other))
                if not pairs.is_empty():
                    yield source, sink, pairs

    def _domain(self, part: Part) -> isl.UnionSet:
        if part.number not in self._domains:
            self._domains[part.number] = domain_of(part.nests)
        return self._domains[part.number]

    def _is_shared(self, part: Part, other: Part, k: int) -> bool:
        """Returns whether loop number `k` of both parts follows one iterator, and no dependence from one to the other moves along it."""
        key = part.number, part.given(k), other.number, other.given(k)
        if key not in self._shared:
            single = self.loops.is_single(part, k) and self.loops.is_single(other, k)
            self._shared[key] = single and self._fit(part, other, k) and not self._moves(part, other, k)
        return self._shared[key]

    def _moves(self, part: Part, other: Part, k: int) -> bool:
        """Returns whether a dependence from a part to another one moves along loop number `k` of both."""
        left = [
            pairs
            for source, sink, pairs in self._dependences_of(part, other)
            if not self.loops.meet_in_one_iteration((part, source, k), (other, sink, k))
        ]
        if not left:
            return False
        loop = together([shared_loop(part.nests if part is other else (*part.nests, *other.nests), k)])
        return any(
            not moving(loop).is_empty()
            for pairs in left
            for moving in (pairs.lex_lt_at_multi_union_pw_aff, pairs.lex_gt_at_multi_union_pw_aff)
        )

    def _fit(self, part: Part, other: Part, k: int) -> bool:
        """Returns whether no statement of two parts has UNEVEN times as many iterations of loop number `k` as a product of them."""
        (least, most), (low, high) = self.loops.lengths(part, k), self.loops.lengths(other, k)
        products = (ends for each, ends in ((part, least), (other, low)) if self.loops.has_product(each))
        return all(max(most, high) < UNEVEN * ends for ends in products)
