"""The routes of values among the points of a nest: where each read gets what it uses.

A value goes from the instance that made it to the first one that uses it, and from each of these to the next, by steps that are
the same everywhere (Quinton and Van Dongen, "The mapping of linear recurrence equations on regular arrays", 1989):

    produced    { p -> q : q uses what p made }
    forwarded   { p -> q : both use one value }     q gets what a read of p had

    A[i, j] -= A[i, k] * A[k, j] at (k, i, j)      A[i, k] is produced at (k, i, k), and forwarded along j from (k, i, k + 1) on

Two instances use one value where one instance made it, or where it is one element that none of the nest made.

Where there are wires along rows and columns, a value also goes at once to all instances that differ only in loops on which the
access does not depend, wherever along these loops it is made:

    P[i, j] = min(P[i, j], P[i, k] + P[k, j]) at (k, i, j)      all j > k use the P[i, k] that is made at (k, i, k);
                                                                all j <= k use the one that iteration k - 1 made
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, islice, product

import islpy as isl

from polyml import polyhedra
from polyml.model.core.scop import Access, Scop
from polyml.model.counting.brascamp_lieb import kernel
from polyml.systolic.recurrences.embedding import Embedding, Flows
from polyml.systolic.recurrences.routing_refusals import no_schedule, not_uniform
from polyml.systolic.recurrences.spacetime import Vector
from polyml.systolic.recurrences.value_sources import RESULT, ReadKey, RoutedRead, ValueSource, shift

MOST_ROUTES = 8  # that are tried for one read
MOST_DISTANCES = 4  # between where one statement makes values and where wires bring them

Route = tuple[ValueSource, ...]  # the sources that together give one read all its values
Steps = frozenset[tuple[Vector, bool]]  # steps of values, and whether each goes along a wire, in no time


def read_of(
    scop: Scop, embeddings: Mapping[str, Embedding], flows: Flows, key: ReadKey, text: str, rows: Sequence[Vector]
) -> RoutedRead:
    """Returns a read of a nest's statement with the flow of its values.

    key: the statement's name and the number of the read.
    text: the access as the user writes it.
    rows: for each subscript, the coefficients of the statement's iterators.
    """
    name, number = key
    statement, embedding, flow = scop.statements[name], embeddings[name], flows[name][number]
    access = statement.reads[number]
    users = {other: pairs.apply_range(embedding.map) for other, pairs in flow.items()}
    produced = {other: pairs for other, pairs in users.items() if other in embeddings}
    every = polyhedra.union([*map(isl.UnionMap.from_map, users.values()), _elements(access, statement.domain, flow, embedding)])
    reuse_directions = [embedding.steps(vector) for vector in kernel(rows, len(statement.iterators))] if statement.iterators else []
    return RoutedRead(
        key=key,
        array=access.array,
        name=scop.arrays[access.array].source_name or access.array,
        text=text,
        loc=access.loc or statement.loc,
        flow={other: flow[other] for other in produced},
        produced=produced,
        users=every,
        reuse_directions=tuple(reuse_directions),
    )


def _elements(access: Access, domain: isl.Set, flow: Mapping[str, isl.Map], embedding: Embedding) -> isl.UnionMap:
    """Returns { element_A[e] -> p }: the elements e of the array A that no statement made before the access reads them, and the
    points of the index space whose instances read them by this access.

    flow: by statement, the flow dependences into the read.
    """
    there = domain
    for pairs in flow.values():
        there = there.subtract(pairs.range())
    elements = access.relation.intersect_domain(there).reverse().apply_range(embedding.map)
    return isl.UnionMap.from_map(polyhedra.rename_domain(elements, f"element_{access.array}"))


def routes(embeddings: Mapping[str, Embedding], reads: Mapping[ReadKey, RoutedRead], wired: bool = False) -> dict[ReadKey, Route]:
    """Returns a route for each read of values that the nest makes, by statement and number of the read. A route is the sources that
    together give a read all its values. The routes fit together: some linear function of the coordinates, the time, grows along all
    their steps.

    embeddings: by statement.
    reads: by statement and number of the read.
    wired: whether values may also go along wires, at whose ends the time is the same.
    Raises: IllegalSchedule, with the dependence, where there are no such routes.
    """
    produced = {key: _routes(read, reads, embeddings, wired) for key, read in reads.items() if read.produced}
    open_ = {key: (route for route in found if has_linear_schedule(_steps_of(route))) for key, found in produced.items()}
    first: dict[ReadKey, Route] = {}
    for key, found in open_.items():
        route = next(found, None)
        if route is None:
            raise not_uniform(reads[key], embeddings)
        first[key] = route
    if has_linear_schedule(frozenset().union(*map(_steps_of, first.values()))):
        return first
    options = {key: [first[key], *islice(found, MOST_ROUTES - 1)] for key, found in open_.items()}
    chosen = _compatible(sorted(options.items(), key=lambda item: len(item[1])), frozenset())
    if chosen is None:
        raise no_schedule(_contradiction(options), reads)
    return chosen


def _contradiction(options: Mapping[ReadKey, Sequence[Route]]) -> list[tuple[ReadKey, Sequence[Route]]]:
    """Returns the first entries (read, its routes) of `options`, up to the first read for which there is no route left: no choice
    of one route for each of these reads allows a common linear schedule.
    """
    known: list[tuple[ReadKey, Sequence[Route]]] = []
    for key, found in options.items():
        known.append((key, found))
        if _compatible(known, frozenset()) is None:
            break
    return known


def _steps_of(route: Route) -> Steps:
    """Returns the steps of a route that constrain a linear schedule, as pairs (step, whether it goes along a wire). Time has to
    grow along the step of each source, and to stay the same along its wire; sources that are `free` constrain nothing.
    """
    steps = (step for s in route if not s.free for step in ((s.vector, False), (s.line, True)))
    return frozenset((vector, at_once) for vector, at_once in steps if vector)


def forwarding(read: RoutedRead, other: RoutedRead, vector: Vector) -> isl.Map:
    """Returns { p -> p + vector : `other` at p uses the value that `read` uses at p + vector }."""
    step = shift(vector)
    return step.intersect_range(_arriving(other.users, read.users, step))


def _arriving(holders: isl.UnionMap, users: isl.UnionMap, step: isl.Map) -> isl.Set:
    """Returns the points q that use a value which lies one step away, at q - vector.

    holders: { value -> p }, the points p at which each value is.
    users: { value -> q }, the points q that use it.
    step: { p -> p + vector }.
    """
    found = polyhedra.pieces(holders.apply_range(isl.UnionMap.from_map(step)).intersect(users).range())
    return found[0].coalesce() if found else isl.Set.empty(step.range().get_space())


def _routes(
    read: RoutedRead, reads: Mapping[ReadKey, RoutedRead], embeddings: Mapping[str, Embedding], wired: bool
) -> Iterator[Route]:
    """Yields the routes of a read, those with the fewest steps first: each gives the sources of all its values.

    Where one source suffices for each statement that makes values, they come straight from there. Otherwise some also go on from
    read to read: along directions in which the access names the same element, or by a step between neighbours, from any read that
    has the value. With `wired`, they go along wires instead, which reach a whole row or column of PEs in one cycle.
    """
    targets = polyhedra.union([pairs.range() for pairs in read.produced.values()]).coalesce()
    alone = _along_wires(read, targets, embeddings) if wired else _from_producer(read, targets, embeddings)
    if alone is not None:
        yield alone
        return
    if wired:
        for direction in (direction for direction in read.reuse_directions if 1 in map(abs, direction)):
            produced = _along_wires(read, targets, embeddings, direction)
            if produced is not None:  # what comes from memory reaches all, too
                yield (*produced, ValueSource("forwarded", *read.key, direction, True, forwarding(read, read, direction)))
        return
    holders = _holders(read, reads, embeddings)
    along = []
    for steps in _senses(read.reuse_directions):
        found = [source for vector in steps for source in _steps(read, holders, vector)]
        if found:
            along.append((found, _without(targets, found)))
            produced = _from_producer(read, along[-1][1], embeddings)
            if produced is not None:
                yield (*found, *produced)
    for vector in _neighbours(embeddings):
        near = _steps(read, holders, vector)
        for found, rest in [([], targets), *along] if near else ():
            produced = None if vector in {s.vector for s in found} else _from_producer(read, _without(rest, near), embeddings)
            if produced is not None:
                more = (replace(source, pairs=source.pairs.intersect_range(rest)) for source in near)
                yield (*found, *(source for source in more if not source.pairs.is_empty()), *produced)


def _senses(reuse_directions: Sequence[Vector]) -> Iterator[tuple[Vector, ...]]:
    """Yields all ways to choose one or more of the directions and a sign for each: (1, 0) is chosen as (1, 0) or as (-1, 0)."""
    for number in range(1, len(reuse_directions) + 1):
        for chosen in combinations(reuse_directions, number):
            for signs in product((1, -1), repeat=number):
                yield tuple(tuple(sign * v for v in direction) for sign, direction in zip(signs, chosen))


def _neighbours(embeddings: Mapping[str, Embedding]) -> list[Vector]:
    """Returns the steps to nearby points of the index space, the shortest first. They go one point far along each axis; where
    statements are interleaved along it, as far as to the next point of the same statement.
    """
    dims = len(next(iter(embeddings.values())).rows)
    reach = [max(1, *(abs(c) for embedding in embeddings.values() for c in embedding.rows[k])) for k in range(dims)]
    every = product(*(range(end, -end - 1, -1) for end in reach))
    return sorted((v for v in every if any(v)), key=lambda v: sum(map(abs, v)))


def _from_producer(read: RoutedRead, targets: isl.Set, embeddings: Mapping[str, Embedding]) -> Route | None:
    """Returns sources that bring values to the points in `targets` straight from the instances that make them, one for each
    statement. Returns None where the values of some statement would come from different distances.
    """
    found = []
    for name, users in read.produced.items():
        pairs = users.intersect_range(targets).apply_domain(embeddings[name].map)
        if not pairs.is_empty():
            distance = polyhedra.only_point(pairs.deltas())
            if distance is None:
                return None
            found.append(ValueSource("produced", name, RESULT, distance, False, pairs))
    return tuple(found)


def _along_wires(read: RoutedRead, targets: isl.Set, embeddings: Mapping[str, Embedding], line: Vector = ()) -> Route | None:
    """Returns sources that bring values to the points in `targets` from where they are made: by links where there are few different
    distances, else along wires. Returns None where there are too many distances even for wires.

    line: the direction of the wires. A wire reaches all points along it at once, so distances that differ only along the line count
        as one; () allows no wires.
    """
    found = []
    for name, users in read.produced.items():
        pairs = users.intersect_range(targets).apply_domain(embeddings[name].map)
        if pairs.is_empty():
            continue
        few = polyhedra.few_points(pairs.deltas(), MOST_DISTANCES)
        wire = () if few else line
        if wire:
            few = polyhedra.few_points(polyhedra.modulo_line(pairs.deltas(), line), MOST_DISTANCES)
        if not few:
            return None
        for distance in few:
            led = pairs.intersect(_distance_relation(distance, wire))
            found.append(ValueSource("produced", name, RESULT, distance, False, led, wire))
    return tuple(found)


def _distance_relation(distance: Vector, line: Vector) -> isl.Map:
    """Returns { p -> p + distance + n * line : n any integer }; line () allows n = 0 alone."""
    here, there = ([f"{letter}{k}" for k in range(len(distance))] for letter in "pq")
    reuse_directions = line or (0,) * len(distance)
    steps = (f"{q} = {p} + {step} + {direction}*n" for p, q, step, direction in zip(here, there, distance, reuse_directions))
    return isl.Map(f"{{ [{', '.join(here)}] -> [{', '.join(there)}] : exists n : {' and '.join(steps)} }}")


@dataclass(frozen=True)
class _Holder:
    """A _Holder is something from which reads can get values, with the points of the index space at which it has them: another
    read, which hands them on, or a statement, which makes them.

    kind: "forwarded" for a read, "produced" for a statement.
    statement, read: the statement's name and the number of the read; RESULT for what the statement makes.
    values: { value -> p : the value is at the point p }.
    """

    kind: str
    statement: str
    read: int
    values: isl.UnionMap


def _holders(read: RoutedRead, reads: Mapping[ReadKey, RoutedRead], embeddings: Mapping[str, Embedding]) -> list[_Holder]:
    """Returns what may hand on to `read` the value that it needs: `read` itself at other points, the other reads of the same array,
    and the statements that make such values.
    """
    others = sorted(reads.values(), key=lambda other: (other.key != read.key, other.key[0] != read.key[0]))
    had = [_Holder("forwarded", *other.key, other.users) for other in others if other.array == read.array]
    return [*had, *(_Holder("produced", name, RESULT, isl.UnionMap.from_map(embeddings[name].map)) for name in read.produced)]


def _steps(read: RoutedRead, holders: Sequence[_Holder], vector: Vector) -> list[ValueSource]:
    """Returns sources that bring values to a read by the step `vector`, each from one of the holders (reads and statements that
    have values). For a point to which several holders could bring its value, the first of them counts.
    """
    step, found, known = shift(vector), [], None
    for holder in holders:
        there = _arriving(holder.values, read.users, step)
        there = there if known is None else there.subtract(known)
        if not there.is_empty():
            known = there if known is None else known.union(there)
            found.append(ValueSource(holder.kind, holder.statement, holder.read, vector, False, step.intersect_range(there)))
    return found


def _without(targets: isl.Set, sources: Sequence[ValueSource]) -> isl.Set:
    """Returns the points in `targets` to which none of the sources brings a value."""
    for source in sources:
        targets = targets.subtract(source.pairs.range())
    return targets


def _compatible(options: Sequence[tuple[ReadKey, Sequence[Route]]], steps: Steps) -> dict[ReadKey, Route] | None:
    """Returns one route for each read such that some linear schedule goes forward along all of their steps; None where there is no
    such choice.

    options: each read with its routes.
    steps: the steps of routes that have been chosen before.
    """
    if not options:
        return {}
    (key, alternatives), *others = options
    for route in alternatives:
        more = steps | _steps_of(route)
        found = _compatible(others, more) if has_linear_schedule(more) else None
        if found is not None:
            return {key: route, **found}
    return None


@lru_cache(maxsize=4096)
def has_linear_schedule(steps: Steps) -> bool:
    """Returns whether some linear function of the coordinates grows along all steps, and stays the same along those that go along
    wires.
    """
    dims = len(next((vector for vector, _ in steps), ()))
    names = [f"t{k}" for k in range(dims)]
    sums = ((" + ".join(f"{v}*{name}" for v, name in zip(vector, names)), at_once) for vector, at_once in steps)
    grows = (f"{sum_} = 0" if at_once else f"{sum_} >= 1" for sum_, at_once in sums)
    return not steps or not isl.BasicSet(f"{{ [{', '.join(names)}] : {' and '.join(grows)} }}").is_empty()
