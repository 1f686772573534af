"""The reuse of each reference: who used its lines last, which loop carries that, how long ago, and in which cache they still are.

Distances are those of fully associative LRU caches, as formulas of the sizes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import lcm

import islpy as isl

from polyml import polyhedra
from polyml.caches.analytic.distance_counts import Spread, spread
from polyml.caches.analytic.line_uses import LineUses, begin_on_lines, coordinates, line_uses
from polyml.caches.analytic.reuse_distances import TOO_LONG, Finder, LineReuse, ReuseDistances, within
from polyml.caches.analytic.scheduled_accesses import ScheduledAccesses, SizeFacts
from polyml.caches.analytic.unit_scaling import count_in_sizes, counted, in_sizes, replaced
from polyml.caches.simulator.trace import ArrayReference
from polyml.machines.cpu import CacheLevel
from polyml.model.core.scop import Scop
from polyml.model.counting.cardinality import CannotCount, Count, count
from polyml.model.counting.quasi_polynomial import Poly
from polyml.values import cached_property


@dataclass(frozen=True)
class ReuseClass:
    """A ReuseClass counts those uses of cache lines by one reference that have three things in common: which reference used the
    line last, whether it used the same element, and which loop's iterations lie between.

    source: the reference that used the lines last.
    kind: "temporal" where the element itself was used then, "spatial" where only its line was.
    carried: the loop in an earlier iteration of which the line was used; "" where that was in the same iteration of all loops
        around both.
    uses: how many uses these are, at the given sizes.
    distance: how many other lines were used since, a formula of sizes and iterators that holds for most of the uses.
    usual: for how many uses that formula holds.
    least, greatest: the bounds of the distances of all uses, at the given sizes.
    hits: by cache level, nearest first, how many uses find the line in this level but in no nearer one; last, how many find it in
        none.
    """

    source: ArrayReference
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
    """A ReferenceReuse holds all that is found of the reuse of lines by one reference.

    uses: how many times it uses a line, at the given sizes.
    first: how many of these use lines that nothing used before.
    classes: the other uses, divided into classes; those with most uses first.
    in_the_middle: whether only a sample was examined, a few iterations in the middle of each loop; then `first` and the numbers of
        classes are estimates, as if all other iterations were like them. False: all uses were examined.
    problem: why nothing is known; "" where something is.
    distances: the reuse distances as formulas, of all uses or of the sample.
    """

    reference: ArrayReference
    uses: int = 0
    first: int = 0
    classes: tuple[ReuseClass, ...] = ()
    in_the_middle: bool = False
    problem: str = ""
    distances: ReuseDistances | None = field(default=None, repr=False, compare=False)

    def formulas(self) -> tuple[Count, Count] | None:
        """Returns (uses, first uses of lines) as formulas of the sizes; None where not all uses are known."""
        if self.distances is None or self.in_the_middle:
            return None
        accesses, cold = self.distances.accesses, self.distances.cold
        return count_in_sizes(accesses, self.distances.units), count_in_sizes(cold, self.distances.units)


@dataclass(frozen=True)
class Reuses:
    """Reuses hold the reuse of lines by each reference, and what the numbers and formulas take for granted.

    references: what was found, by reference.
    capacities: by cache level, how many lines it holds.
    facts: what formulas take for granted of sizes, such as "N >= 16".
    unaligned: arrays whose rows do not begin on lines, though they are counted as if they did. If there are none, numbers that were
        found from all uses are exact for fully associative LRU caches.
    seconds: how long it took to find them.
    """

    references: dict[ArrayReference, ReferenceReuse]
    capacities: tuple[int, ...]  # of the levels, in lines
    facts: tuple[str, ...]
    unaligned: tuple[str, ...]
    seconds: float

    def misses(self, reference: ArrayReference) -> tuple[int, ...] | None:
        """Returns, by cache level, how many uses of a reference miss in a fully associative cache of the level's size; None where
        that is not known.

        The numbers are estimates where only a sample of iterations, around the middle of each loop, was examined.
        """
        each = self.references[reference]
        if each.problem:
            return None
        return tuple(each.first + sum(sum(c.hits[level + 1 :]) for c in each.classes) for level in range(len(self.capacities)))


def reuse(accesses: ScheduledAccesses, levels: Sequence[CacheLevel], seconds: float = 1.0, whole: bool = True) -> Reuses:
    """Returns the reuse of lines of all references. Sizes and addresses must be given in `accesses`.

    levels: caches with lines of one length.
    seconds: how long to search; a reference whose reuse is not found by then has a `problem` that says so.
    whole: whether to go on to all uses of each reference, which takes most of the time, after a sample of iterations around the
        middle of each loop; False: only the sample is examined, and the numbers are estimates, as if all iterations were like it.

    Raises ScheduleError for a schedule that is not made of loops and sequences.
    """
    start = time.monotonic()
    deadline = start + seconds
    scop, sizes, places, line_bytes = accesses.scop, accesses.sizes, accesses.places, levels[0].line_bytes
    assert places is not None
    used = [name for name in polyhedra.parameter_names(scop.domain) if name in sizes]
    steps = _steps(scop, accesses.schedule, line_bytes)
    units = {name: unit for name in used if (unit := _unit(sizes[name], steps)) > 1}
    least = {name: min(sizes[name], 2 * units.get(name, 8)) for name in used}
    capacities = tuple(level.size_bytes // line_bytes for level in levels)
    loops = coordinates(accesses.schedule, scop.statements)
    search = _ReuseSearch(accesses, line_bytes, units, capacities, loops, deadline)
    found = search.found({name: sizes[name] for name in used}, in_the_middle=True)
    if whole:
        found |= {r: each for r, each in search.found(least).items() if not each.problem or found[r].problem}
    facts = [f"{name} >= {bound}" for name, bound in least.items() if bound > 0]
    facts += [f"{name} is a multiple of {unit}" for name, unit in units.items()]
    arrays = dict.fromkeys(r.array for r in accesses.references)
    unaligned = tuple(a for a in arrays if not begin_on_lines(scop.arrays[a], places[a], line_bytes))
    return Reuses(found, capacities, tuple(facts), unaligned, time.monotonic() - start)


@dataclass(frozen=True)
class _ReuseSearch:
    """A _ReuseSearch finds the reuse of references, until a deadline.

    units: {size: unit}, a number that the size is a multiple of; the size's name in formulas stands for size / unit.
    capacities: by cache level, how many lines it holds.
    loops: by statement, the name of the loop behind each coordinate of its time, "" for none.
    deadline: when to stop, a time of `time.monotonic`.
    """

    accesses: ScheduledAccesses
    line_bytes: int
    units: Mapping[str, int]
    capacities: tuple[int, ...]
    loops: Mapping[str, tuple[str, ...]]
    deadline: float

    @cached_property
    def values(self) -> dict[str, int]:
        """Returns {size: its value divided by its unit}, since in formulas a size stands for this quotient."""
        return counted(self.accesses.sizes, self.units)

    def found(self, least: Mapping[str, int], in_the_middle: bool = False) -> dict[ArrayReference, ReferenceReuse]:
        """Returns the reuse of each reference, found as formulas that hold for all sizes from those in `least` on.

        least: {size: its least value}.
        in_the_middle: whether to examine a sample alone, a few iterations around the middle of each loop; False: all uses.

        The time that is left is divided evenly among the references, then once more among those for which it was too short.
        """
        try:
            with within(self.deadline):
                facts = SizeFacts(polyhedra.parameters_at_least(least), self.units)
                symbolic = replace(self.accesses, sizes={}, places=None)
                all_uses = [line_uses(symbolic, r, self.line_bytes, facts) for r in self.accesses.references]
                finder = Finder(all_uses, self.deadline, self.units)
        except CannotCount as why:
            return {r: ReferenceReuse(r, problem=str(why)) for r in self.accesses.references}
        found: dict[ArrayReference, ReferenceReuse] = {}
        for _ in range(2):
            waiting = [used for used in all_uses if used.reference not in found or found[used.reference].problem == TOO_LONG]
            for number, used in enumerate(waiting):
                now = time.monotonic()
                finder.deadline = now + (self.deadline - now) / (len(waiting) - number)
                found[used.reference] = self._one(finder, used, in_the_middle)
        return found

    def _one(self, finder: Finder, used: LineUses, in_the_middle: bool) -> ReferenceReuse:
        """Returns the reuse of one reference, or a result whose `problem` says why it is not known."""
        try:
            with within(finder.deadline):
                scop, sizes = self.accesses.scop, self.accesses.sizes
                domain = polyhedra.fix(scop.statements[used.reference.statement].domain, sizes)
                total = count(domain, finder.deadline).evaluate(sizes)
                if in_the_middle:
                    per_line = self.line_bytes // scop.arrays[used.reference.array].element.size_bytes
                    used = used.within(polyhedra.central_window(used.times, self.values, per_line))
                return self._summary(used.reference, finder, finder.of(used), total, in_the_middle)
        except CannotCount as why:
            return ReferenceReuse(used.reference, problem=str(why))

    def _summary(
        self, reference: ArrayReference, finder: Finder, distances: ReuseDistances, total: int, in_the_middle: bool
    ) -> ReferenceReuse:
        """Returns the reuse of a reference: its uses divided into classes by the reference that used the line last, by kind, and by
        the loop whose iterations lie between.

        distances: of all uses of the reference, or of a sample of them.
        total: how many uses the reference makes; the numbers of a sample are scaled up to it.
        """
        loops, values = self.loops[reference.statement], self.values
        together: dict[tuple[ArrayReference, str, str], list[tuple[Spread, Poly]]] = {}
        for each in distances.reuses:
            here = spread(each.region, each.distance, self.capacities, values, finder.deadline)
            if here is not None:
                kind = "temporal" if each.same_element else "spatial"
                key = each.source, kind, loops[each.carried] if each.carried < len(loops) else ""
                together.setdefault(key, []).append((here, _formula(each, distances, loops)))
        times = Fraction(total, distances.accesses.evaluate(values) or 1)
        classes = sorted((_class(*key, spreads, times) for key, spreads in together.items()), key=lambda c: -c.uses)
        first = round(distances.cold.evaluate(values) * times)
        return ReferenceReuse(reference, total, first, tuple(classes), in_the_middle, distances=distances)


def _steps(scop: Scop, schedule: isl.Schedule, line_bytes: int) -> list[int]:
    """Returns, ascending, the numbers of elements that a cache line has, for each element type, and the sizes of tiles. Formulas
    are simple for array sizes that are multiples of these.
    """
    order = schedule.get_map().intersect_domain(scop.domain)
    tiles = {divisor for piece in polyhedra.pieces(order) for divisor in polyhedra.divisors(piece)}
    return sorted({line_bytes // a.element.size_bytes for a in scop.arrays.values()} | tiles)


def _unit(size: int, steps: Sequence[int]) -> int:
    """Returns the number by which a size is divided in formulas: the steps are combined, smallest first, into their least common
    multiple, as long as it divides the size and is at most half of it.

    steps: numbers of which a size should be a multiple, ascending.
    """
    unit = 1
    for step in steps:
        both = lcm(unit, step)
        unit = both if size % both == 0 and size >= 2 * both else unit
    return unit


def _formula(reuse: LineReuse, distances: ReuseDistances, loops: Sequence[str]) -> Poly:
    """Returns the reuse distance of a `LineReuse` as a formula of sizes and loop iterators, which replace the coordinates of time.

    loops: the name of the loop behind each coordinate of time; "" for a coordinate that is no loop's iterator.
    """
    iterators = {}
    for name, loop, (step, start) in zip(distances.clock, loops, reuse.steps):
        if loop:
            iterators[name] = (Poly.atom(loop) - Poly.number(start)).scaled(Fraction(1, step))
    return replaced(in_sizes(reuse.distance, distances.units), iterators)


def _class(source: ArrayReference, kind: str, carried: str, spreads: Sequence[tuple[Spread, Poly]], times: Fraction) -> ReuseClass:
    """Returns the class of those uses that lie in the given regions, which are parts of the uses of one reference.

    source, kind, carried: what the class's fields of these names are set to.
    spreads: for each region, how its distances are distributed, and the distance as a formula.
    times: how many uses each use in the regions stands for; more than one where the regions are a sample.
    """
    by_formula: dict[Poly, int] = {}
    for here, formula in spreads:
        by_formula[formula] = by_formula.get(formula, 0) + here.points
    usual = max(by_formula, key=lambda formula: (by_formula[formula], str(formula)))
    points = sum(here.points for here, _ in spreads)
    misses = [sum(numbers) for numbers in zip(*(here.misses for here, _ in spreads))]
    hits = [before - behind for before, behind in zip([points, *misses], [*misses, 0])]
    least, greatest = min(here.least for here, _ in spreads), max(here.greatest for here, _ in spreads)
    points, most, *hits = (round(number * times) for number in (points, by_formula[usual], *hits))
    return ReuseClass(source, kind, carried, points, usual, most, least, greatest, tuple(hits))
