"""Which loops nests can share: those along which no dependence between them moves, and which of a product are not much the shorter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polyml.model.core.scop import Scop
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.strips.row_nests import Part, domain_of, iterator_of, lengths_of, shared_loop
from polyml.schedule.tree.bands import together

UNEVEN = 2  # times as many iterations as a product has in a loop that it shares: strips of the one might be the whole of the other


@dataclass(frozen=True)
class SharedLoops:
    """Which loops the nests of parts can share: no dependence between them moves along these, and none is much longer than a product's.

    dependences: { S[i] -> T[j] }, the ones that count.
    sizes: values of parameters.
    adding: whether loops may be shared that carry updates of reductions, which are then not among the dependences.
    _free, _single, _lengths, _sources, _pairs, _shared: what is known, by the numbers of parts: how many loops may be shared, whether
        a loop follows one iterator, its least and its greatest number of iterations, the dependences from a part and between two of
        them, and whether they share a loop of each.
    """

    scop: Scop
    dependences: isl.UnionMap
    sizes: Mapping[str, int]
    adding: bool = False
    _free: dict[int, int] = field(default_factory=dict)
    _single: dict[tuple[int, int], bool] = field(default_factory=dict)
    _lengths: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    _sources: dict[int, isl.UnionMap] = field(default_factory=dict)
    _pairs: dict[tuple[int, int], isl.UnionMap] = field(default_factory=dict)
    _shared: dict[tuple[int, int, int, int], bool] = field(default_factory=dict)

    def depth(self, parts: Sequence[Part]) -> int:
        """Returns how many outermost loops the nests of the last part can share with those of each of the others."""
        *before, last = parts
        return min(self.between(part, last) for part in (*before, last))

    def between(self, part: Part, other: Part) -> int:
        """Returns how many outermost loops the nests of two parts, or of one part and itself, can share."""
        depth, most = 0, min(self.free(part), self.free(other))
        while depth < most and self._is_shared(part, other, depth):
            depth += 1
        return depth

    def free(self, part: Part) -> int:
        """Returns how many outermost loops of a part may be shared: those that carry no dependence, and of a product all but two."""
        if part.number not in self._free:
            statements = [self.scop.statements[name] for name in part.names]
            products = [len(s.iterators) - 2 for s in statements if may_be_contraction(s)]
            loops = [len(nest.members) if self.adding else nest.free for nest in part.nests]
            self._free[part.number] = min((*loops, *products), default=0)
        return self._free[part.number]

    def needs(self, part: Part, others: Sequence[Part]) -> bool:
        """Returns whether a statement of the part depends on one of the others."""
        return any(not self.pairs(other, part).is_empty() for other in others)

    def are_tied(self, part: Part, other: Part) -> bool:
        """Returns whether a dependence leads from one of two parts to the other."""
        return self.needs(part, [other]) or self.needs(other, [part])

    def pairs(self, part: Part, other: Part) -> isl.UnionMap:
        """Returns the dependences { S[i] -> T[j] } from instances of a part to those of another one, or of itself."""
        key = part.number, other.number
        if key not in self._pairs:
            if part.number not in self._sources:
                self._sources[part.number] = self.dependences.intersect_domain(domain_of(part.nests))
            self._pairs[key] = self._sources[part.number].intersect_range(domain_of(other.nests))
        return self._pairs[key]

    def _is_shared(self, part: Part, other: Part, k: int) -> bool:
        """Returns whether loop number `k` of both parts follows one iterator, and no dependence from one to the other moves along it."""
        key = part.number, part.given(k), other.number, other.given(k)
        if key not in self._shared:
            self._shared[key] = self._is_single(part, k) and self._is_single(other, k) and self._fit(part, other, k)
            pairs = self.pairs(part, other) if self._shared[key] else None
            if pairs is not None and not pairs.is_empty():
                loop = together([shared_loop(part.nests if part is other else (*part.nests, *other.nests), k)])
                moving = (pairs.lex_lt_at_multi_union_pw_aff, pairs.lex_gt_at_multi_union_pw_aff)
                self._shared[key] = all(found(loop).is_empty() for found in moving)
        return self._shared[key]

    def _fit(self, part: Part, other: Part, k: int) -> bool:
        """Returns whether no statement of two parts has UNEVEN times as many iterations of loop number `k` as a product of them."""
        (least, most), (low, high) = self._length(part, k), self._length(other, k)
        products = (ends for each, ends in ((part, least), (other, low)) if self._has_product(each))
        return all(max(most, high) < UNEVEN * ends for ends in products)

    def _has_product(self, part: Part) -> bool:
        return any(may_be_contraction(self.scop.statements[name]) for name in part.names)

    def _length(self, part: Part, k: int) -> tuple[int, int]:
        """Returns the least and the greatest number of iterations that loop number `k` of a part has for its statements."""
        key = part.number, part.given(k)
        if key not in self._lengths:
            found = [max(1, length) for length in lengths_of(part.nests, k, self.scop, self.sizes)]
            self._lengths[key] = min(found, default=1), max(found, default=1)
        return self._lengths[key]

    def _is_single(self, part: Part, k: int) -> bool:
        """Returns whether loop number `k` of a part follows one iterator of each statement."""
        key = part.number, part.given(k)
        if key not in self._single:
            self._single[key] = all(iterator_of(nest.members[k], name, self.scop) for nest in part.nests for name in nest.names)
        return self._single[key]
