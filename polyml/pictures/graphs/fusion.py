"""Which nests of the source a schedule has fused, and what they hand on to one another, as values.

Nests are what stands side by side in the loops that all statements of the source have in common. They are fused where they share more loops than
in the source.

for i: t[i] = A[i]
for i: B[i] = t[i]     ->    nest 0 hands 8*n bytes of t on to nest 1; both are in one group where the schedule has fused them
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import NONE, Dependences
from polyml.model.core.scop import Access, Scop, Statement
from polyml.model.counting.cardinality import CannotCount, count
from polyml.pictures.sizes_text import source_sizes
from polyml.schedule.analysis.strides import accesses
from polyml.schedule.tree import loop_tree

_STEPS = 2_000  # sums that are made for one number of elements at most


@dataclass(frozen=True)
class NestPart:
    """A part of a nest is what a group of the schedule has of it: all, unless the schedule distributes the nest.

    nest: its number in the source.
    group: the number of the group in the schedule.
    lines: the first and the last line of the source that its statements are from; (0, 0) where they are not known.
    moved_bytes: what it moves at least if it runs alone: each element once, and each one that is written once more; None: not counted.
    instances: { S[i] }.
    """

    nest: int
    group: int
    statements: tuple[str, ...]
    lines: tuple[int, int]
    moved_bytes: int | None
    instances: isl.UnionSet = field(repr=False, compare=False)


@dataclass(frozen=True)
class HandedOn:
    """Elements of an array that one part writes last before another one reads them.

    source, sink: the numbers of the parts.
    size_bytes: None where they cannot be counted.
    """

    array: str
    source: int
    sink: int
    size_bytes: int | None


@dataclass(frozen=True)
class FusionGraph:
    """A fusion graph is what the nests of a kernel hand on to one another, and which of them a schedule has fused.

    nests: how many the source has.
    parts: in the order of the schedule's groups.
    moved_bytes: by group, what its parts move together; None: not counted.
    """

    kernel: str
    sizes: Mapping[str, int]
    nests: int
    parts: tuple[NestPart, ...]
    moved_bytes: tuple[int | None, ...]
    edges: tuple[HandedOn, ...]

    def group(self, number: int) -> list[int]:
        """Returns the numbers of the parts of a group."""
        return [place for place, each in enumerate(self.parts) if each.group == number]


def fusion_graph(scop: Scop, dependences: Dependences, tree: isl.Schedule, sizes: Mapping[str, int]) -> FusionGraph:
    """Returns the fusion graph of a schedule. sizes: a value for each parameter."""
    shared, nests = _source_nests(loop_tree.read(scop.schedule, scop.statements))
    groups = [*_groups(loop_tree.read(tree, scop.statements), shared, scop.domain)]
    parts = []
    for number, (names, instances) in enumerate(groups):
        for nest, members in enumerate(nests):
            own = tuple(name for name in names if name in members)
            if own:
                inside = instances.intersect(_domain(scop, own))
                parts.append(NestPart(nest, number, own, _lines(scop, own), _moved(scop, inside, sizes), inside))
    moved = tuple(_moved(scop, instances, sizes) for _, instances in groups)
    return FusionGraph(
        scop.name, source_sizes(scop, sizes), len(nests), tuple(parts), moved, tuple(_edges(scop, dependences, parts, sizes))
    )


def _source_nests(node: loop_tree.Node) -> tuple[int, list[list[str]]]:
    """Returns how many loops all statements have in common, and the statements of each nest inside these."""
    shared = 0
    while isinstance(node, loop_tree.Loop):
        node, shared = node.body, shared + 1
    if isinstance(node, loop_tree.Block):
        return shared, [[*dict.fromkeys(loop_tree.statements(part.body))] for part in node.parts]
    return shared, [[*dict.fromkeys(loop_tree.statements(node))]]


def _groups(node: loop_tree.Node, shared: int, instances: isl.UnionSet) -> Iterator[tuple[list[str], isl.UnionSet]]:
    """Yields the statements and instances of each part of a schedule whose loops no other part has, but for `shared` outermost ones."""
    if isinstance(node, loop_tree.Block):
        for part in node.parts:
            yield from _groups(part.body, shared, instances.intersect(part.instances))
    elif isinstance(node, loop_tree.Loop) and shared:
        yield from _groups(node.body, shared - 1, instances)
    else:
        yield [*dict.fromkeys(loop_tree.statements(node))], instances


def _lines(scop: Scop, names: tuple[str, ...]) -> tuple[int, int]:
    known = [loc.line for name in names if (loc := scop.statements[name].loc) is not None]
    return (min(known), max(known)) if known else (0, 0)


def _moved(scop: Scop, instances: isl.UnionSet, sizes: Mapping[str, int]) -> int | None:
    """Returns the bytes that instances move at least: each element that they access once, and each one that they write once more."""
    every, written = (
        [isl.UnionMap.from_map(a.relation) for s in scop.statements.values() for a in own(s)] for own in (accesses, _write)
    )
    sums = [_bytes(scop, instances.apply(polyhedra.union(maps, NONE)), sizes) for maps in (every, written)]
    known = [each for each in sums if each is not None]
    return sum(known) if len(known) == len(sums) else None


def _write(statement: Statement) -> tuple[Access, ...]:
    return (statement.write,)


def _edges(scop: Scop, dependences: Dependences, parts: list[NestPart], sizes: Mapping[str, int]) -> Iterator[HandedOn]:
    """Yields what each part hands on to each other one, by array: elements that the one writes and the other reads."""
    written = polyhedra.union([isl.UnionMap.from_map(each.write.relation) for each in scop.statements.values()], NONE)
    for source, writer in enumerate(parts):
        for sink, reader in enumerate(parts):
            if source == sink:
                continue
            pairs = dependences.value_flow.intersect_domain(writer.instances).intersect_range(reader.instances)
            if pairs.is_empty():
                continue
            elements = pairs.domain().apply(written)
            for piece in sorted(polyhedra.pieces(elements), key=lambda each: each.get_tuple_name()):
                size = _bytes(scop, isl.UnionSet.from_set(piece), sizes)
                if size != 0:
                    yield HandedOn(piece.get_tuple_name(), source, sink, size)


def _domain(scop: Scop, names: tuple[str, ...]) -> isl.UnionSet:
    return polyhedra.union([isl.UnionSet.from_set(scop.statements[name].domain) for name in names], NONE.domain())


def _bytes(scop: Scop, elements: isl.UnionSet, sizes: Mapping[str, int]) -> int | None:
    """Returns how many bytes elements { A[i] } have, each counted once; None where they are not counted in time."""
    total = 0
    for piece in polyhedra.pieces(elements):
        fixed = polyhedra.without_sizes(polyhedra.fix(piece, sizes)).coalesce()
        if fixed.is_empty():
            continue
        try:
            total += count(fixed, steps=_STEPS).evaluate({}) * scop.arrays[piece.get_tuple_name()].element.size_bytes
        except CannotCount:
            return None
    return total
