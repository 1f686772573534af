"""An order as a vector for each statement: positions in blocks and values of loops, in turn (the 2d+1 form of Kelly and Pugh, 1995).

for i: S; for j: T    ->    S: 0, i, 0        T: 0, i, 1, j, 0

Two statements share the first loop where their first positions agree, the second one where the first two do, and so on. Steps of a replay
change these vectors: they are defined whether or not the order is legal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Scop
from polyml.schedule.tree import loop_tree
from polyml.schedule.tree.loop_tree import Block, Leaf, Loop, Node

Betas = tuple[int, ...]
Key = tuple[str, int]


@dataclass(frozen=True)
class Level:
    """A level is one loop around the instances of a piece.

    name: of the loop, as schedule scripts call it.
    value: { S[i] -> [(e)] }, by which the loop runs them in ascending order.
    is_tile: whether the loop goes over tiles.
    words: its other directives, such as "parallel".
    """

    name: str
    value: isl.PwAff
    is_tile: bool = False
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Piece:
    """A piece is a statement, or some of its instances where an order has different loops for them.

    statement: its name.
    number: of the piece among those of the statement, from 0.
    instances: { S[i] : ... }.
    levels: the loops around it, outermost first.
    betas: positions in blocks: before the first loop, between loops, and behind the last one.
    """

    statement: str
    number: int
    instances: isl.Set
    levels: tuple[Level, ...]
    betas: Betas

    @property
    def key(self) -> Key:
        """The piece's name, whatever the order."""
        return self.statement, self.number


@dataclass(frozen=True)
class Order:
    """An order is a vector for each piece of each statement. pieces: by `Piece.key`."""

    pieces: Mapping[Key, Piece]

    def with_pieces(self, changed: Mapping[Key, Piece]) -> Order:
        """Returns the order with other vectors for some pieces."""
        return Order({**self.pieces, **changed})

    def shared(self, first: Key, second: Key) -> int:
        """Returns how many loops two pieces share."""
        a, b = self.pieces[first], self.pieces[second]
        most = min(len(a.levels), len(b.levels))
        return next((k for k in range(most) if a.betas[k] != b.betas[k]), most)

    def schedule_map(self) -> isl.UnionMap:
        """Returns { S[i] -> [b0, e1, b1, ...] }, the place of each instance, with zeros where a vector is shorter than others."""
        longest = max((len(piece.betas) for piece in self.pieces.values()), default=1)
        found = isl.UnionMap("{ }")
        for piece in self.pieces.values():
            space = piece.instances.get_space()
            zero = isl.PwAff.val_on_domain(isl.Set.universe(space), isl.Val(0))
            betas = [zero.add_constant_val(isl.Val(beta)) for beta in piece.betas]
            values = [betas[0]]
            for level, beta in zip(piece.levels, betas[1:]):
                values += [level.value, beta]
            values += [zero] * (2 * longest - 1 - len(values))
            place = isl.Map.from_pw_aff(values[0])
            for value in values[1:]:
                place = place.flat_range_product(isl.Map.from_pw_aff(value))
            found = found.union(isl.UnionMap.from_map(place.intersect_domain(piece.instances)))
        return found

    def equals(self, other: Order) -> bool:
        """Returns whether both orders have the same pieces, with the same loops and positions for each: values are compared exactly, for
        all instances and sizes; names of loops are not.
        """
        return {*self.pieces} == {*other.pieces} and all(_agree(self.pieces[key], other.pieces[key]) for key in self.pieces)


def _agree(a: Piece, b: Piece) -> bool:
    same = a.instances.is_equal(b.instances) and a.betas == b.betas and len(a.levels) == len(b.levels)
    return same and all(
        x.is_tile == y.is_tile and x.words == y.words and equal_on(a.instances, x.value, y.value)
        for x, y in zip(a.levels, b.levels)
    )


def equal_on(instances: isl.Set, first: isl.PwAff, second: isl.PwAff) -> bool:
    """Returns whether two expressions { S[i] -> [(e)] } have the same value for all these instances { S[i] }."""
    return bool(instances.is_subset(first.eq_set(second)))


def order_of(tree: Node, scop: Scop) -> Order:
    """Returns the order that a schedule tree gives to the instances of a kernel."""
    domains = {name: statement.domain for name, statement in scop.statements.items()}
    found: dict[Key, Piece] = {}
    numbers = dict.fromkeys(domains, 0)
    for piece in _pieces(tree, domains, (), ()):
        key = piece.statement, numbers[piece.statement]
        numbers[piece.statement] += 1
        found[key] = Piece(piece.statement, key[1], piece.instances, piece.levels, piece.betas)
    return Order(found)


def _pieces(node: Node, domains: Mapping[str, isl.Set], levels: tuple[Level, ...], betas: Betas) -> Iterator[Piece]:
    """Yields the pieces that run below a node of a tree.

    domains: by statement, the instances that run below the node.
    levels, betas: the loops around the node, and the positions in blocks as far as the node; the last one is missing unless a block is around it.
    """
    if isinstance(node, Block):
        for number, part in enumerate(node.parts):
            names = [name for name in loop_tree.statements(part.body) if name in domains]
            inside = {name: domains[name].intersect(polyhedra.extract_set(part.instances, domains[name])) for name in names}
            inside = {name: domain for name, domain in inside.items() if not domain.is_empty()}
            yield from _pieces(part.body, inside, levels, (*betas, number))
        return
    at = betas if len(betas) > len(levels) else (*betas, 0)
    if isinstance(node, Leaf):
        for name in node.statements:
            if name in domains:
                yield Piece(name, 0, domains[name], levels, at)
        return
    yield from _loop_pieces(node, domains, levels, at)


def _loop_pieces(loop: Loop, domains: Mapping[str, isl.Set], levels: tuple[Level, ...], betas: Betas) -> Iterator[Piece]:
    """Yields the pieces inside a loop, of which each has its own value in the loop's level.

    domains, levels, betas: as for `_pieces`.
    """
    values = {value.domain().get_tuple_name(): value for value in loop_tree.pieces(loop.member)}
    words = tuple(word for word in loop.directives.words() if word != "tile")
    by_statement = {
        name: (*levels, Level(loop.name, values[name], loop.directives.tile, words))
        for name in loop_tree.statements(loop)
        if name in domains
    }
    for name, own in by_statement.items():
        yield from (piece for piece in _pieces(loop.body, {name: domains[name]}, own, betas) if piece.statement == name)
