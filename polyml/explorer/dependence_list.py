"""Dependences one by one: a line for each pair of references, with the array, the lines of the source, and the distance.

A[i] = A[i - 1] + A[i + 1]   ->   flow S0: A[i] to A[i - 1] at (1); anti S0: A[i + 1] to A[i] at (1)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences
from polyml.model.core.printer import access_text
from polyml.model.core.scop import Access, Scop, Statement
from polyml.pictures.direct_dependences import direct_dependences
from polyml.schedule.tree import loop_tree


@dataclass(frozen=True)
class DependenceLine:
    """A line is the direct dependences between two references: no other write to the element lies between.

    kind: "flow", "anti" or "output".
    source, sink: names of statements.
    source_access, sink_access: their references.
    pairs: { S[i] -> T[j] }.
    distance: for each loop around both statements in the source, the difference between sink and source: a number, "+", "-", or "*"
        where both signs are possible, as in Allen and Kennedy's direction vectors.
    loops: these loops, outermost first.
    """

    kind: str
    source: str
    sink: str
    source_access: Access
    sink_access: Access
    pairs: isl.UnionMap
    distance: tuple[str, ...]
    loops: tuple[str, ...]

    @property
    def array(self) -> str:
        return self.source_access.array

    @property
    def text(self) -> str:
        """Returns the line as text: S0 C[i, j] -> S1 C[i, j]."""
        return f"{self.source} {access_text(self.source_access)} → {self.sink} {access_text(self.sink_access)}"


def dependence_lines(scop: Scop, dependences: Dependences) -> list[DependenceLine]:
    """Returns a line for each pair of references that a direct dependence is between."""
    around = loops_around(scop)
    found = []
    for kind, pairs in direct_dependences(scop, dependences).items():
        for (source, first), (sink, second) in _references(scop, kind):
            if first.array != second.array:
                continue
            same = isl.UnionMap.from_map(_within(source, first).apply_range(_within(sink, second).reverse())).intersect(pairs)
            if not same.is_empty():
                common = _common(around[source.name], around[sink.name])
                names = tuple(loop.name for loop in common)
                found.append(DependenceLine(kind, source.name, sink.name, first, second, same, _distance(same, len(common)), names))
    return found


def loops_around(scop: Scop) -> Mapping[str, list[loop_tree.Loop]]:
    """Returns the loops of the source's order around each statement, outermost first."""
    found: dict[str, list[loop_tree.Loop]] = {name: [] for name in scop.statements}
    for _, loop in loop_tree.loops(loop_tree.read(scop.schedule, scop.statements)):
        for name in loop_tree.statements(loop):
            found[name].append(loop)
    return found


def _references(scop: Scop, kind: str) -> Iterator[tuple[tuple[Statement, Access], tuple[Statement, Access]]]:
    """Yields the pairs of references that a dependence of this kind may be between."""
    statements = scop.statements.values()
    writes = [(s, s.write) for s in statements]
    reads = [(s, access) for s in statements for access in s.reads]
    for source in reads if kind == "anti" else writes:
        for sink in reads if kind == "flow" else writes:
            yield source, sink


def _within(statement: Statement, access: Access) -> isl.Map:
    return access.relation.intersect_domain(statement.domain)


def _common(first: list[loop_tree.Loop], second: list[loop_tree.Loop]) -> list[loop_tree.Loop]:
    return [one for one, other in zip(first, second) if one is other]


def _distance(pairs: isl.UnionMap, loops: int) -> tuple[str, ...]:
    """Returns the distance of pairs { S[i] -> T[j] } in the first iterators, one text for each."""
    found: list[str] = []
    for dim in range(loops):
        ranges = [polyhedra.difference_range(each, dim) for each in polyhedra.pieces(pairs)]
        low = None if any(r[0] is None for r in ranges) else min(r[0] for r in ranges if r[0] is not None)
        high = None if any(r[1] is None for r in ranges) else max(r[1] for r in ranges if r[1] is not None)
        found.append(_sign(low, high))
    return tuple(found)


def _sign(low: int | None, high: int | None) -> str:
    if low is not None and low == high:
        return str(low)
    if low is not None and low > 0:
        return "+"
    return "-" if high is not None and high < 0 else "*"
