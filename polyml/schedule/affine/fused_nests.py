"""Nests of few loops that may share their outermost one, as values, and their trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polyml import polyhedra
from polyml.schedule.tree import nodes
from polyml.schedule.tree.bands import POINT, outermost, together
from polyml.schedule.tree.text import Tree
from polyml.values import cached_property

DEEPEST = 2  # loops of the nests that are fused: deeper nests use the data that they load many times


@dataclass(frozen=True)
class FlatNest:
    """A nest of few loops, with all that is inside them.

    domain: { S[i] }, its instances.
    members: { S[i] -> [(e)] } of each loop, outermost first.
    child: the tree inside the loops; None where the statements stand directly inside them.
    """

    domain: isl.UnionSet
    members: tuple[isl.UnionPwAff, ...]
    child: Tree | None

    @cached_property
    def names(self) -> list[str]:
        return polyhedra.set_names(self.domain)

    def body(self) -> Tree:
        """Returns the inside of the nest's loops as a child of a sequence."""
        return {"filter": nodes.text_of(self.domain), **({} if self.child is None else {"child": self.child})}


@dataclass(frozen=True)
class FusedNests:
    """Nests that share their first loop, or a single nest that is not fused yet.

    parts: the nests, in order.
    given: the tree of a nest that is not fused yet; None for fused ones.
    permutable: whether the loops of a nest that is not fused yet may be exchanged.
    parallel: whether the shared loop goes to threads.
    partial: the arrays of which each thread then has partial results, added up behind the loop.
    free: whether the shared loop carries no dependence.
    """

    parts: tuple[FlatNest, ...]
    given: Tree | None = None
    permutable: bool = False
    parallel: bool = False
    partial: tuple[str, ...] = ()
    free: bool = False

    @cached_property
    def domain(self) -> isl.UnionSet:
        return polyhedra.union([part.domain for part in self.parts], isl.UnionSet("{ }"))

    @cached_property
    def shared(self) -> isl.UnionPwAff:
        """Returns { S[i] -> [(e)] } of the loop that is around all nests."""
        return reduce(isl.UnionPwAff.union_add, (part.members[0] for part in self.parts))

    @cached_property
    def names(self) -> list[str]:
        return polyhedra.set_names(self.domain)

    def interchanged(self) -> Iterator[FusedNests]:
        """Yields these nests; for a single nest whose loops may be exchanged, also with each of its other loops outermost."""
        yield self
        if self.given is None or not self.permutable:
            return
        (part,) = self.parts
        for first in range(1, len(part.members)):
            yield FusedNests((FlatNest(part.domain, outermost(part.members, first), part.child),), self.given, True)


def nest_tree(part: FlatNest, members: Sequence[isl.UnionPwAff]) -> Tree:
    """Returns the nest as a child of a sequence: its body inside the loops `members` alone, which are some of its loops."""
    if not members:
        return part.body()
    band = free_band(members) if part.child is None else {**free_band(members), "child": part.child}
    return {"filter": nodes.text_of(part.domain), "child": {"mark": POINT, "child": band}}


def free_band(members: Sequence[isl.UnionPwAff]) -> Tree:
    return {"schedule": nodes.text_of(together(members)), "permutable": 1, "coincident": [0] * len(members)}


def deep(first: FlatNest, second: FlatNest, inner: isl.UnionPwAff) -> FlatNest:
    """Returns two nests of two loops as one nest, with the bodies one after the other. inner: the second loop, for both."""
    bodies = [body for part in (first, second) for body in ([part.body()] if part.child is None else part.child["sequence"])]
    members = (first.members[0].union_add(second.members[0]), inner)
    return FlatNest(first.domain.union(second.domain), members, {"sequence": bodies})


def is_flat(child: Tree | None) -> bool:
    """Returns whether a nest's body, a tree or None, has no further loops."""
    return child is None or "sequence" in child and all(set(c) == {"filter"} for c in child["sequence"])


def domain_of(group: FusedNests | Tree) -> isl.UnionSet:
    return nodes.instances(group["filter"]) if isinstance(group, dict) else group.domain


def is_forward(relation: isl.UnionMap, member: isl.UnionPwAff) -> bool:
    """Returns whether no pair of the relation { S[i] -> T[j] } goes back along the member."""
    times = isl.UnionMap.from_union_pw_aff(member)
    return polyhedra.has_no_pair(relation.apply_domain(times).apply_range(times), isl.Map.lex_gt)
