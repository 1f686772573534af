"""Nests with equal loops for threads as one launch, so that what a thread writes it reads again, and fewer kernels are launched.

    launch of i, j: B[i, j] = f(A[i, j])           launch of i, j: B[i, j] = f(A[i, j])
    launch of i, j: C[i, j] = g(B[i, j])     ->                    C[i, j] = g(B[i, j])

Legal where each dependence between the two nests, within one iteration of the host's loops around them, has distance zero along all loops
of the grid: source and sink are then run by one thread, in their order. Loops of the grid are already outermost in a launch, since they
carry no dependence there. It pays where the nests use most elements of the smaller one in the same threads, so that these are read once:
elements of as many dimensions as it uses. It pays too where neither nest has a loop inside a thread, so that the launch is much of what it
costs. Others call this kernel fusion (horizontal, where the nests are independent).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Scop, Statement
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.analysis.strides import accesses
from polyml.schedule.gpu.mapping import SurroundingLoop, dependences_in_launch, parallel_loops
from polyml.schedule.tree import loop_tree
from polyml.schedule.tree.bands import together
from polyml.schedule.tree.loop_tree import Block, BlockPart, Leaf, Loop, Node


def fused(tree: Node, scop: Scop, dependences: Dependences) -> Node:
    """Returns the tree with nests in a block as one where that is legal and pays, also inside the host's loops."""
    return loop_tree.unique(_Fusion(scop, dependences).node(tree, (), scop.domain))


@dataclass(frozen=True)
class _Nest:
    """A _Nest is a part of a block that is one launch.

    part: the part.
    grid: its loops for threads, outermost first.
    inside: what a thread runs.
    """

    part: BlockPart
    grid: tuple[Loop, ...]
    inside: Node


@dataclass(frozen=True)
class _Use:
    """A _Use is an access of a statement: the array, the relation { S[i] -> A[j] }, and the dimension of the elements."""

    array: str
    relation: isl.Map
    dimension: int


@dataclass(frozen=True)
class _Fusion:
    """The fusion of nests of one tree. known: what statements read and write, by their names, as far as it was asked for."""

    scop: Scop
    dependences: Dependences
    known: dict[str, tuple[_Use, ...]] = field(default_factory=dict)

    def node(self, node: Node, host: tuple[SurroundingLoop, ...], instances: isl.UnionSet) -> Node:
        """Returns the subtree with nests fused.

        host: the loops around it, of which each iteration is a launch.
        instances: { S[i] }, those that run in the subtree.
        """
        if isinstance(node, Leaf):
            return node
        if isinstance(node, Block):
            parts = [self._part(part, host, instances) for part in node.parts]
            return self._joined(parts, host, instances)
        if parallel_loops(node, host, instances, self.dependences):
            return node
        around = SurroundingLoop(node.name, node.member)
        return replace(node, body=self.node(node.body, (*host, around), instances))

    def _part(self, part: BlockPart, host: tuple[SurroundingLoop, ...], instances: isl.UnionSet) -> BlockPart:
        return replace(part, body=self.node(part.body, host, instances.intersect(part.instances)))

    def _joined(self, parts: Sequence[BlockPart], host: tuple[SurroundingLoop, ...], instances: isl.UnionSet) -> Node:
        """Returns the parts of a block, each fused with an earlier one where that is legal and pays, until no more can be.

        A part may be moved up, past parts on which it does not depend and that do not depend on it.
        """
        made: list[_Nest | BlockPart] = []
        for part in parts:
            nest = self._nest(part, host, instances)
            for k in reversed(range(len(made))):
                earlier = made[k]
                both = self._both(earlier, nest, host) if isinstance(earlier, _Nest) and isinstance(nest, _Nest) else None
                if both is not None:
                    made[k] = both
                    break
                if not self._between(_part_of(earlier), part, host).is_empty():
                    made.append(nest)
                    break
            else:
                made.append(nest)
        return loop_tree.block([_part_of(each) for each in made])

    def _nest(self, part: BlockPart, host: tuple[SurroundingLoop, ...], instances: isl.UnionSet) -> _Nest | BlockPart:
        """Returns a part of a block as a launch, or the part itself if it is not one with loops for threads."""
        grid = parallel_loops(part.body, host, instances.intersect(part.instances), self.dependences)
        return _Nest(part, tuple(grid), _without(part.body, grid)) if grid else part

    def _between(self, one: BlockPart, other: BlockPart, host: Sequence[SurroundingLoop]) -> isl.UnionMap:
        """Returns the dependences { S[i] -> T[j] } between two parts, in both directions, in one iteration of the host's loops."""
        pairs = self.dependences.among(loop_tree.statements(one.body), loop_tree.statements(other.body))
        if pairs.is_empty():
            return pairs
        return dependences_in_launch(pairs, host, one.instances.union(other.instances))

    def _both(self, one: _Nest, other: _Nest, host: Sequence[SurroundingLoop]) -> _Nest | None:
        """Returns two launches as one; None where that is not legal or does not pay."""
        if len(one.grid) != len(other.grid) or self._contractions(one) and self._contractions(other):
            return None
        pairs = self._between(one.part, other.part, host)
        for order in permutations(other.grid):
            members = [mine.member.union_add(theirs.member) for mine, theirs in zip(one.grid, order)]
            along = together(members)
            if not pairs.subtract(pairs.eq_at_multi_union_pw_aff(along)).is_empty():
                continue
            if not self._pays(one, other, along, pairs.is_empty()):
                continue
            inside = loop_tree.block([BlockPart(each.part.instances, each.inside) for each in (one, other)])
            grid = tuple(replace(loop, member=member) for loop, member in zip(one.grid, members))
            return _made(grid, inside, one.part.instances.union(other.part.instances))
        return None

    def _contractions(self, nest: _Nest) -> bool:
        """Returns whether a statement of the nest may be a contraction, whose items of a thread take all registers."""
        return any(may_be_contraction(self._statement(name)) for name in loop_tree.statements(nest.part.body))

    def _pays(self, one: _Nest, other: _Nest, along: isl.MultiUnionPwAff, independent: bool) -> bool:
        """Returns whether one launch costs less than two.

        along: the loops of the grid, of both.
        independent: whether no statement of one depends on one of the other.
        """
        if not (_has_loops(one.inside) or _has_loops(other.inside)) and (not independent or self._same_range(one, other, along)):
            return True
        least = min(self._dimension(one), self._dimension(other))
        return self._shared(one, other, along, least) or self._shared(other, one, along, least)

    def _dimension(self, nest: _Nest) -> int:
        """Returns the largest dimension of the elements of an array that a statement of the nest uses."""
        return max(each.dimension for name in loop_tree.statements(nest.part.body) for each in self._uses(name))

    def _shared(self, one: _Nest, other: _Nest, along: isl.MultiUnionPwAff, least: int) -> bool:
        """Returns whether most instances of a statement of one nest use an element that the other one uses in the same thread, of
        elements of at least `least` dimensions.
        """
        theirs = [use for name in loop_tree.statements(other.part.body) for use in self._uses(name) if use.dimension >= least]
        arrays = {use.array for use in theirs}
        for name in loop_tree.statements(one.part.body):
            for mine in self._uses(name):
                if mine.dimension < least or mine.array not in arrays:
                    continue
                for use in theirs:
                    if use.array != mine.array:
                        continue
                    both = isl.UnionMap.from_map(mine.relation.apply_range(use.relation.reverse()))
                    same = both.eq_at_multi_union_pw_aff(along).domain()
                    if any(self._are_most(piece) for piece in polyhedra.pieces(same)):
                        return True
        return False

    def _uses(self, name: str) -> tuple[_Use, ...]:
        """Returns what a statement reads and writes."""
        if name not in self.known:
            statement = self._statement(name)
            relations = dict.fromkeys((a.array, str(a.relation)) for a in accesses(statement))
            found = {(a.array, str(a.relation)): a.relation.intersect_domain(statement.domain) for a in accesses(statement)}
            self.known[name] = tuple(_Use(key[0], found[key], polyhedra.hull_dimension(found[key].range())) for key in relations)
        return self.known[name]

    def _are_most(self, instances: isl.Set) -> bool:
        """Returns whether the instances have the dimension of their statement's whole domain, unlike a border or a diagonal."""
        every = self._statement(instances.get_tuple_name()).domain
        return polyhedra.hull_dimension(instances) == polyhedra.hull_dimension(every)

    def _same_range(self, one: _Nest, other: _Nest, along: isl.MultiUnionPwAff) -> bool:
        """Returns whether the loops of the grid have the same iterations in both nests, whatever the sizes."""
        values = isl.UnionMap.from_multi_union_pw_aff(along)
        ranges = [values.intersect_domain(each.part.instances.intersect(self.scop.domain)).range() for each in (one, other)]
        return ranges[0].is_equal(ranges[1])

    def _statement(self, name: str) -> Statement:
        return self.scop.statements[name]


def _made(grid: tuple[Loop, ...], inside: Node, instances: isl.UnionSet) -> _Nest:
    """Returns a launch of these loops, with this body for each thread."""
    body = inside
    for loop in reversed(grid):
        body = replace(loop, body=body)
    assert isinstance(body, Loop), "a grid has loops"
    found: list[Loop] = [body]
    while len(found) < len(grid):
        inner = found[-1].body
        assert isinstance(inner, Loop), "loops of the grid are inside one another"
        found.append(inner)
    return _Nest(BlockPart(instances, body), tuple(found), inside)


def _part_of(made: _Nest | BlockPart) -> BlockPart:
    return made.part if isinstance(made, _Nest) else made


def _without(node: Node, grid: Sequence[Loop]) -> Node:
    """Returns the tree without the loops of the grid, which are among those directly inside one another at its top."""
    if not isinstance(node, Loop):
        return node
    body = _without(node.body, grid)
    return body if any(node is loop for loop in grid) else replace(node, body=body)


def _has_loops(node: Node) -> bool:
    return any(True for _ in loop_tree.loops(node))
