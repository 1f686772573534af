"""Phases: the iterations of one loop in parts, each of which waits for the parts before it alone.

    for k, i, j: P[i, j] = min(P[i, j], P[i, k] + P[k, j])

    within an iteration of k    i <= k and j <= k    P[i, k] and P[k, j] are as the iteration before left them     3k
                                i <= k < j           P[i, k] is made in this iteration, at j = k                   3k + 1
                                j <= k < i           P[k, j] is                                                    3k + 1
                                i > k and j > k      both are                                                      3k + 2

What is waited for within an iteration is found layer by layer from the dependences, for all sizes. A read that has its values
from both sides of where they are made has them at one time then, and wires bring them (`routing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Scop, Statement
from polyml.model.scop_passes.index_set_splitting import piece_names, split
from polyml.systolic.recurrences.embedding import Flows, Place, share, together

MOST_PHASES = 6
MOST_ARRANGEMENTS = 4  # of the statements that are tried
OPERATIONS = 3_000_000  # of isl, for the phases along one axis


@dataclass(frozen=True)
class Parted:
    """scop: with the parts for statements. places: of all parts. origins: by part, its statement."""

    scop: Scop
    places: tuple[Place, ...]
    origins: dict[str, str]


def parted(scop: Scop, statements: Sequence[Statement], flows: Flows) -> Iterator[Parted]:
    """Ways to run statements that need each other's values phase by phase; those of the fewest phases of an arrangement first."""
    for places in islice(together(statements, flows), MOST_ARRANGEMENTS):
        found = (_along(places, flows, axis) for axis in range(len(places[0].rows)))
        for phases, axis in sorted(((p, axis) for axis, p in enumerate(found) if p), key=lambda each: len(each[0])):
            each = _in_parts(scop, places, phases, axis)
            if not any(share(a, b) for a, b in combinations(each.places, 2)):
                yield each


def _along(places: Sequence[Place], flows: Flows, axis: int) -> list[isl.UnionSet]:
    """The instances by phase within an iteration of an axis; [] where values go back along it or wait without end."""
    names = {place.statement.name for place in places}
    made = [pairs for name in names for read in flows[name].values() for other, pairs in read.items() if other in names]
    try:
        with polyhedra.budget(OPERATIONS):
            return _layers(places, polyhedra.union([isl.UnionMap.from_map(pairs) for pairs in made], isl.UnionMap("{ }")), axis)
    except polyhedra.BudgetExceeded:
        return []


def _layers(places: Sequence[Place], pairs: isl.UnionMap, axis: int) -> list[isl.UnionSet]:
    names = [f"c{k}" for k in range(len(places[0].rows))]
    at = isl.Map(f"{{ [{', '.join(names)}] -> [{names[axis]}] }}")
    iteration = polyhedra.union([isl.UnionMap.from_map(place.map.apply_range(at)) for place in places])
    if not pairs.apply_domain(iteration).apply_range(iteration).is_disjoint(isl.UnionMap("{ [a] -> [b] : b < a }")):
        return []
    inside = pairs.intersect(iteration.apply_range(iteration.reverse()))
    rest, found = iteration.domain(), []
    while not rest.is_empty():
        if len(found) == MOST_PHASES:
            return []
        waiting = inside.intersect_domain(rest).range().intersect(rest)
        found.append(rest.subtract(waiting).coalesce())
        rest = waiting.coalesce()
    return found


def _in_parts(scop: Scop, places: Sequence[Place], phases: Sequence[isl.UnionSet], axis: int) -> Parted:
    pieces: dict[str, list[isl.Set]] = {}
    turns: dict[str, list[int]] = {}
    for place in places:
        name, domain = place.statement.name, place.statement.domain
        for turn, phase in enumerate(phases):
            here = domain.intersect(polyhedra.extract_set(phase, domain))
            if not here.is_empty():
                pieces.setdefault(name, []).append(here)
                turns.setdefault(name, []).append(turn)
    cut = {name: sets for name, sets in pieces.items() if len(sets) > 1}
    made = split(scop, cut)
    found, origins = [], {}
    for place in places:
        name = place.statement.name
        for part, turn in zip(piece_names(name, cut[name]) if name in cut else (name,), turns[name]):
            found.append(replace(place, statement=made.statements[part]).spread(axis, len(phases), turn))
            origins[part] = name
    return Parted(made, tuple(found), origins)
