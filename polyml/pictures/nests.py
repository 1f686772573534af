"""What a picture of a nest shows, as values: instances, dependences between them, the order in which they run, and tiles.

{ S0[i, j] : 0 <= i, j < 3 }   ->   the points (0, 0), (0, 1), ..., in the order of the schedule
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl

from polyml import polyhedra
from polyml.model.core.dependence import Dependences
from polyml.model.core.printer import statement_text
from polyml.model.core.scop import Scop
from polyml.pictures.direct_dependences import direct_dependences
from polyml.polyhedra.points import Instance, points
from polyml.schedule.tree import loop_tree

MOST = 2_000  # instances of a picture
DOMAIN, DEPENDENCES, SCHEDULE, TILES = "domain", "dependences", "schedule", "tiles"
SUBJECTS = (DOMAIN, DEPENDENCES, SCHEDULE, TILES)


@dataclass(frozen=True)
class StatementPoints:
    """The instances of a statement as points.

    text: the statement with its subscripts.
    points: the values of the iterators, in lexicographic order.
    """

    name: str
    iterators: tuple[str, ...]
    text: str
    points: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Arrow:
    """An arrow is a dependence between two instances. kind: "flow", "anti" or "output"."""

    kind: str
    source: Instance
    sink: Instance


@dataclass(frozen=True)
class Tile:
    """A tile has the instances of a statement for which all loops over tiles have the same values.

    numbers: these values, outermost first.
    is_full: whether no tile of the statement has more instances.
    """

    statement: str
    numbers: tuple[int, ...]
    points: tuple[tuple[int, ...], ...]
    is_full: bool


@dataclass(frozen=True)
class NestPicture:
    """A NestPicture is what a picture of a kernel's instances shows, for some sizes.

    subject: one of SUBJECTS.
    sizes: {parameter: value}.
    arrows: where the subject is dependences.
    times: the place of each instance in the order, from 0 on, where the subject is the schedule or its tiles.
    tiles: where they are the subject.
    left_out: how many instances are not shown: the last ones in the order of the source.
    """

    kernel: str
    subject: str
    sizes: dict[str, int]
    statements: tuple[StatementPoints, ...]
    arrows: tuple[Arrow, ...] = ()
    times: Mapping[Instance, int] | None = None
    tiles: tuple[Tile, ...] = ()
    left_out: int = 0


def nest_picture(
    scop: Scop, dependences: Dependences, tree: isl.Schedule, subject: str, sizes: Mapping[str, int], most: int = MOST
) -> NestPicture:
    """Returns what a picture of a kernel shows.

    tree: the schedule of which the order and the tiles are shown.
    subject: one of SUBJECTS.
    sizes: a value for each parameter.
    most: how many instances are shown at most.
    """
    sizes = dict(sizes)
    in_source = _in_order(scop.schedule, scop.domain, sizes)
    shown = in_source[:most]
    kept = set(shown)
    by_name: dict[str, list[tuple[int, ...]]] = {name: [] for name in scop.statements}
    for name, point in shown:
        by_name[name].append(point)
    statements = tuple(
        StatementPoints(s.name, s.iterators, statement_text(s), tuple(sorted(by_name[s.name]))) for s in scop.statements.values()
    )
    found = NestPicture(scop.name, subject, sizes, statements, left_out=len(in_source) - len(shown))
    if subject == DEPENDENCES:
        return replace(found, arrows=tuple(_arrows(scop, dependences, sizes, kept)))
    if subject == DOMAIN:
        return found
    order = [each for each in _in_order(tree, scop.domain, sizes) if each in kept]
    times = {each: number for number, each in enumerate(order)}
    tiles = tuple(_tiles(loop_tree.read(tree, scop.statements), scop, sizes, kept)) if subject == TILES else ()
    return replace(found, times=times, tiles=tiles)


def _in_order(tree: isl.Schedule, domain: isl.UnionSet, sizes: Mapping[str, int]) -> list[Instance]:
    """Returns the instances in the order in which a schedule runs them."""
    pairs = points(tree.get_map().intersect_domain(domain), **sizes)
    return [instance for _, instance in sorted((time, instance) for instance, (_, time) in pairs)]


def _arrows(scop: Scop, dependences: Dependences, sizes: Mapping[str, int], kept: set[Instance]) -> Iterator[Arrow]:
    for kind, pairs in direct_dependences(scop, dependences).items():
        for source, sink in sorted(points(pairs, **sizes)):
            if source in kept and sink in kept:
                yield Arrow(kind, source, sink)


def _tiles(tree: loop_tree.Node, scop: Scop, sizes: Mapping[str, int], kept: set[Instance]) -> Iterator[Tile]:
    """Yields the tiles of each statement that has loops over tiles around it."""
    around: dict[str, list[loop_tree.Loop]] = {}
    for _, loop in loop_tree.loops(tree):
        if loop.directives.tile:
            for name in loop_tree.statements(loop):
                around.setdefault(name, []).append(loop)
    for name, loops in around.items():
        own = isl.UnionSet.from_set(scop.statements[name].domain)
        maps = (isl.UnionMap.from_union_pw_aff(loop.member).intersect_domain(own) for loop in loops)
        found: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for (_, point), (_, numbers) in points(reduce(isl.UnionMap.flat_range_product, maps), **sizes):
            if (name, point) in kept:
                found.setdefault(numbers, []).append(point)
        most = max(map(len, found.values()), default=0)
        for numbers in sorted(found):
            yield Tile(name, numbers, tuple(sorted(found[numbers])), len(found[numbers]) == most)


def parameters(scop: Scop) -> tuple[str, ...]:
    """Returns the names of the sizes on which the instances depend."""
    return tuple(polyhedra.parameter_names(scop.domain))
