"""Blocks of columns inside strips: a loop that some nests of a strip carry is shared by the nests that need its results or make
what it needs.

        S of the strip = Q @ K.T                               for b:
        for b: m, e, l of a block of columns           ->          S of the strip and the block = Q @ K.T[:, b]
        for b: O = O*c + e[:, b] @ V[b]                            m, e, l of the block;  O = O*c + e[:, b] @ V[b]

What is handed on then has memory for a strip and a block. (Loop fusion behind strip-mining, as in Lim and Lam's affine
partitions; blocked attention does it by hand.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Access, Scop, Statement
from polyml.schedule.analysis.contraction_roles import may_be_contraction
from polyml.schedule.analysis.strides import accesses, iterators_of
from polyml.schedule.strips.row_nests import RowNest, iterator_of
from polyml.schedule.tiling.contraction_axes import RowStrips


@dataclass(frozen=True)
class ColumnBlocks:
    """The nests of a strip that share a loop over blocks of columns, and those that run before and after it.

    inside: without the loops over blocks of their own.
    block: { S[i] -> [(b)] }, the block of each instance of theirs.
    columns: by statement, the iterator of which a block has some values, and how many.
    """

    scop: Scop
    before: tuple[RowNest, ...]
    inside: tuple[RowNest, ...]
    after: tuple[RowNest, ...]
    block: isl.UnionPwAff
    columns: Mapping[str, tuple[str, int]]

    def within(self, strips: RowStrips) -> RowStrips:
        """Returns the strips as what is inside a block sees them."""
        own = polyhedra.expressions(self.block)
        around = {f"{name}.{it}" for name, value in own.items() if (it := self._iterator(name, value))}
        return replace(strips, around=strips.around | around, block=self.block, columns=self.columns)

    def _iterator(self, name: str, value: isl.PwAff) -> str:
        return "" if name in self.columns else self.scop.statements[name].iterators[polyhedra.used_iterators(value)[0]]

    def share(self, array: str, sizes: Mapping[str, int]) -> float:
        """Returns how much of a row of an array lives in one block; 1 where other nests access it, or it does not move with blocks."""
        names = {name for nest in self.inside for name in nest.names}
        extents = [polyhedra.value_at(extent, sizes) for extent in self.scop.arrays[array].shape]
        found: set[tuple[int, int]] = set()
        for statement in self.scop.statements.values():
            for access in (a for a in accesses(statement) if a.array == array):
                if statement.name not in names:
                    return 1.0
                found.add(self._width(statement, access))
        dim, width = found.pop() if len(found) == 1 else (-1, 0)
        return min(1.0, width / max(1, extents[dim])) if width else 1.0

    def _width(self, statement: Statement, access: Access) -> tuple[int, int]:
        """Returns the dimension along which an access moves from block to block, and how many elements it moves; (-1, 0): none."""
        _, width = self.columns.get(statement.name, ("", 1))
        (position,) = polyhedra.used_iterators(polyhedra.expressions(self.block)[statement.name])
        steps = [(dim, piece[position]) for dim, pieces in enumerate(access.coefficients) for piece in pieces if piece[position]]
        return (steps[0][0], int(steps[0][1]) * width) if len(steps) == 1 and steps[0][1] > 0 else (-1, 0)


def column_blocks(nests: Sequence[RowNest], depth: int, scop: Scop, dependences: isl.UnionMap) -> ColumnBlocks | None:
    """Returns the nests of strips with a shared loop over blocks of columns; None where they share none, where no product is
    among them, or where none of them makes what the blocks need.

    depth: how many outermost loops all nests share. dependences: { S[i] -> T[j] }, all of them.
    """
    blocks = dict(_carried(nests, depth, scop))
    if not blocks:
        return None
    names = [name for nest in nests for name in nest.names]
    pairs = [
        pair for pair in polyhedra.pieces(dependences) if {polyhedra.domain_name(pair), polyhedra.range_name(pair)} <= {*names}
    ]
    waiting: list[str] = []
    while len(waiting) != len(names) - len(blocks):
        waiting = [name for name in names if name not in blocks]
        for name in reversed(waiting):
            found = _block_of(scop.statements[name].domain, name, pairs, blocks)
            if found is not None:
                blocks[name] = found
    return _divided(nests, depth, scop, blocks, pairs)


def _carried(nests: Sequence[RowNest], depth: int, scop: Scop) -> Iterator[tuple[str, isl.PwAff]]:
    """Yields (statement, expression) of the loop that a nest of several statements carries."""
    for nest in nests:
        names = nest.names
        for k in range(depth, len(nest.members)):
            if nest.coincident[k] or len(names) < 2:
                continue
            if all(iterator_of(nest.members[k], name, scop) for name in names):
                found = polyhedra.expressions(nest.members[k])
                yield from ((name, found[name]) for name in names)
            break


def _block_of(domain: isl.Set, name: str, pairs: Sequence[isl.Map], blocks: Mapping[str, isl.PwAff]) -> isl.PwAff | None:
    """Returns the block of each instance of a statement: the first one that needs it, or the last one whose results it needs."""
    for sinks in (True, False):
        own = (pair for pair in pairs if (polyhedra.domain_name(pair) if sinks else polyhedra.range_name(pair)) == name)
        reached = [found for pair in own if (found := _reached(pair, blocks, sinks)) is not None]
        if not reached:
            continue
        every = polyhedra.union(reached)
        extreme = polyhedra.extreme_value(every, domain, last=not sinks)
        if extreme is not None and polyhedra.used_iterators(extreme):
            return extreme
    return None


def _reached(pair: isl.Map, blocks: Mapping[str, isl.PwAff], sinks: bool) -> isl.Map | None:
    """Returns { S[i] -> [b] }, the blocks of the sinks of instances, or of their sources; None where these have no blocks."""
    other = polyhedra.range_name(pair) if sinks else polyhedra.domain_name(pair)
    if other not in blocks:
        return None
    return (pair if sinks else pair.reverse()).apply_range(isl.Map.from_pw_aff(blocks[other]))


def _divided(
    nests: Sequence[RowNest], depth: int, scop: Scop, blocks: Mapping[str, isl.PwAff], pairs: Sequence[isl.Map]
) -> ColumnBlocks | None:
    """Returns the nests by whether they run in blocks, before or after them; None where that is not possible or does not pay.

    blocks: the block of each instance, by statement. pairs: the dependences between two statements each.
    """
    edges = {(polyhedra.domain_name(pair), polyhedra.range_name(pair)) for pair in pairs}
    inside: list[RowNest] = []
    sides: tuple[list[RowNest], list[RowNest]] = [], []
    for nest in nests:
        mine = [name for name in nest.names if name in blocks]
        if len(mine) == len(nest.names):
            own = _without(nest, depth, blocks)
            if own is None:
                return None
            inside.append(own)
        elif mine:
            return None
        else:
            behind = any((name, other) in edges for name in blocks for other in nest.names)
            if behind and any((other, name) in edges for name in blocks for other in nest.names):
                return None
            sides[behind].append(nest)
    names = [name for nest in inside for name in nest.names]
    columns = {name: found for name in names if (found := _column(blocks[name], scop.statements[name].iterators)) is not None}
    if not columns or not any(may_be_contraction(scop.statements[name]) for name in names):
        return None
    every = isl.UnionPwAff.from_pw_aff(blocks[names[0]])
    for name in names[1:]:
        every = every.union_add(isl.UnionPwAff.from_pw_aff(blocks[name]))
    return ColumnBlocks(scop, tuple(sides[0]), tuple(inside), tuple(sides[1]), every, columns)


def _without(nest: RowNest, depth: int, blocks: Mapping[str, isl.PwAff]) -> RowNest | None:
    """Returns the nest without the loop over blocks; itself where it has none, and None where this is not one of its loops."""
    for k in range(depth, len(nest.members)):
        if all(_is_along(nest.members[k], name, blocks[name]) for name in nest.names):
            members, flags = nest.members, nest.coincident
            return replace(nest, members=(*members[:k], *members[k + 1 :]), coincident=(*flags[:k], *flags[k + 1 :]))
    return nest if all(polyhedra.divisors_of(blocks[name]) for name in nest.names) else None


def _is_along(member: isl.UnionPwAff, name: str, block: isl.PwAff) -> bool:
    """Returns whether a loop of a statement counts its blocks: both are one and the same iterator."""
    along = iterators_of(member, name)
    return not polyhedra.divisors_of(block) and along == [*polyhedra.used_iterators(block)]


def _column(block: isl.PwAff, iterators: Sequence[str]) -> tuple[str, int] | None:
    """Returns the iterator j and the number d of a block j // d; None for any other expression."""
    used, divisors = polyhedra.used_iterators(block), polyhedra.divisors_of(block)
    return (iterators[used[0]], divisors[0]) if len(used) == 1 and len(divisors) == 1 else None
