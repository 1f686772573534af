"""Exact misses of fully associative LRU caches from reuse distances, without running the program.

The accesses of references, in the order of a schedule, are points of time. Where a point's line was used before, the last such
point is an affine function of it in each of several regions; the lines used between the two are counted as a quasi-polynomial
of the point; the point misses where this is at least the cache's number of lines, and these points are counted again. Source:
Gysi, Grosser, Brandner and Hoefler, "A Fast Analytical Model of Fully Associative Caches", PLDI 2019.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from math import inf

import islpy as isl

from polyml import polyhedra
from polyml.caches.analytic.distance_counts import MissFormula, count_misses, miss_terms
from polyml.caches.analytic.line_uses import LineUses, line_uses
from polyml.caches.analytic.scheduled_accesses import NO_FACTS, ScheduledAccesses, SizeFacts
from polyml.caches.analytic.unit_scaling import counted
from polyml.caches.simulator.trace import ArrayReference
from polyml.model.counting.cardinality import MOST_TERMS, CannotCount, Count, add_piece, count
from polyml.model.counting.quasi_polynomial import Atom, Floor, Poly

MOST_REGIONS = 400  # of one piece of a reference
TOO_LONG = "it takes too long"  # as counting says it too
OPERATIONS_PER_SECOND = 4_000_000  # isl's


@dataclass(frozen=True)
class LineReuse:
    """A LineReuse holds the uses by one reference of lines that another one (or itself) used last, and their reuse distance.

    source: the reference that used the lines last.
    same_element: whether the very element, not only its line, was used before within the current iteration of the first `carried`
        loops or sequences of the schedule.
    carried: the number of the first coordinate in which the times of the use and of the line's last use differ.
    region: { : constraints on sizes and coordinates of time } of the uses.
    distance: how many other lines were used since, as a formula of sizes and coordinates of time.
    steps: (s, r) for each coordinate of time: its name t in region and distance stands for the time s * t + r.
    """

    source: ArrayReference
    same_element: bool
    carried: int
    region: isl.Set
    distance: Poly
    steps: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class ReuseDistances:
    """ReuseDistances are the reuse distances of one reference, by regions, which are parts of its uses.

    accesses: how many uses there are.
    cold: how many use lines that nothing used before.
    reuses: all other uses, by region.
    clock: the names of the coordinates of time in regions and distances; other names there are sizes.
    units: {size: unit}, a number that the size is a multiple of; the size's name in all these formulas stands for size / unit. The
        methods take the sizes themselves.
    """

    accesses: Count
    cold: Count
    reuses: tuple[LineReuse, ...]
    clock: tuple[str, ...]
    units: Mapping[str, int]

    def misses(self, lines: int, sizes: Mapping[str, int] | None = None) -> int:
        """Returns the number of misses of the reference in a fully associative LRU cache of `lines` lines.

        sizes: the values of parameters that are symbolic in the distances.
        """
        values = self.counted(sizes or {})
        return self.cold.evaluate(values) + sum(count_misses(r.region, r.distance, lines, values) for r in self.reuses)

    def formula(self, lines: int, deadline: float = inf) -> MissFormula:
        """Returns the reference's misses in a fully associative LRU cache of `lines` lines, as a formula of the symbolic sizes.

        deadline: when to give up, a time of `time.monotonic`.

        Raises CannotCount after the deadline, and where a distance is no linear function of time.
        """
        found = [term for r in self.reuses for term in miss_terms(r.region, r.distance, lines, self.clock, deadline)]
        return MissFormula(self.cold, tuple(found), self.units)

    def counted(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Returns sizes divided by their units. Raises ValueError for a size that is no multiple of its unit."""
        return counted(sizes, self.units)


def distances(
    accesses: ScheduledAccesses, line_bytes: int, seconds: float = 5.0, facts: SizeFacts = NO_FACTS
) -> dict[ArrayReference, ReuseDistances]:
    """Returns the reuse distances of each reference.

    seconds: how long this may take.
    facts: what is known of symbolic sizes.

    Raises CannotCount after this time, or where uses fall into too many regions with different formulas for the distance.
    """
    deadline = time.monotonic() + seconds
    with within(deadline):
        all_uses = [line_uses(accesses, reference, line_bytes, facts) for reference in dict.fromkeys(accesses.references)]
        finder = Finder(all_uses, deadline, facts.units)
        return {used.reference: finder.of(used) for used in all_uses}


@contextmanager
def within(deadline: float) -> Iterator[None]:
    """Returns a context in which isl stops working at about a deadline, a time of `time.monotonic`, by raising CannotCount."""
    try:
        with polyhedra.budget(int(max(deadline - time.monotonic(), 0) * OPERATIONS_PER_SECOND) + 1):
            yield
    except polyhedra.BudgetExceeded:
        raise CannotCount(TOO_LONG) from None


class Finder:
    """A Finder computes the reuse distances of references, one after the other.

    all_uses: the uses of all references.
    deadline: when to give up with CannotCount, a time of `time.monotonic`; it can be set later.
    units: {size: unit}, a number that the size is a multiple of; the size's name in the uses stands for size / unit.
    """

    def __init__(self, all_uses: Sequence[LineUses], deadline: float, units: Mapping[str, int]):
        self._uses, self.deadline, self._units = tuple(all_uses), deadline, dict(units)
        self._lines: dict[str, isl.Map] = {}
        for used in all_uses:
            array = used.reference.array
            self._lines[array] = self._lines[array].union(used.lines) if array in self._lines else used.lines
        self.clock = _clock([name for used in all_uses for name in polyhedra.parameter_names(used.lines)], all_uses)

    def of(self, used: LineUses) -> ReuseDistances:
        """Returns the reuse distances of one reference. Raises CannotCount at the deadline.

        used: those uses of the reference that are wanted, all or some of them.
        """
        times, array = used.times, used.reference.array
        before = polyhedra.last_before(used.lines, self._lines[array])
        accesses, cold = count(times, self.deadline), count(times.subtract(before.domain()), self.deadline)
        sources = (s for s in self._uses if s.reference.array == array)
        return ReuseDistances(
            accesses, cold, tuple(r for s in sources for r in self._from(used, s, before)), self.clock, self._units
        )

    def _from(self, used: LineUses, source: LineUses, before: isl.Map) -> Iterator[LineReuse]:
        """Yields those uses of a reference before which the line was used last by another reference, `source`.

        before: { time -> the time of the line's last use before }.
        """
        uses = before.intersect_range(source.times)
        for carried, pairs in polyhedra.by_first_difference(uses) if not uses.is_empty() else ():
            again = self._used_again(used, carried)
            for same_element, chosen in ((True, pairs.intersect_domain(again)), (False, pairs.subtract_domain(again))):
                for piece in polyhedra.conjunctions(chosen):
                    steps = tuple(polyhedra.strides(piece.domain()))
                    for region, distance in self._distances(piece, steps):
                        yield LineReuse(source.reference, same_element, carried, region, distance, steps)

    def _used_again(self, used: LineUses, carried: int) -> isl.Set:
        """Returns the times { time } of those uses whose very element was used before, at a time with the same first `carried`
        coordinates.
        """
        others = [other for other in self._uses if other.reference.array == used.reference.array]
        found = [polyhedra.preceded(used.elements, other.elements, carried) for other in others]
        return reduce(isl.Set.union, found).coalesce()

    def _distances(self, piece: isl.Map, steps: Sequence[tuple[int, int]]) -> Iterator[tuple[isl.Set, Poly]]:
        """Yields (region, distance): a set of times at which the reference uses a line, and how many other lines are used between
        such a time and the line's last use before.

        piece: { time -> the time of the line's last use before }, one conjunction of constraints.
        steps: (s, r) for each coordinate of time, which is s * t + r for an integer t; regions and distances are over t.
        """
        scale = polyhedra.unstrided(steps)
        between = scale.apply_range(polyhedra.strictly_between(piece))
        domain = scale.intersect_range(piece.domain()).domain()
        regions = [(polyhedra.as_parameters(domain, self.clock), Poly())]
        for used in self._lines.values():
            touched = between.apply_range(used)
            if touched.is_empty():
                continue
            for where, number in count(polyhedra.range_by_domain(touched, self.clock), self.deadline).pieces:
                regions = [case for each in regions for case in add_piece(*each, where, number)]
                if len(regions) > MOST_REGIONS:
                    raise CannotCount(f"more than {MOST_REGIONS} regions of a reuse")
        by_value: dict[Poly, isl.Set] = {}
        for region, distance in regions:
            if time.monotonic() > self.deadline:
                raise CannotCount(TOO_LONG)
            if len(distance.terms) > MOST_TERMS:
                raise CannotCount(f"a distance of more than {MOST_TERMS} terms")
            for part, simple in _simplified(region, _solved(region, distance, self.clock)):
                for near, value in _near_floors(part, simple, self.clock):
                    value = _solved(near, value, self.clock)
                    by_value[value] = by_value[value].union(near) if value in by_value else near
        yield from ((region.coalesce(), distance) for distance, region in by_value.items())


def _clock(sizes: Iterable[str], all_uses: Sequence[LineUses]) -> tuple[str, ...]:
    """Returns names such as "_t0" for the coordinates of time, as many as the longest time has. No name is that of a size."""
    prefix = "_t"
    while any(name.startswith(prefix) for name in sizes):
        prefix = f"_{prefix}"
    return tuple(f"{prefix}{k}" for k in range(max(polyhedra.dimensions(used.times) for used in all_uses))) if all_uses else ()


def _solved(region: isl.Set, value: Poly, clock: Sequence[str]) -> Poly:
    """Returns a polynomial in which coordinates of time are replaced by the expressions that equalities of the region give for
    them.

    clock: the names of the coordinates of time.
    """
    for terms, constant in polyhedra.equalities(region):
        for name in clock:
            if abs(terms.get(name, 0)) == 1:
                others = Poly.linear([(n, -c * terms[name]) for n, c in terms.items() if n != name], -constant * terms[name])
                value = value.substitute({name: others})
                break
    return value


def _near_floors(region: isl.Set, value: Poly, clock: Sequence[str]) -> Iterator[tuple[isl.Set, Poly]]:
    """Yields (region, value): parts of the region, each with a polynomial that equals `value` there and has fewer floors (integer
    quotients). A linear polynomial is yielded as it is.

    Where a floor, or the difference of two floors, can only be n or n + 1 in the region, the region is divided into one part for
    each, and the floor is replaced by what it is there.

    clock: the names of the coordinates of time; only floors with such names are replaced.
    """
    floors: list[Floor] = []
    if any(sum(power for _, power in monomial) > 1 for monomial, _ in value.terms):
        floors = sorted((a for a in value.atoms if isinstance(a, Floor) and not a.names.isdisjoint(clock)), key=str)
    for k, one in enumerate(floors):
        for other in (None, *floors[:k]):
            expression = f"{one}" if other is None else f"{one} - {other}"
            ends = polyhedra.range_of(region, expression)
            if ends is None or ends[1] - ends[0] > 1:
                continue
            for difference in range(ends[0], ends[1] + 1):
                here = polyhedra.with_condition(region, f"{expression} = {difference}") if ends[0] < ends[1] else region
                near = Poly.number(difference) if other is None else Poly.atom(other) + Poly.number(difference)
                yield from _near_floors(here, value.with_atoms({one: near}), clock)
            return
    yield region, value


def _simplified(region: isl.Set, value: Poly) -> Iterator[tuple[isl.Set, Poly]]:
    """Yields (region, value): parts of the region, each with a polynomial that equals `value` there and in which floors that differ
    only in a constant, such as floor(t/8) and floor((t + 3)/8), are expressed by one of them.

    Such floors differ by 0 or 1; in each part the difference is known.
    """
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
    """Yields (region, value): parts of the region by the remainder e mod d, each with a polynomial that equals `value` there and in
    which every floor((e + c)/d) is replaced by floor(e/d) plus 0 or 1.

    It is 1 where e mod d >= d - c.

    base: floor(e/d).
    constants: the numbers c that occur in `value`.
    """
    inside = " + ".join(f"{c}*{atom}" for atom, c in base.terms)
    ends = sorted({base.divisor - c for c in constants if c})
    for low, high in zip([0, *ends], [*ends, base.divisor]):
        here = polyhedra.with_condition(region, f"{low} <= ({inside}) mod {base.divisor} < {high}")
        if here.is_empty():
            continue
        more = {c: Poly.number(int(low >= base.divisor - c)) for c in constants}
        known: dict[Atom, Poly] = {Floor(base.terms, c, base.divisor): Poly.atom(base) + more[c] for c in constants}
        yield here, value.with_atoms(known)
