"""Pictures of nests as values, from sets and relations.

{ S0[i, j] : 0 <= i, j < 3 }   ->   the points (0, 0), (0, 1), ..., in the order of the schedule
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from itertools import chain

import islpy as isl

from polyml import polyhedra
from polyml.model.core.printer import access_text, parameter_text, statement_text
from polyml.model.core.scop import Scop
from polyml.model.references.direct import KINDS, DirectDependences
from polyml.pictures.nest_groups import parallel_at, phases, threads
from polyml.pictures.nest_tiles import tiles_of
from polyml.pictures.nest_values import (
    DEPENDENCES,
    DOMAIN,
    STEP,
    THREADS,
    TILES,
    WAVEFRONTS,
    Arrow,
    NestPicture,
    StatementPoints,
)
from polyml.polyhedra.points import Instance, points
from polyml.schedule.replay.nests import Order, order_of
from polyml.schedule.tree import loop_tree
from polyml.values import cached_property

MOST = 2_000  # instances of a picture
MOST_ARROWS = 10_000

_ISL_OPERATIONS = 4_000_000


@dataclass(frozen=True)
class Nest:
    """A nest is a kernel for some sizes, of which pictures are made.

    validity: { S[i] -> T[j] }, the dependences that an order has to keep.
    sizes: a value for each parameter.
    """

    scop: Scop
    validity: isl.UnionMap
    sizes: Mapping[str, int]

    @cached_property
    def direct(self) -> dict[str, set[tuple[Instance, Instance]]]:
        """The direct dependences by kind, as pairs of source and sink."""
        return {kind: points(pairs, **self.sizes) for kind, pairs in self._pairs.items()}

    @cached_property
    def to_be_kept(self) -> dict[str, set[tuple[Instance, Instance]]]:
        """The direct dependences without those among updates of reductions, whose order is free."""
        return {kind: points(pairs.intersect(self.validity), **self.sizes) for kind, pairs in self._pairs.items()}

    @cached_property
    def _pairs(self) -> dict[str, isl.UnionMap]:
        try:
            with polyhedra.budget(_ISL_OPERATIONS):  # for all sizes: what takes less time where subscripts are simple
                found = DirectDependences(self.scop, access_text)
                return {kind: found.pairs(kind) for kind in KINDS}
        except polyhedra.BudgetExceeded:
            found = DirectDependences(self.scop, access_text, self.sizes)
            return {kind: found.pairs(kind) for kind in KINDS}

    @cached_property
    def shared(self) -> dict[tuple[str, str], int]:
        """How many loops of the source each pair of statements shares."""
        source = order_of(loop_tree.read(self.scop.schedule, self.scop.statements), self.scop)
        return {(a, b): source.shared((a, 0), (b, 0)) for a in self.scop.statements for b in self.scop.statements}

    @cached_property
    def instances(self) -> list[Instance]:
        """All instances, in the order of the source."""
        return [instance for _, instance in sorted((time, instance) for instance, time in self.times(self.scop.schedule.get_map()))]

    def times(self, order: isl.UnionMap) -> Iterator[tuple[Instance, tuple[int, ...]]]:
        """Yields each instance with its time in an order { S[i] -> [t] }."""
        for instance, (_, time) in points(order.intersect_domain(self.scop.domain), **self.sizes):
            yield instance, time


def nest_picture(nest: Nest, order: Order, subject: str, most: int = MOST, most_arrows: int = MOST_ARROWS) -> NestPicture:
    """Returns what a picture of a kernel shows.

    order: of which the times, the tiles and the loops for threads are shown.
    subject: one of `nest_values.SUBJECTS`.
    most: how many instances are shown at most: of a picture of dependences the first ones, of others those of every n-th iteration.
    most_arrows: how many dependences are shown at most: as many of the first instances as have no more between them.
    """
    found = _with_points(nest, subject, most if subject != DEPENDENCES else min(most, _with_few_arrows(nest, most_arrows)))
    kept = {(each.name, point) for each in found.statements for point in each.points}
    if subject == DEPENDENCES:
        return replace(found, arrows=tuple(_arrows(nest.direct, kept)), shared=nest.shared)
    if subject == DOMAIN:
        return found
    times = dict(nest.times(order.schedule_map()))
    in_order = sorted(kept, key=lambda each: (times[each], each))
    found = replace(found, times={each: number for number, each in enumerate(in_order)})
    if subject in (THREADS, WAVEFRONTS):
        groups = threads(order, nest.sizes) if subject == THREADS else phases(order, nest.sizes, times)
        loops = [piece.levels[at].name for piece in order.pieces.values() if (at := parallel_at(piece)) is not None]
        groups = {each: groups[each] for each in in_order if each in groups}
        return replace(found, groups=groups, parallel=tuple(dict.fromkeys(loops)))
    if subject in (TILES, STEP):
        found = replace(found, tiles=tuple(tiles_of(order, nest.sizes, kept)))
    if subject == STEP:
        broken = {kind: {each for each in pairs if times[each[0]] >= times[each[1]]} for kind, pairs in nest.to_be_kept.items()}
        return replace(found, arrows=tuple(_arrows(broken, kept, is_broken=True)), shared=nest.shared)
    return found


def _with_few_arrows(nest: Nest, most: int) -> int:
    """Returns how many of the first instances in the source's order have at most so many direct dependences between them."""
    ends = Counter(sink for pairs in nest.direct.values() for _, sink in pairs)
    total = 0
    for number, instance in enumerate(nest.instances):
        total += ends[instance]
        if total > most:
            return number
    return len(nest.instances)


def _arrows(pairs: Mapping[str, Set[tuple[Instance, Instance]]], kept: Set[Instance], is_broken: bool = False) -> Iterator[Arrow]:
    """Yields arrows between instances that are drawn, by kind, source and sink. pairs: by kind. kept: the instances that are drawn."""
    for kind, own in pairs.items():
        for source, sink in sorted(each for each in own if each[0] in kept and each[1] in kept):
            yield Arrow(kind, source, sink, is_broken)


def _with_points(nest: Nest, subject: str, most: int) -> NestPicture:
    """Returns the picture of a nest with its points alone. subject, most: as for `nest_picture`."""
    scop, everything = nest.scop, nest.instances
    stride, shown = 1, everything[:most] if subject == DEPENDENCES else everything
    lows = _lows(everything)
    while len(shown) > most:
        stride += 1
        shown = [each for each in everything if all((value - low) % stride == 0 for value, low in zip(each[1], lows[each[0]]))]
    by_name: dict[str, list[tuple[int, ...]]] = {name: [] for name in scop.statements}
    for name, point in shown:
        by_name[name].append(point)
    statements = tuple(
        StatementPoints(s.name, s.iterators, statement_text(s), tuple(sorted(by_name[s.name])), stride)
        for s in scop.statements.values()
    )
    meanings = tuple(parameter_text(p) for p in scop.parameters if p.array is not None and p.name in nest.sizes)
    left_out = len(everything) - len(shown)
    return NestPicture(scop.name, subject, dict(nest.sizes), statements, left_out=left_out, meanings=meanings)


def _lows(instances: list[Instance]) -> dict[str, tuple[int, ...]]:
    """Returns by statement the least value of each iterator."""
    found: dict[str, tuple[int, ...]] = {}
    for name, point in instances:
        found[name] = tuple(map(min, found[name], point)) if name in found else point
    return found


def parameters(scop: Scop) -> tuple[str, ...]:
    """Returns the names of the sizes on which the instances depend, and of those on which the elements that they touch do, such as A_0
    of `A[-1]`.
    """
    touched = (polyhedra.used_parameters(access.relation) for s in scop.statements.values() for access in (s.write, *s.reads))
    return tuple(dict.fromkeys(chain(polyhedra.parameter_names(scop.domain), *touched)))
