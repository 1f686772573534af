"""Misses of fully associative caches with LRU replacement, from the distances at which lines are used again. Exact, without
running the program (after Gysi, Grosser, Brandner and Hoefler, "A Fast Analytical Model of Fully Associative Caches", PLDI 2019).

The instances of references, in the order of a schedule, are points of time. Where a point's line was used before, the last
such point is an affine function of it in each of several regions; how many lines are used between the two is counted as a
quasi-polynomial of the point; the point misses where that is at least the cache's number of lines, which is counted again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import lcm

import islpy as isl

from polyml import polyhedra
from polyml.caches.placement import Placed
from polyml.caches.trace import Reference
from polyml.model.counting import MOST_TERMS, CannotCount, count
from polyml.model.quasi import Floor, Poly
from polyml.model.scop import Scop
from polyml.codegen.accesses import reads_and_write

MOST_REGIONS = 400  # of one piece of a reference
MOST_SLICES = 4096  # values of one coordinate of time that are looked at one after the other


@dataclass(frozen=True)
class Reuse:
    """Uses of lines that were used before. region: of the time of these uses, { : constraints on t0, t1, ... }, after which
    coordinates that only take every so many-th value are counted by it. carried: the first coordinate of time in which the last
    use is another one. distance: how many other lines are used between.
    """

    region: isl.Set
    carried: int
    distance: Poly


@dataclass(frozen=True)
class Distances:
    """Of one reference. cold: uses of lines that nothing used before."""

    accesses: int
    cold: int
    reuses: tuple[Reuse, ...]

    def misses(self, lines: int) -> int:
        """In a cache of so many lines."""
        return self.cold + sum(_count_from(r.region, r.distance, lines) for r in self.reuses)


def distances(
    scop: Scop,
    schedule: isl.Schedule,
    references: Iterable[Reference],
    sizes: Mapping[str, int],
    places: Mapping[str, Placed],
    line_bytes: int,
    seconds: float = 5.0,
) -> dict[Reference, Distances]:
    """seconds: after how many to give up. Raises CannotCount then, or where there are too many regions."""
    deadline = time.monotonic() + seconds
    uses = {r: _uses(scop, schedule, r, sizes, places[r.array], line_bytes) for r in references}
    lines: dict[str, isl.Map] = {}
    for reference, used in uses.items():
        known = lines.get(reference.array)
        lines[reference.array] = used if known is None else known.union(used)
    previous = {array: polyhedra.last_before(used) for array, used in lines.items()}
    found = {}
    for reference, used in uses.items():
        times = used.domain()
        before = previous[reference.array].intersect_domain(times)
        accesses = _number(times)
        reuses = tuple(r for piece in polyhedra.conjunctions(before) for r in _reuses(piece, lines.values(), deadline))
        found[reference] = Distances(accesses, accesses - _number(before.domain()), reuses)
    return found


def _uses(
    scop: Scop, schedule: isl.Schedule, reference: Reference, sizes: Mapping[str, int], place: Placed, line_bytes: int
) -> isl.Map:
    """{ [time, position] -> array[line] }"""
    statement = scop.statements[reference.statement]
    access = reads_and_write(statement)[reference.position]
    order = schedule.get_map().intersect_domain(isl.UnionSet.from_set(statement.domain))
    times = polyhedra.fix(polyhedra.with_last(isl.Map.from_union_map(order), reference.position), sizes)
    elements = polyhedra.fix(access.relation.intersect_domain(statement.domain), sizes)
    lines = times.reverse().apply_range(elements).apply_range(_lines(reference.array, place, line_bytes))
    return polyhedra.without_any_parameter(lines)


def _lines(array: str, place: Placed, line_bytes: int) -> isl.Map:
    """{ array[subscripts] -> array[line] }: by rows where these begin on lines, else by addresses."""
    names = [f"s{d}" for d in range(len(place.shape))]
    steps = place.strides
    if not names:
        return isl.Map(f"{{ {array}[] -> {array}[{place.address // line_bytes}] }}")
    rows = names[:-1] if place.address % line_bytes == 0 and all(s % line_bytes == 0 for s in steps[:-1]) else []
    inside = [f"{s} {name}" for name, s in zip(names, steps) if name not in rows]
    start = 0 if rows or len(names) == 1 and place.address % line_bytes == 0 else place.address
    line = f"floor(({start} + {' + '.join(inside)})/{line_bytes})"
    return isl.Map(f"{{ {array}[{', '.join(names)}] -> {array}[{', '.join([*rows, line])}] }}")


def _reuses(piece: isl.Map, lines: Iterable[isl.Map], deadline: float) -> Iterator[Reuse]:
    """piece: { time -> the last time its line was used }, one conjunction."""
    carried = polyhedra.first_difference(piece)
    scale = polyhedra.unstrided(piece.domain())
    between = scale.apply_range(polyhedra.strictly_between(piece))
    regions = [(polyhedra.as_parameters(scale.intersect_range(piece.domain()).domain()), Poly())]
    for used in lines:
        touched = between.apply_range(used)
        if touched.is_empty():
            continue
        for where, number in count(polyhedra.range_by_domain(touched), deadline).pieces:
            regions = [*_added(regions, where, number)]
            if len(regions) > MOST_REGIONS:
                raise CannotCount(f"more than {MOST_REGIONS} regions of a reuse")
    together: dict[Poly, isl.Set] = {}
    for region, distance in regions:
        if time.monotonic() > deadline or len(distance.terms) > MOST_TERMS:
            raise CannotCount("distances have too many terms, or take too long")
        for part, simple in _simplified(region, distance):
            together[simple] = together[simple].union(part) if simple in together else part
    yield from (Reuse(region.coalesce(), carried, distance) for distance, region in together.items())


def _added(regions: Sequence[tuple[isl.Set, Poly]], where: isl.Set, number: Poly) -> Iterator[tuple[isl.Set, Poly]]:
    """The regions, cut so that `number` is added in exactly `where`."""
    for region, total in regions:
        both = region.intersect(where)
        if both.is_empty():
            yield region, total
            continue
        yield both, total + number
        rest = region.subtract(both)
        if not rest.is_empty():
            yield rest, total


def _simplified(region: isl.Set, value: Poly) -> Iterator[tuple[isl.Set, Poly]]:
    """Floors of one quotient with different constants differ by 0 or 1: regions in which that is known, with one floor left."""
    by_quotient: dict[tuple, set[int]] = {}
    for atom in value.atoms:
        if isinstance(atom, Floor):
            by_quotient.setdefault((atom.terms, atom.divisor), set()).add(atom.constant)
    several = {key: sorted(constants) for key, constants in by_quotient.items() if len(constants) > 1 or min(constants)}
    parts = [(region, value)]
    for (terms, divisor), constants in several.items():
        base = Floor(terms, 0, divisor)
        parts = [piece for part in parts for piece in _by_remainder(*part, base, constants)]
    yield from parts


def _by_remainder(region: isl.Set, value: Poly, base: Floor, constants: Sequence[int]) -> Iterator[tuple[isl.Set, Poly]]:
    """base: the floor without a constant. floor((e + c)/d) is greater by one where e mod d >= d - c."""
    inside = " + ".join(f"{c}*{atom}" for atom, c in base.terms)
    ends = sorted({base.divisor - c for c in constants if c})
    for low, high in zip([0, *ends], [*ends, base.divisor]):
        here = polyhedra.with_condition(region, f"{low} <= ({inside}) mod {base.divisor} < {high}")
        if here.is_empty():
            continue
        more = {c: Poly.number(int(low >= base.divisor - c)) for c in constants}
        known = {Floor(base.terms, c, base.divisor): Poly.atom(base) + more[c] for c in constants}
        yield here, value.with_atoms(known)


def _count_from(region: isl.Set, distance: Poly, lines: int) -> int:
    """How many points have at least this distance."""
    distance = distance.substitute({n: Poly.number(v) for n, v in polyhedra.fixed_parameters(region).items()})
    if distance.is_number:
        return _points(region) if distance.constant >= lines else 0
    factor = lcm(*(c.denominator for _, c in distance.terms))
    linear = distance.scaled(factor).as_linear()
    if linear is not None:
        terms, constant = linear
        text = " + ".join([*(f"{c}*{atom}" for atom, c in terms.items()), str(constant)])
        return _points(polyhedra.with_condition(region, f"{text} >= {factor * lines}"))
    return _sliced(region, distance, lines)


def _sliced(region: isl.Set, distance: Poly, lines: int) -> int:
    """Value by value of the coordinate that makes it not linear."""
    powers = [atom for monomial, _ in distance.terms if sum(p for _, p in monomial) > 1 for atom, _ in monomial]
    names = sorted({n for atom in powers for n in ((atom,) if isinstance(atom, str) else atom.names)})
    ranges = {name: polyhedra.parameter_range(region, name) for name in names}
    name = min(names, key=lambda n: ranges[n][1] - ranges[n][0])
    low, high = ranges[name]
    if high - low >= MOST_SLICES:
        raise CannotCount("a distance is no linear function of time")
    total = 0
    for value in range(low, high + 1):
        here = polyhedra.with_condition(region, f"{name} = {value}")
        if not here.is_empty():
            total += _count_from(here, distance, lines)
    return total


def _points(region: isl.Set) -> int:
    return _number(polyhedra.parameters_as_set(region))


def _number(times: isl.Set) -> int:
    return count(times).evaluate({})
