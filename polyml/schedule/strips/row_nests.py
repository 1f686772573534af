"""Nests that may share a loop over rows: read from the tree of a schedule, and written back into strips of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import groupby

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Scop
from polyml.schedule.analysis.strides import iterators_of
from polyml.schedule.tree import nodes
from polyml.schedule.tree.bands import POINT, members_of, names_in, outermost, together
from polyml.schedule.tree.text import Tree


@dataclass(frozen=True)
class RowNest:
    """A nest of loops.

    domain: { S[i] }, its instances.
    members: { S[i] -> [(e)] } of each loop, outermost first.
    coincident: for each loop, whether it carries no dependence.
    permutable: whether the loops may be exchanged.
    child: the tree inside the loops; None where one statement stands directly inside them.
    """

    domain: isl.UnionSet
    members: tuple[isl.UnionPwAff, ...]
    coincident: tuple[bool, ...]
    permutable: bool
    child: Tree | None

    @cached_property
    def names(self) -> list[str]:
        return polyhedra.set_names(self.domain)

    @property
    def free(self) -> int:
        """Returns how many outermost loops carry no dependence."""
        return next((k for k, flag in enumerate(self.coincident) if not flag), len(self.coincident))

    def exchanged(self, k: int) -> RowNest:
        """Returns the nest with loop number `k` outermost."""
        return replace(self, members=outermost(self.members, k), coincident=outermost(self.coincident, k))

    def inside(self, depth: int) -> Tree:
        """Returns the nest without its `depth` outermost loops, as a child of a sequence."""
        members = self.members[depth:]
        if not members:
            return {"filter": nodes.text_of(self.domain), **({} if self.child is None else {"child": self.child})}
        flags = [int(flag) for flag in self.coincident[depth:]]
        band = {"schedule": nodes.text_of(together(members)), "permutable": int(self.permutable), "coincident": flags}
        return {"filter": nodes.text_of(self.domain), "child": band if self.child is None else {**band, "child": self.child}}


def nests_of(
    domain: isl.UnionSet, node: Tree | None, members: tuple[isl.UnionPwAff, ...], flags: tuple[bool, ...], permutable: bool
) -> Iterator[RowNest | None]:
    """Yields the nests at and below a node, those of loops that they share with others too; None in place of other nodes.

    Statements that share all their loops are one nest.

    domain: { S[i] }, the instances that reach the node.
    members, flags, permutable: the loops around the node, as in a nest.
    """
    if node is None:
        yield RowNest(domain, members, flags, permutable, None)
        return
    if "schedule" not in node or "options" in node:
        yield None
        return
    own = tuple(m.intersect_domain(domain) for m in members_of(node))
    members = (*members, *own)
    permutable = permutable and (len(own) == 1 or bool(node.get("permutable"))) and all(flags)
    flags = (*flags, *map(bool, node.get("coincident", [0] * len(own))))
    child = node.get("child")
    if child is not None and any("child" in part for part in child.get("sequence", ())) and all(flags):
        for part in child["sequence"]:
            inside = domain.intersect(nodes.instances(part["filter"]))
            here = tuple(m.intersect_domain(inside) for m in members)
            below = part.get("child")
            if below is None or "schedule" in below:
                yield from nests_of(inside, below, here, flags, permutable)
            else:
                yield RowNest(inside, here, flags, permutable, below)
        return
    yield RowNest(domain, members, flags, permutable, child)


def in_one_pass(domain: isl.UnionSet, node: Tree | None) -> list[tuple[isl.UnionSet, Tree | None]]:
    """Returns the nests that a tree runs in tiles, so that they share one pass over an array (`traffic_fusion`), one by one without
    the loop over tiles; the tree itself where it does not begin with such a loop.

    domain, result: { S[i] }, the instances of each tree.
    """
    if node is None or "mark" not in node or "schedule" not in node["child"]:
        return [(domain, node)]
    inside = node["child"].get("child", {})
    if "sequence" not in inside:
        return [(domain, inside["child"])] if inside.get("mark") == POINT else [(domain, node)]
    parts = [(domain.intersect(nodes.instances(part["filter"])), part.get("child")) for part in inside["sequence"]]
    return [(where, part["child"] if part is not None and part.get("mark") == POINT else part) for where, part in parts]


@dataclass(frozen=True)
class Part:
    """A child of the outermost sequence, or a nest of one.

    tree: what it is as a child of a sequence.
    nests: the nest; () where it is none that may share strips.
    position: of the child in the given sequence.
    number: counts the parts.
    outermost: which of the given loops of the nest is its outermost one.
    """

    tree: Tree
    nests: tuple[RowNest, ...]
    position: int
    number: int = -1
    outermost: int = 0

    @cached_property
    def names(self) -> list[str]:
        return [name for nest in self.nests for name in nest.names]

    def exchanged(self, k: int) -> Part:
        """Returns the part with loop number `k` of its nest outermost."""
        nests = tuple(nest.exchanged(k) for nest in self.nests)
        return replace(self, tree=nests[0].inside(0), nests=nests, outermost=self.given(k))

    def given(self, k: int) -> int:
        """Returns which of the given loops of the nest is loop number `k`."""
        return self.outermost if k == 0 else k - (k <= self.outermost)


def parts_of(tree: Tree, position: int) -> Iterator[Part]:
    """Yields the parts of a child of the outermost sequence: its nests, or itself where it has other nodes.

    position: that of the child in the sequence.
    """
    domain = nodes.instances(tree["filter"])
    found = [nest for where, node in in_one_pass(domain, tree.get("child")) for nest in nests_of(where, node, (), (), True)]
    if None in found:
        yield Part(tree, (), position)
    else:
        yield from (Part(nest.inside(0), (nest,), position) for nest in found if nest is not None)


def children_of(made: Sequence[Part], given: Sequence[Tree], parts: Sequence[Part]) -> Iterator[Tree]:
    """Yields the children of the new outermost sequence.

    made: the parts that are in no strips, and strips, whose position is -1.
    given, parts: the children of the given sequence, and the parts of all of them.
    """
    for position, group in groupby(made, key=lambda part: part.position):
        own = list(group)
        if position < 0:
            yield from (part.tree for part in own)
        elif len(own) == sum(part.position == position for part in parts):
            yield given[position]
        else:
            yield from (part.tree for part in own)


def in_rows(parts: Sequence[Tree], adding: Set[str]) -> Iterator[Tree]:
    """Yields the nests of a strip; neighbours without blocks share the loop over single rows, which is their outermost one.

    adding: statements that add to the same results in all rows; nests of them keep rows of their own, so that those of others stay
        independent.
    """
    together_: list[Tree] = []
    for part in (*parts, None):
        alone = part is None or "schedule" not in part.get("child", {}) or not adding.isdisjoint(names_in(part["filter"]))
        if alone and together_:
            yield _shared_rows(together_)
            together_ = []
        if part is None:
            return
        if not alone:
            together_.append(part)
        else:
            yield _shared_rows([part]) if "schedule" in part.get("child", {}) else part


def _shared_rows(parts: Sequence[Tree]) -> Tree:
    """Returns nests that all begin with the loop over rows in one such loop, as a child of a sequence."""
    if len(parts) == 1:
        return {**parts[0], "child": {"mark": POINT, "child": parts[0]["child"]}}
    nests = [_own_loops(part) for part in parts]
    rows, inside = nodes.text_of(together([shared_loop(nests, 0)])), [nest.inside(1) for nest in nests]
    band = {"schedule": rows, "permutable": 1, "coincident": [1], "child": {"sequence": inside}}
    return {"filter": nodes.text_of(domain_of(nests)), "child": {"mark": POINT, "child": band}}


def _own_loops(part: Tree) -> RowNest:
    """Returns a child of a sequence that is a band, with what is below it, as one nest."""
    domain, band = nodes.instances(part["filter"]), part["child"]
    members = tuple(member.intersect_domain(domain) for member in members_of(band))
    flags = tuple(map(bool, band.get("coincident", [0] * len(members))))
    return RowNest(domain, members, flags, bool(band.get("permutable")), band.get("child"))


def domain_of(nests: Sequence[RowNest]) -> isl.UnionSet:
    return polyhedra.union([nest.domain for nest in nests], isl.UnionSet("{ }"))


def shared_loop(nests: Sequence[RowNest], k: int) -> isl.UnionPwAff:
    """Returns { S[i] -> [(e)] } of loop number `k` of all nests."""
    return reduce(isl.UnionPwAff.union_add, (nest.members[k] for nest in nests))


def iterator_of(member: isl.UnionPwAff, name: str, scop: Scop) -> str | None:
    """Returns the iterator of the statement `name` that the member depends on; None where it is not a single one."""
    along = iterators_of(member, name)
    return scop.statements[name].iterators[along[0]] if len(along) == 1 else None
