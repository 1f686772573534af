"""The ways of values among the points of a nest: where each read gets what it uses.

A value goes from the instance that made it to the first one that uses it, and from each of these to the next, by steps that are
the same everywhere (Quinton and Van Dongen, "The mapping of linear recurrence equations on regular arrays", 1989):

    made   { p -> q : q uses what p made }
    hop    { p -> q : both use one value }     q gets what a read of p had

    A[i, j] -= A[i, k] * A[k, j] at (k, i, j)      A[i, k] is made at (k, i, k), and hops along j from (k, i, k + 1) on

Two instances use one value where one instance made it, or where it is one element that none of the nest made.

Where there are wires along rows and columns a value also goes at once to all that use it along what the access does not depend
on, on both sides of where it is made:

    P[i, k] of P[i, j] = min(P[i, j], P[i, k] + P[k, j]) at (k, i, j)     made at (k, i, k), for all j > k; before, for all j <= k
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations, islice, product

import islpy as isl

from polyml import polyhedra
from polyml.errors import IllegalSchedule
from polyml.model.core.scop import Access, Scop
from polyml.model.counting.brascamp_lieb import kernel
from polyml.source import Loc
from polyml.systolic.recurrences.embedding import Flows, Place
from polyml.systolic.recurrences.spacetime import Vector

MOST_ROUTES = 8  # of one read that are tried
MOST_DISTANCES = 4  # from where one statement makes values to where wires bring them

Key = tuple[str, int]  # a statement, and which of its reads
Steps = frozenset[tuple[Vector, bool]]  # of values, and whether that is along a wire


@dataclass(frozen=True)
class Source:
    """Where a read gets what it uses, at the point q: at p = q - vector, from a statement's read ("hop"), or what the statement
    made there ("made", read None).

    free: q may as well be the one from which p gets it. line: of a wire, along which q = p + vector + n * line, for any n; else
    (). pairs: { p -> q }.
    """

    kind: str
    statement: str
    read: int | None
    vector: Vector
    free: bool
    pairs: isl.Map = field(repr=False, compare=False)
    line: Vector = ()


@dataclass(frozen=True)
class Read:
    """name: the array's, as its user writes it. flow: { T[j] -> S[i] : T[j] made what S[i] reads }, by the nest's T. made: the
    same as { T[j] -> p }. users: { T[j] -> p; element_A[e] -> p }, of all values. ways: steps along which the access names one
    element.
    """

    key: Key
    array: str
    name: str
    text: str
    loc: Loc | None
    flow: Mapping[str, isl.Map]
    made: Mapping[str, isl.Map]
    users: isl.UnionMap
    ways: tuple[Vector, ...]


def read_of(scop: Scop, places: Mapping[str, Place], flows: Flows, key: Key, text: str, rows: Sequence[Vector]) -> Read:
    """rows: coefficients of the statement's loops in each subscript."""
    name, number = key
    statement, place, flow = scop.statements[name], places[name], flows[name][number]
    access = statement.reads[number]
    users = {other: pairs.apply_range(place.map) for other, pairs in flow.items()}
    made = {other: pairs for other, pairs in users.items() if other in places}
    every = polyhedra.union([*map(isl.UnionMap.from_map, users.values()), _elements(access, statement.domain, flow, place)])
    ways = [place.steps(vector) for vector in kernel(rows, len(statement.iterators))] if statement.iterators else []
    return Read(
        key=key,
        array=access.array,
        name=scop.arrays[access.array].source_name or access.array,
        text=text,
        loc=access.loc or statement.loc,
        flow={other: flow[other] for other in made},
        made=made,
        users=every,
        ways=tuple(ways),
    )


def _elements(access: Access, domain: isl.Set, flow: Mapping[str, isl.Map], place: Place) -> isl.UnionMap:
    """{ element_A[e] -> p }: values that no statement made."""
    there = domain
    for pairs in flow.values():
        there = there.subtract(pairs.range())
    elements = access.relation.intersect_domain(there).reverse().apply_range(place.map)
    return isl.UnionMap.from_map(polyhedra.rename_domain(elements, f"element_{access.array}"))


def routes(places: Mapping[str, Place], reads: Mapping[Key, Read], wired: bool = False) -> dict[Key, tuple[Source, ...]]:
    """Of each read of values that the nest makes; all of them go forward in some time that is linear. wired: along wires, too.
    Raises IllegalSchedule, with the dependence, where there are none.
    """
    made = {key: _routes(read, reads, places, wired) for key, read in reads.items() if read.made}
    open_ = {key: (route for route in found if has_time(_steps_of(route))) for key, found in made.items()}
    first: dict[Key, tuple[Source, ...]] = {}
    for key, found in open_.items():
        route = next(found, None)
        if route is None:
            raise _refusal(reads[key], places)
        first[key] = route
    if has_time(frozenset().union(*map(_steps_of, first.values()))):
        return first
    options = {key: [first[key], *islice(found, MOST_ROUTES - 1)] for key, found in open_.items()}
    chosen = _together(sorted(options.items(), key=lambda item: len(item[1])), frozenset())
    if chosen is None:
        raise _no_time(options, reads)
    return chosen


def _steps_of(route: Sequence[Source]) -> Steps:
    steps = (step for s in route if not s.free for step in ((s.vector, False), (s.line, True)))
    return frozenset((vector, at_once) for vector, at_once in steps if vector)


def hops(read: Read, other: Read, vector: Vector) -> isl.Map:
    """{ p -> q }: q uses by the read the value that p, a step before, uses by the other one."""
    step = shift(vector)
    return step.intersect_range(_arriving(other.users, read.users, step))


@lru_cache(maxsize=1024)
def shift(vector: Vector) -> isl.Map:
    """{ p -> p + vector }"""
    names = [f"c{k}" for k in range(len(vector))]
    return isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(f'{name} + {step}' for name, step in zip(names, vector))}] }}")


def shifted(points: isl.Set, vector: Vector, outer: int = 0) -> isl.Map:
    """{ [o, a] -> [o, a + vector] }, of these points."""
    return shift((*(0 for _ in range(outer)), *vector)).intersect_domain(points).intersect_range(points)


def _arriving(holders: isl.UnionMap, users: isl.UnionMap, step: isl.Map) -> isl.Set:
    """{ q } that use a value which { value -> p } has a step before."""
    found = polyhedra.pieces(holders.apply_range(isl.UnionMap.from_map(step)).intersect(users).range())
    return found[0].coalesce() if found else isl.Set.empty(step.range().get_space())


def _routes(read: Read, reads: Mapping[Key, Read], places: Mapping[str, Place], wired: bool) -> Iterator[tuple[Source, ...]]:
    """Those of the fewest steps first: from where a value is made; then along what the access does not depend on; then by other
    steps to neighbours, from any read that has the value.
    """
    targets = polyhedra.union([pairs.range() for pairs in read.made.values()]).coalesce()
    alone = _wired(read, targets, places) if wired else _made(read, targets, places)
    if alone is not None:
        yield alone
        return
    if wired:
        for way in (way for way in read.ways if 1 in map(abs, way)):
            made = _wired(read, targets, places, way)
            if made is not None:  # what comes from memory reaches all, too
                yield (*made, Source("hop", *read.key, way, True, hops(read, read, way)))
        return
    holders = _holders(read, reads, places)
    along = []
    for steps in _senses(read.ways):
        found = [source for vector in steps for source in _steps(read, holders, vector)]
        if found:
            along.append((found, _without(targets, found)))
            made = _made(read, along[-1][1], places)
            if made is not None:
                yield (*found, *made)
    for vector in _neighbours(places):
        near = _steps(read, holders, vector)
        for found, rest in [([], targets), *along] if near else ():
            made = None if vector in {s.vector for s in found} else _made(read, _without(rest, near), places)
            if made is not None:
                more = (replace(source, pairs=source.pairs.intersect_range(rest)) for source in near)
                yield (*found, *(source for source in more if not source.pairs.is_empty()), *made)


def _senses(ways: Sequence[Vector]) -> Iterator[tuple[Vector, ...]]:
    """One of the ways or several of them, each forward or back."""
    for number in range(1, len(ways) + 1):
        for chosen in combinations(ways, number):
            for signs in product((1, -1), repeat=number):
                yield tuple(tuple(sign * v for v in way) for sign, way in zip(signs, chosen))


def _neighbours(places: Mapping[str, Place]) -> list[Vector]:
    """Steps to points near, the shortest first; farther along axes of which statements take turns."""
    dims = len(next(iter(places.values())).rows)
    reach = [max(1, *(abs(c) for place in places.values() for c in place.rows[k])) for k in range(dims)]
    every = product(*(range(end, -end - 1, -1) for end in reach))
    return sorted((v for v in every if any(v)), key=lambda v: sum(map(abs, v)))


def _made(read: Read, targets: isl.Set, places: Mapping[str, Place]) -> tuple[Source, ...] | None:
    """From where the values of the targets are made; None where that is at several distances from one statement."""
    found = []
    for name, users in read.made.items():
        pairs = users.intersect_range(targets).apply_domain(places[name].map)
        if not pairs.is_empty():
            distance = polyhedra.only_point(pairs.deltas())
            if distance is None:
                return None
            found.append(Source("made", name, None, distance, False, pairs))
    return tuple(found)


def _wired(read: Read, targets: isl.Set, places: Mapping[str, Place], line: Vector = ()) -> tuple[Source, ...] | None:
    """The same where that is at a few distances from each statement, but for how far it is along a line, of wires."""
    found = []
    for name, users in read.made.items():
        pairs = users.intersect_range(targets).apply_domain(places[name].map)
        if pairs.is_empty():
            continue
        few = polyhedra.few_points(pairs.deltas(), MOST_DISTANCES)
        wire = () if few else line
        if wire:
            few = polyhedra.few_points(polyhedra.modulo_line(pairs.deltas(), line), MOST_DISTANCES)
        if not few:
            return None
        for distance in few:
            led = pairs.intersect(_apart(distance, wire))
            found.append(Source("made", name, None, distance, False, led, wire))
    return tuple(found)


def _apart(distance: Vector, line: Vector) -> isl.Map:
    """{ p -> p + distance + n * line : n any number }"""
    here, there = ([f"{letter}{k}" for k in range(len(distance))] for letter in "pq")
    ways = line or (0,) * len(distance)
    steps = (f"{q} = {p} + {step} + {way}*n" for p, q, step, way in zip(here, there, distance, ways))
    return isl.Map(f"{{ [{', '.join(here)}] -> [{', '.join(there)}] : exists n : {' and '.join(steps)} }}")


def _holders(read: Read, reads: Mapping[Key, Read], places: Mapping[str, Place]) -> list[tuple]:
    """(kind, statement, read, { value -> p that has it }), the read itself first."""
    others = sorted(reads.values(), key=lambda other: (other.key != read.key, other.key[0] != read.key[0]))
    had = [("hop", *other.key, other.users) for other in others if other.array == read.array]
    return [*had, *(("made", name, None, isl.UnionMap.from_map(places[name].map)) for name in read.made)]


def _steps(read: Read, holders: Sequence[tuple], vector: Vector) -> list[Source]:
    """By one step, from whatever has the value there; of two that have it the first."""
    step, found, known = shift(vector), [], None
    for kind, name, number, values in holders:
        there = _arriving(values, read.users, step)
        there = there if known is None else there.subtract(known)
        if not there.is_empty():
            known = there if known is None else known.union(there)
            found.append(Source(kind, name, number, vector, False, step.intersect_range(there)))
    return found


def _without(targets: isl.Set, sources: Sequence[Source]) -> isl.Set:
    for source in sources:
        targets = targets.subtract(source.pairs.range())
    return targets


def _together(options: Sequence[tuple[Key, Sequence]], steps: Steps) -> dict[Key, tuple[Source, ...]] | None:
    """One of each read's routes, so that some time goes forward along all of their steps."""
    if not options:
        return {}
    (key, alternatives), *others = options
    for route in alternatives:
        more = steps | _steps_of(route)
        found = _together(others, more) if has_time(more) else None
        if found is not None:
            return {key: route, **found}
    return None


@lru_cache(maxsize=4096)
def has_time(steps: Steps) -> bool:
    """Whether some sum of the coordinates grows along all of them, and not along wires."""
    dims = len(next((vector for vector, _ in steps), ()))
    names = [f"t{k}" for k in range(dims)]
    sums = ((" + ".join(f"{v}*{name}" for v, name in zip(vector, names)), at_once) for vector, at_once in steps)
    grows = (f"{sum_} = 0" if at_once else f"{sum_} >= 1" for sum_, at_once in sums)
    return not steps or not isl.BasicSet(f"{{ [{', '.join(names)}] : {' and '.join(grows)} }}").is_empty()


def _refusal(read: Read, places: Mapping[str, Place]) -> IllegalSchedule:
    """With a pair of instances, or two where the value would go both ways along what the access does not depend on."""
    for way in read.ways:
        forth, back = (_towards(read, places, tuple(sign * v for v in way)) for sign in (1, -1))
        if forth is not None and back is not None:
            message = f"{read.text} is used on both sides of where it is made: {forth}, {back}"
            expected = "expected values that go on from where they are made in one direction"
            return IllegalSchedule(message, loc=read.loc, notes=[*_flow_notes(read), expected])
    first = polyhedra.witness(_union(list(read.flow.values())))
    (maker, source), (_, sink) = first.instances
    distance = tuple(b - a for a, b in zip(places[maker].at(source), places[read.key[0]].at(sink)))
    other = polyhedra.witness(_among(read, places, lambda pairs: pairs.subtract(shift(distance))))
    message = f"{read.text} is used at distances that differ: {', '.join(str(pair) for pair in (first, other) if pair)}"
    expected = "expected values that are used at one distance from where they are made, or go on from there by equal steps"
    return IllegalSchedule(message, loc=read.loc, notes=[*_flow_notes(read), expected])


def _towards(read: Read, places: Mapping[str, Place], way: Vector) -> polyhedra.Witness | None:
    """A pair of an instance that makes a value and one, in this direction from there, that uses it."""
    here, there = ([f"{letter}{k}" for k in range(len(way))] for letter in "pq")
    apart = " + ".join(f"{v}*({q} - {p})" for v, p, q in zip(way, here, there))
    beyond = isl.Map(f"{{ [{', '.join(here)}] -> [{', '.join(there)}] : {apart} > 0 }}")
    return polyhedra.witness(_among(read, places, lambda pairs: pairs.intersect(beyond)))


def _among(read: Read, places: Mapping[str, Place], chosen: Callable[[isl.Map], isl.Map]) -> isl.UnionMap:
    """Of { T[j] -> S[i] : T[j] made what S[i] reads } those that are chosen among { p -> q }."""
    found, here = [], places[read.key[0]].map
    for name, flow in read.flow.items():
        pairs = chosen(flow.apply_domain(places[name].map).apply_range(here))
        found.append(pairs.apply_domain(places[name].map.reverse()).apply_range(here.reverse()))
    return _union(found)


def _no_time(options: Mapping[Key, Sequence], reads: Mapping[Key, Read]) -> IllegalSchedule:
    """With the first read whose values cannot go forward together with those of the reads before it."""
    known: list[tuple[Key, Sequence]] = []
    for key, found in options.items():
        if _together([*known, (key, found)], frozenset()) is None:
            break
        known.append((key, found))
    steps = [f"{reads[k].text} by {' and '.join(str(s.vector) for s in found[0])}" for k, found in (*known, (key, found))]
    pair = polyhedra.witness(_union(list(reads[key].flow.values())))
    message = f"no time brings {reads[key].text} on together with other values: {pair}"
    return IllegalSchedule(message, loc=reads[key].loc, notes=[*_flow_notes(reads[key]), f"values go on: {', '.join(steps)}"])


def _flow_notes(read: Read) -> list[str]:
    shown = polyhedra.text(_union(list(read.flow.values()))).replace("\n", "; ")
    return [f"flow dependence through {read.name}: {shown}"]


def _union(maps: Sequence[isl.Map]) -> isl.UnionMap:
    return polyhedra.union([isl.UnionMap.from_map(m) for m in maps])
