"""Where each reference finds its lines again: who used them last, which loop carries that, how far back, and in which cache.

Distances are those of fully associative caches with LRU replacement, as formulas in the sizes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

import islpy as isl

from polyml import polyhedra
from polyml.caches.analytic.distance_counts import Spread, spread
from polyml.caches.analytic.line_uses import Uses, begin_on_lines, coordinates, uses
from polyml.caches.analytic.reuse_distances import TOO_LONG, Distances, Finder, Reuse, within
from polyml.caches.analytic.unit_scaling import count_in_sizes, counted, in_sizes, replaced
from polyml.caches.simulator.trace import Reference
from polyml.codegen.ir.array_layout import Placed
from polyml.machines.cpu import CacheLevel
from polyml.model.core.scop import Scop
from polyml.model.counting.cardinality import CannotCount, Count, count
from polyml.model.counting.quasi_polynomial import Poly


@dataclass(frozen=True)
class ReuseClass:
    """Uses of lines that one reference used last.

    carried: the loop of which an earlier iteration used the line; "" for the same iteration of all loops around both. kind:
    "temporal" where the element itself was used in such an iteration too, "spatial" where only its line was. uses: at the sizes. distance: other
    lines used between, in sizes and iterators, for the most of the uses, `usual` of them. least, greatest: of all uses at the sizes.
    hits: by level, the uses that find the line there and not before, and those that find it nowhere.
    """

    source: Reference
    kind: str
    carried: str
    uses: int
    distance: Poly
    usual: int
    least: int
    greatest: int
    hits: tuple[int, ...]


@dataclass(frozen=True)
class ReferenceReuse:
    """uses, first: how many, and those of lines that nothing used before, at the sizes. classes: by their uses, most first.
    in_the_middle: all is known of iterations in the middle alone, a line's length of each loop, and `first` and what classes
    count are estimates: as if all others were like them. problem: why nothing is known, "" where it is. distances: for all sizes
    of the facts, and in the middle for those not below the sizes.
    """

    reference: Reference
    uses: int = 0
    first: int = 0
    classes: tuple[ReuseClass, ...] = ()
    in_the_middle: bool = False
    problem: str = ""
    distances: Distances | None = field(default=None, repr=False, compare=False)

    def formulas(self) -> tuple[Count, Count] | None:
        """Uses and first uses in the sizes, where all of them are known."""
        if self.distances is None or self.in_the_middle:
            return None
        accesses, cold = self.distances.accesses, self.distances.cold
        return count_in_sizes(accesses, self.distances.units), count_in_sizes(cold, self.distances.units)


@dataclass(frozen=True)
class Reuses:
    """facts: what formulas take for granted of sizes. unaligned: arrays whose rows begin within lines at the sizes, which is
    counted as if they began on lines; where there are none, all is exact for fully associative caches with LRU replacement.
    """

    references: dict[Reference, ReferenceReuse]
    capacities: tuple[int, ...]  # of the levels, in lines
    facts: tuple[str, ...]
    unaligned: tuple[str, ...]
    seconds: float

    def misses(self, reference: Reference) -> tuple[int, ...] | None:
        """By level, of a fully associative cache. None where they are not known; estimates where those in the middle alone are."""
        each = self.references[reference]
        if each.problem:
            return None
        return tuple(each.first + sum(sum(c.hits[level + 1 :]) for c in each.classes) for level in range(len(self.capacities)))


def reuse(
    scop: Scop,
    schedule: isl.Schedule,
    references: Iterable[Reference],
    sizes: Mapping[str, int],
    places: Mapping[str, Placed],
    levels: Sequence[CacheLevel],
    seconds: float = 1.0,
    whole: bool = True,
) -> Reuses:
    """levels: of lines of one length. seconds: after how many to stop; what is not found by then says so. whole: look for all uses
    of each reference when those in the middle are known, which takes most of the time.

    Raises ScheduleError for a schedule that is not made of loops and sequences.
    """
    start = time.monotonic()
    deadline = start + seconds
    references, line_bytes = tuple(references), levels[0].line_bytes
    used = [name for name in polyhedra.parameter_names(scop.domain) if name in sizes]
    steps = _steps(scop, schedule, line_bytes)
    units = {name: unit for name in used if (unit := _unit(sizes[name], steps)) > 1}
    least = {name: min(sizes[name], 2 * units.get(name, 8)) for name in used}
    capacities = tuple(level.size_bytes // line_bytes for level in levels)
    loops = coordinates(schedule, scop.statements)
    search = _Search(scop, schedule, references, sizes, line_bytes, units, capacities, loops, deadline)
    found = search.found({name: sizes[name] for name in used}, in_the_middle=True)
    if whole:
        found |= {r: each for r, each in search.found(least).items() if not each.problem or found[r].problem}
    facts = [f"{name} >= {bound}" for name, bound in least.items() if bound > 0]
    facts += [f"{name} is a multiple of {unit}" for name, unit in units.items()]
    arrays = dict.fromkeys(r.array for r in references)
    unaligned = tuple(a for a in arrays if not begin_on_lines(scop.arrays[a], places[a], line_bytes))
    return Reuses(found, capacities, tuple(facts), unaligned, time.monotonic() - start)


@dataclass(frozen=True)
class _Search:
    scop: Scop
    schedule: isl.Schedule
    references: tuple[Reference, ...]
    sizes: Mapping[str, int]
    line_bytes: int
    units: Mapping[str, int]
    capacities: tuple[int, ...]
    loops: Mapping[str, tuple[str, ...]]
    deadline: float

    def found(self, least: Mapping[str, int], in_the_middle: bool = False) -> dict[Reference, ReferenceReuse]:
        """For sizes of at least so many. The time left is shared evenly, then again by those for which it was too short."""
        try:
            with within(self.deadline):
                context = polyhedra.parameters_at_least(least)
                all_uses = [
                    uses(self.scop, self.schedule, r, {}, None, self.line_bytes, context, self.units) for r in self.references
                ]
                finder = Finder(all_uses, self.deadline, self.units)
        except CannotCount as why:
            return {r: ReferenceReuse(r, problem=str(why)) for r in self.references}
        found: dict[Reference, ReferenceReuse] = {}
        for _ in range(2):
            waiting = [used for used in all_uses if used.reference not in found or found[used.reference].problem == TOO_LONG]
            for number, used in enumerate(waiting):
                now = time.monotonic()
                finder.deadline = now + (self.deadline - now) / (len(waiting) - number)
                found[used.reference] = self._one(finder, used, in_the_middle)
        return found

    def _one(self, finder: Finder, used: Uses, in_the_middle: bool) -> ReferenceReuse:
        try:
            with within(finder.deadline):
                values = counted(self.sizes, self.units)
                domain = polyhedra.fix(self.scop.statements[used.reference.statement].domain, self.sizes)
                total = count(domain, finder.deadline).evaluate(self.sizes)
                if in_the_middle:
                    per_line = self.line_bytes // self.scop.arrays[used.reference.array].element.size_bytes
                    used = used.within(polyhedra.central_window(used.times, values, per_line))
                return self._summary(used.reference, finder.of(used), total, values, finder.deadline, in_the_middle)
        except CannotCount as why:
            return ReferenceReuse(used.reference, problem=str(why))

    def _summary(
        self,
        reference: Reference,
        distances: Distances,
        total: int,
        values: Mapping[str, int],
        deadline: float,
        in_the_middle: bool,
    ) -> ReferenceReuse:
        """total: how many uses the reference makes, of which the distances may be those of a part."""
        loops = self.loops[reference.statement]
        together: dict[tuple[Reference, str, str], list[tuple[Spread, Poly]]] = {}
        for each in distances.reuses:
            here = spread(each.region, each.distance, self.capacities, values, deadline)
            if here is not None:
                kind = "temporal" if each.same_element else "spatial"
                key = each.source, kind, loops[each.carried] if each.carried < len(loops) else ""
                together.setdefault(key, []).append((here, _formula(each, distances, loops)))
        times = Fraction(total, distances.accesses.evaluate(values) or 1)
        classes = sorted((_class(*key, spreads, times) for key, spreads in together.items()), key=lambda c: -c.uses)
        first = round(distances.cold.evaluate(values) * times)
        return ReferenceReuse(reference, total, first, tuple(classes), in_the_middle, distances=distances)


def _steps(scop: Scop, schedule: isl.Schedule, line_bytes: int) -> list[int]:
    """In which steps sizes best come: the elements of lines, and tiles."""
    order = schedule.get_map().intersect_domain(scop.domain)
    tiles = {divisor for piece in polyhedra.pieces(order) for divisor in polyhedra.divisors(piece)}
    return sorted({line_bytes // a.element.size_bytes for a in scop.arrays.values()} | tiles)


def _unit(size: int, steps: Sequence[int]) -> int:
    """What a size is counted in: as many of the steps as divide it and leave at least two."""
    unit = 1
    for step in steps:
        both = lcm(unit, step)
        unit = both if size % both == 0 and size >= 2 * both else unit
    return unit


def _formula(reuse: Reuse, distances: Distances, loops: Sequence[str]) -> Poly:
    """The distance in sizes and in what the loops count."""
    iterators = {}
    for name, loop, (step, start) in zip(distances.clock, loops, reuse.steps):
        if loop:
            iterators[name] = (Poly.atom(loop) - Poly.number(start)).scaled(Fraction(1, step))
    return replaced(in_sizes(reuse.distance, distances.units), iterators)


def _class(source: Reference, kind: str, carried: str, spreads: Sequence[tuple[Spread, Poly]], times: Fraction) -> ReuseClass:
    """times: how many uses each one stands for."""
    by_formula: dict[Poly, int] = {}
    for here, formula in spreads:
        by_formula[formula] = by_formula.get(formula, 0) + here.points
    usual = max(by_formula, key=lambda formula: (by_formula[formula], str(formula)))
    points = sum(here.points for here, _ in spreads)
    far = [sum(numbers) for numbers in zip(*(here.far for here, _ in spreads))]
    hits = [before - behind for before, behind in zip([points, *far], [*far, 0])]
    least, greatest = min(here.least for here, _ in spreads), max(here.greatest for here, _ in spreads)
    points, most, *hits = (round(number * times) for number in (points, by_formula[usual], *hits))
    return ReuseClass(source, kind, carried, points, usual, most, least, greatest, tuple(hits))
