"""The loops of the source as a SCoP has them: where each stands, and which iterator of which statement it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Scop, Statement
from polyml.remarks.values import Place
from polyml.schedule.script import transforms
from polyml.schedule.tree import loop_tree
from polyml.schedule.tree.bands import together
from polyml.source import Loc, whole_file


@dataclass(frozen=True)
class SourceLoop:
    """A loop of the source.

    name: by which schedule scripts call it.
    loc: its place in the source; None where it is not known.
    path: the way to it in the tree of the source's order.
    positions: {statement in it: the position of the loop's iterator in the statement's}.
    member: { S[i] -> [(e)] }, the value that ascends as the loop runs.
    around: the same of the loops around it, outermost first.
    """

    name: str
    iterator: str
    loc: Loc | None
    path: loop_tree.Path
    positions: Mapping[str, int]
    member: isl.UnionPwAff
    around: tuple[isl.UnionPwAff, ...]

    @property
    def depth(self) -> int:
        return len(self.around)

    @property
    def statements(self) -> tuple[str, ...]:
        return tuple(self.positions)

    @property
    def place(self) -> Place | None:
        return place_of(self.loc)

    @property
    def written(self) -> str:
        """Returns the loop's line of the source, without its indentation; "" where the place is not known."""
        return written_at(self.loc)

    def within(self, pairs: isl.UnionMap) -> isl.UnionMap:
        """Returns those of the pairs { S[i] -> T[j] } that are both in the loop, in one iteration of the loops around it."""
        domain = _universe(self.member)
        inside = pairs.intersect_domain(domain).intersect_range(domain)
        if self.around:
            names = tuple(polyhedra.expressions(self.member))
            prefix = [loop_tree.on(member, names) for member in self.around]
            inside = inside.eq_at_multi_union_pw_aff(together(prefix))
        return inside

    def carried(self, pairs: isl.UnionMap) -> isl.UnionMap:
        """Returns those of the pairs that the loop carries: of one iteration of the loops around it, in different ones of its own."""
        inside = self.within(pairs)
        return inside.subtract(inside.eq_at_multi_union_pw_aff(together([self.member])))


def among(pairs: isl.UnionMap, names: Sequence[str]) -> isl.UnionMap:
    """Returns those of the pairs { S[i] -> T[j] } of which S and T are among these statements."""
    kept = [
        isl.UnionMap.from_map(p) for p in polyhedra.pieces(pairs) if {polyhedra.domain_name(p), polyhedra.range_name(p)} <= {*names}
    ]
    return polyhedra.union(kept, isl.UnionMap("{ }"))


def place_of(loc: Loc | None) -> Place | None:
    """Returns a location as a place; None for none."""
    return None if loc is None else Place(whole_file(loc.source.file), loc.line, loc.column)


def written_at(loc: Loc | None) -> str:
    """Returns the line of the source at a location, without its indentation; "" for no location."""
    return "" if loc is None else loc.source.line(loc.line).strip()


def source_loops(scop: Scop) -> tuple[SourceLoop, ...]:
    """Returns the loops of the source, outer loops first, in the order of the source."""
    tree = loop_tree.read(scop.schedule, scop.statements)
    named = zip(transforms.addresses(tree), loop_tree.loops(tree))
    above: dict[loop_tree.Path, loop_tree.Loop] = dict(loop_tree.loops(tree))
    found = []
    for name, (path, loop) in named:
        around = tuple(above[path[:k]].member for k in range(len(path)) if path[:k] in above)
        found.append(_source_loop(scop, name, path, loop, around))
    return tuple(sorted(found, key=lambda each: each.path))


def _source_loop(
    scop: Scop, name: str, path: loop_tree.Path, loop: loop_tree.Loop, around: tuple[isl.UnionPwAff, ...]
) -> SourceLoop:
    expressions = polyhedra.expressions(loop.member)
    positions = {
        each: counted
        for each in loop_tree.statements(loop)
        if (counted := _position(scop.statements[each], expressions[each], len(around))) is not None
    }
    first = scop.statements[loop_tree.statements(loop)[0]]
    position = positions.get(first.name, 0)
    loc = first.loops[position] if position < len(first.loops) else None
    iterator = first.iterators[position] if first.iterators else loop.name
    return SourceLoop(name, iterator, loc, path, positions, loop.member, around)


def _position(statement: Statement, value: isl.PwAff, depth: int) -> int | None:
    """Returns the position of the iterator that a loop of the source counts; None where it counts none, as in a loop of one iteration.

    value: { S[i, j] -> [(e)] } of the loop. depth: how many loops are around it.
    """
    used = polyhedra.used_iterators(value)
    if len(used) == 1:
        return used[0]
    return depth if depth < len(statement.iterators) else None


def _universe(member: isl.UnionPwAff) -> isl.UnionSet:
    sets = (isl.Set.universe(piece.domain().get_space()) for piece in loop_tree.pieces(member))
    return reduce(isl.UnionSet.union, map(isl.UnionSet.from_set, sets))
