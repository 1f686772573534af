"""The iterations of one loop are divided into phases, each of which waits for the phases before it alone.

    for k, i, j: P[i, j] = min(P[i, j], P[i, k] + P[k, j])

    within an iteration of k    i <= k and j <= k    P[i, k] and P[k, j] are as the iteration before left them     3k
                                i <= k < j           P[i, k] is made in this iteration, at j = k                   3k + 1
                                j <= k < i           P[k, j] is                                                    3k + 1
                                i > k and j > k      both are                                                      3k + 2

The last column is the new coordinate along k: each phase has its own. The phases are found from the dependences, for all sizes:
instances that wait for nothing within the iteration are the first phase, those that wait for these alone the next, and so on. All
instances of a phase that use a value can then use it at one time, so that wires bring it to all of them (`routing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Scop, Statement
from polyml.model.scop_passes.index_set_splitting import piece_names, split
from polyml.systolic.recurrences.embedding import Embedding, Flows, candidate_embeddings, overlap

MOST_PHASES = 6  # in an iteration
MOST_EMBEDDINGS = 4  # joint embeddings that are tried
OPERATIONS = 3_000_000  # isl operations to find the phases along one axis


@dataclass(frozen=True)
class PhasedStatements:
    """PhasedStatements are statements split into pieces, one for each phase: a part of an iteration of some loop that runs before
    the next part does.

    scop: the SCoP in which the pieces are statements.
    embeddings: the embedding of each piece.
    origins: by the name of a piece, that of the statement that it comes from.
    """

    scop: Scop
    embeddings: tuple[Embedding, ...]
    origins: dict[str, str]


def phased(scop: Scop, statements: Sequence[Statement], flows: Flows) -> Iterator[PhasedStatements]:
    """Yields ways to split statements that need each other's values into phases, the parts of an iteration of some loop that run
    one after another.

    Each way is for one embedding of all statements into an index space and one of its axes. The ways come embedding by embedding,
    and for each of them those with the fewest phases come first.
    """
    for embeddings in islice(candidate_embeddings(statements, flows), MOST_EMBEDDINGS):
        found = (_phases_along(embeddings, flows, axis) for axis in range(len(embeddings[0].rows)))
        for phases, axis in sorted(((p, axis) for axis, p in enumerate(found) if p), key=lambda each: len(each[0])):
            each = _split_into_phases(scop, embeddings, phases, axis)
            if not any(overlap(a, b) for a, b in combinations(each.embeddings, 2)):
                yield each


def _phases_along(embeddings: Sequence[Embedding], flows: Flows, axis: int) -> list[isl.UnionSet]:
    """Returns the phases of an iteration of an axis, each as the instances that belong to it: first those that use no value made in
    the same iteration, then those that use values of the first phase alone, and so on.

    Returns [] where there is no such division: a value is used in an earlier iteration of the axis than it is made in, or there are
    too many phases, or isl takes too long.
    """
    names = {embedding.statement.name for embedding in embeddings}
    made = [pairs for name in names for read in flows[name].values() for other, pairs in read.items() if other in names]
    try:
        with polyhedra.budget(OPERATIONS):
            return _wait_layers(
                embeddings, polyhedra.union([isl.UnionMap.from_map(pairs) for pairs in made], isl.UnionMap("{ }")), axis
            )
    except polyhedra.BudgetExceeded:
        return []


def _wait_layers(embeddings: Sequence[Embedding], pairs: isl.UnionMap, axis: int) -> list[isl.UnionSet]:
    """Returns the instances of an iteration of an axis in layers: first those that wait for nothing within the iteration, then
    those that wait for the first layer alone, and so on. Returns [] where a value is used in an earlier iteration of the axis than
    it is made in, or where there are too many layers.

    pairs: { S[i] -> T[j] : T[j] uses what S[i] made }.
    """
    names = [f"c{k}" for k in range(len(embeddings[0].rows))]
    at = isl.Map(f"{{ [{', '.join(names)}] -> [{names[axis]}] }}")
    iteration = polyhedra.union([isl.UnionMap.from_map(embedding.map.apply_range(at)) for embedding in embeddings])
    if not pairs.apply_domain(iteration).apply_range(iteration).is_disjoint(isl.UnionMap("{ [a] -> [b] : b < a }")):
        return []
    inside = pairs.intersect(iteration.apply_range(iteration.reverse()))
    rest = iteration.domain()
    found: list[isl.UnionSet] = []
    while not rest.is_empty():
        if len(found) == MOST_PHASES:
            return []
        waiting = inside.intersect_domain(rest).range().intersect(rest)
        found.append(rest.subtract(waiting).coalesce())
        rest = waiting.coalesce()
    return found


def _split_into_phases(scop: Scop, embeddings: Sequence[Embedding], phases: Sequence[isl.UnionSet], axis: int) -> PhasedStatements:
    """Returns the statements split by phase, with the phases of each iteration one after another along the axis.

    phases: the instances of each phase.
    """
    pieces: dict[str, list[isl.Set]] = {}
    turns: dict[str, list[int]] = {}
    for embedding in embeddings:
        name, domain = embedding.statement.name, embedding.statement.domain
        for turn, phase in enumerate(phases):
            here = domain.intersect(polyhedra.extract_set(phase, domain))
            if not here.is_empty():
                pieces.setdefault(name, []).append(here)
                turns.setdefault(name, []).append(turn)
    cut = {name: sets for name, sets in pieces.items() if len(sets) > 1}
    made = split(scop, cut)
    found, origins = [], {}
    for embedding in embeddings:
        name = embedding.statement.name
        for part, turn in zip(piece_names(name, cut[name]) if name in cut else (name,), turns[name]):
            found.append(replace(embedding, statement=made.statements[part]).strided(axis, len(phases), turn))
            origins[part] = name
    return PhasedStatements(made, tuple(found), origins)
