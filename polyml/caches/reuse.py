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
from polyml.caches.distances import TOO_LONG, Distances, Finder, Reuse, within
from polyml.caches.far import Spread, spread
from polyml.caches.placement import Placed
from polyml.caches.trace import Reference
from polyml.caches.units import count_in_sizes, in_sizes, replaced
from polyml.caches.uses import Uses, begin_on_lines, coordinates, uses
from polyml.machine import CacheLevel
from polyml.model.counting import CannotCount, Count
from polyml.model.quasi import Poly
from polyml.model.scop import Scop


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
    problem: why nothing else is known, "" where it is. distances: for all sizes.
    """

    reference: Reference
    uses: int = 0
    first: int = 0
    classes: tuple[ReuseClass, ...] = ()
    problem: str = ""
    distances: Distances | None = field(default=None, repr=False, compare=False)

    def formulas(self) -> tuple[Count, Count]:
        """Uses and first uses in the sizes."""
        if self.distances is None:
            return Count(()), Count(())
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


def reuse(
    scop: Scop,
    schedule: isl.Schedule,
    references: Iterable[Reference],
    sizes: Mapping[str, int],
    places: Mapping[str, Placed],
    levels: Sequence[CacheLevel],
    seconds: float = 1.0,
) -> Reuses:
    """seconds: after how many to stop; what is not found by then says so. ScheduleError for a schedule that is not made of loops
    and sequences.
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
    found: dict[Reference, ReferenceReuse] = {}
    try:
        with within(deadline):
            context = polyhedra.at_least(least)
            all_uses = [uses(scop, schedule, r, {}, None, line_bytes, context, units) for r in references]
            finder = Finder(all_uses, deadline, units)
    except CannotCount as why:
        found = {r: ReferenceReuse(r, problem=str(why)) for r in references}
        all_uses = []
    for _ in range(2):  # the time left is shared evenly, then again by those for which it was too short
        waiting = [used for used in all_uses if used.reference not in found or found[used.reference].problem == TOO_LONG]
        for number, used in enumerate(waiting):
            now = time.monotonic()
            finder.deadline = now + (deadline - now) / (len(waiting) - number)
            found[used.reference] = _found(finder, used, loops[used.reference.statement], sizes, capacities)
    facts = [f"{name} >= {bound}" for name, bound in least.items() if bound > 0]
    facts += [f"{name} is a multiple of {unit}" for name, unit in units.items()]
    arrays = dict.fromkeys(r.array for r in references)
    unaligned = tuple(a for a in arrays if not begin_on_lines(scop.arrays[a], places[a], line_bytes))
    return Reuses({r: found[r] for r in references}, capacities, tuple(facts), unaligned, time.monotonic() - start)


def _found(
    finder: Finder, used: Uses, loops: tuple[str, ...], sizes: Mapping[str, int], capacities: tuple[int, ...]
) -> ReferenceReuse:
    try:
        with within(finder.deadline):
            return _summary(used.reference, finder.of(used), loops, sizes, capacities, finder.deadline)
    except CannotCount as why:
        return ReferenceReuse(used.reference, problem=str(why))


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


def _summary(
    reference: Reference,
    distances: Distances,
    loops: tuple[str, ...],
    sizes: Mapping[str, int],
    capacities: tuple[int, ...],
    deadline: float,
) -> ReferenceReuse:
    values = distances.counted(sizes)
    together: dict[tuple[Reference, str, str], list[tuple[Spread, Poly]]] = {}
    for each in distances.reuses:
        here = spread(each.region, each.distance, capacities, values, deadline)
        if here is not None:
            kind = "temporal" if each.same_element else "spatial"
            key = each.source, kind, loops[each.carried] if each.carried < len(loops) else ""
            together.setdefault(key, []).append((here, _formula(each, distances, loops)))
    classes = sorted((_class(*key, spreads) for key, spreads in together.items()), key=lambda c: -c.uses)
    totals = distances.accesses.evaluate(values), distances.cold.evaluate(values)
    return ReferenceReuse(reference, *totals, tuple(classes), distances=distances)


def _formula(reuse: Reuse, distances: Distances, loops: Sequence[str]) -> Poly:
    """The distance in sizes and in what the loops count."""
    iterators = {}
    for name, loop, (step, start) in zip(distances.clock, loops, reuse.steps):
        if loop:
            iterators[name] = (Poly.atom(loop) - Poly.number(start)).scaled(Fraction(1, step))
    return replaced(in_sizes(reuse.distance, distances.units), iterators)


def _class(source: Reference, kind: str, carried: str, spreads: Sequence[tuple[Spread, Poly]]) -> ReuseClass:
    by_formula: dict[Poly, int] = {}
    for here, formula in spreads:
        by_formula[formula] = by_formula.get(formula, 0) + here.points
    usual = max(by_formula, key=lambda formula: (by_formula[formula], str(formula)))
    points = sum(here.points for here, _ in spreads)
    far = [sum(numbers) for numbers in zip(*(here.far for here, _ in spreads))]
    hits = tuple(before - behind for before, behind in zip([points, *far], [*far, 0]))
    least, greatest = min(here.least for here, _ in spreads), max(here.greatest for here, _ in spreads)
    return ReuseClass(source, kind, carried, points, usual, by_formula[usual], least, greatest, hits)
