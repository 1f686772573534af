"""Counts of the uses that miss in a fully associative LRU cache: those whose reuse distance is at least the number of its lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, lcm, prod

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.caches.analytic.unit_scaling import counted
from polyml.model.counting.batch_evaluation import holds, values
from polyml.model.counting.cardinality import CannotCount, Count, count
from polyml.model.counting.quasi_polynomial import Atom, Poly

SPARE = "_spare"  # a parameter: the part of a distance that sizes alone give, less the lines of the cache
MOST_POINTS = 4_000_000  # combinations of coordinates for which distances are tabulated
MOST_SLICES = 4096  # values of one coordinate of time that are looked at one after the other


@dataclass(frozen=True)
class CapacityTerm:
    """A CapacityTerm is a formula for the capacity misses (all but the compulsory ones) among some uses of cache lines by a
    reference.

    number: the number of these misses, as a formula of sizes and one more parameter, whose value is that of `spare`.
    spare: the part of the uses' reuse distance that depends on sizes alone, minus the number of lines of the cache, as a formula of
        sizes.
    """

    number: Count
    spare: Poly

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """Returns the number of misses. sizes: each divided by its unit, a number that it is known to be a multiple of."""
        return self.number.evaluate({**sizes, SPARE: int(self.spare.evaluate(sizes))})


@dataclass(frozen=True)
class MissFormula:
    """A MissFormula gives the misses of a reference in a cache of a given size, for any sizes of the arrays.

    cold: the number of uses of lines that nothing used before.
    capacity: terms whose sum is the number of all other misses.
    units: {size: unit}, a number that the size has to be a multiple of; the size's name in the formulas stands for size / unit.
    """

    cold: Count
    capacity: tuple[CapacityTerm, ...]
    units: Mapping[str, int]

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """Returns the number of misses at given sizes. Raises ValueError for a size that is no multiple of its unit."""
        values = counted(sizes, self.units)
        return self.cold.evaluate(values) + sum(term.evaluate(values) for term in self.capacity)


@dataclass(frozen=True)
class Spread:
    """A Spread tells how the reuse distances of a region's points, which are uses of cache lines, are distributed.

    points: how many points there are.
    least, greatest: the bounds of their distances.
    misses: for each capacity that was asked for, how many points have at least that distance.
    """

    points: int
    least: int
    greatest: int
    misses: tuple[int, ...]


def miss_terms(region: isl.Set, distance: Poly, lines: int, clock: Sequence[str], deadline: float = inf) -> Iterator[CapacityTerm]:
    """Yields a formula for the number of points of a region (a set of uses) whose reuse distance is at least `lines`; yields
    nothing where there are none.

    They are the uses that miss in a fully associative cache of so many lines.

    distance: the reuse distance, a formula of sizes and coordinates of time.
    clock: the names of the coordinates of time; other names are sizes.
    deadline: when to give up, a time of `time.monotonic`.

    Raises CannotCount for a distance that is not a linear function of time plus a function of sizes.
    """
    distance = distance.substitute(_numbers(region)) - Poly.number(lines)
    spare = Poly.of({m: c for m, c in distance.terms if Poly(frozenset(((m, c),))).names.isdisjoint(clock)})
    timed = distance - spare
    if spare.is_number:
        if not timed.terms and spare.constant < 0:
            return
        condition, spare = _condition(timed + spare), Poly()
    else:
        factor = lcm(*(c.denominator for _, c in distance.terms))
        timed, spare = timed.scaled(factor), spare.scaled(factor)
        condition = _condition(timed + Poly.atom(SPARE))
        region = polyhedra.with_parameter(region, SPARE)
    if condition is None:
        raise CannotCount("a distance is no linear function of time")
    domain = polyhedra.parameters_as_set(polyhedra.with_condition(region, condition), clock)
    yield CapacityTerm(count(domain, deadline), spare)


def count_misses(region: isl.Set, distance: Poly, lines: int, sizes: Mapping[str, int], deadline: float = inf) -> int:
    """Returns how many points of a region have a reuse distance of at least `lines`, the capacity of a cache, at given sizes."""
    region, distance = _at(region, distance, sizes)
    return 0 if region.is_empty() else _count_misses(region, distance, lines, deadline)


def spread(
    region: isl.Set, distance: Poly, capacities: Sequence[int], sizes: Mapping[str, int], deadline: float = inf
) -> Spread | None:
    """Returns how the reuse distances of a region, a set of uses, are distributed at given sizes; None where the region has no use
    at them.

    capacities: of the caches for which misses are counted, in lines.
    """
    region, distance = _at(region, distance, sizes)
    if region.is_empty():
        return None
    linear = _linear(distance)
    if linear is None:
        distances, numbers = _tabulated(region, distance, deadline)
        misses = tuple(int(numbers[distances >= lines].sum()) for lines in capacities)
        return Spread(int(numbers.sum()), int(distances.min()), int(distances.max()), misses)
    least, greatest = _extremes(region, *linear)
    points = _points(region, deadline)
    ends = {lines: 0 if lines > greatest else points for lines in capacities if lines > greatest or lines <= least}
    misses = tuple(ends[lines] if lines in ends else _count_misses(region, distance, lines, deadline) for lines in capacities)
    return Spread(points, least, greatest, misses)


def _at(region: isl.Set, distance: Poly, sizes: Mapping[str, int]) -> tuple[isl.Set, Poly]:
    """Returns a region of uses and its reuse distance, after the sizes in both have been replaced by their values."""
    region = polyhedra.fix(region, sizes)
    numbers = {n: Poly.number(v) for n, v in sizes.items()} | _numbers(region)
    return region, distance.substitute(numbers)


def _count_misses(region: isl.Set, distance: Poly, lines: int, deadline: float) -> int:
    """Returns how many points of a region have a reuse distance of at least `lines`, where no size is symbolic."""
    distance = distance.substitute(_numbers(region))
    if distance.is_number:
        return _points(region, deadline) if distance.constant >= lines else 0
    condition = _condition(distance - Poly.number(lines))
    if condition is not None:
        missing = polyhedra.with_condition(region, condition)
        try:
            return _points(missing, deadline)
        except CannotCount:
            return _count_by_slices(region, missing, distance, deadline)
    try:
        distances, numbers = _tabulated(region, distance, deadline)
    except CannotCount:
        return _sliced(region, distance, lines, deadline)
    return int(numbers[distances >= lines].sum())


def _tabulated(region: isl.Set, distance: Poly, deadline: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns (distances, numbers), arrays of equal length: numbers[k] points of the region have the reuse distance distances[k]. A
    distance may occur several times.

    region: a bounded, nonempty set of parameters.

    Raises CannotCount where the coordinates that the distance depends on have too many values.
    """
    names = sorted(distance.names)
    ranges = [polyhedra.parameter_range(region, name) for name in names]
    if prod(high - low + 1 for low, high in ranges) > MOST_POINTS:
        raise CannotCount("a distance is no linear function of time")
    axes = np.meshgrid(*(np.arange(low, high + 1) for low, high in ranges), indexing="ij", sparse=True)
    coordinates = dict(zip(names, axes))
    shape = [high - low + 1 for low, high in ranges]
    others = [name for name in polyhedra.parameter_names(region) if name not in names]
    numbers = np.zeros(shape, np.int64)
    for where, number in count(polyhedra.parameters_as_set(region, others), deadline).pieces:
        numbers += np.where(holds(polyhedra.on_parameters(where, names), coordinates), values(number, coordinates), 0)
    here = numbers > 0
    return np.broadcast_to(values(distance, coordinates), shape)[here], numbers[here]


def _count_by_slices(region: isl.Set, missing: isl.Set, distance: Poly, deadline: float) -> int:
    """Returns how many points of a region have a reuse distance, a linear function, of at least the number of lines of a cache.

    missing: these points.

    The points are counted for one value after the other of the coordinate with the largest coefficient in the distance. Only values
    for which some points miss and others do not are counted one by one; those for which all points miss are counted at once.

    Raises CannotCount where there are too many values.
    """
    factors = [(abs(c), monomial[0][0]) for monomial, c in distance.terms if monomial and isinstance(monomial[0][0], str)]
    if not factors:
        raise CannotCount("a distance has quotients alone")
    _, name = max(factors)
    others = [n for n in polyhedra.parameter_names(region) if n != name]
    some, all_but = (polyhedra.forget(s, others) for s in (missing, region.subtract(missing)))
    mixed = polyhedra.points(polyhedra.parameters_as_set(some.intersect(all_but)))
    if len(mixed) > MOST_SLICES:
        raise CannotCount("a distance changes too often")
    whole, total = some.subtract(all_but), 0
    if not whole.is_empty():
        low, high = polyhedra.parameter_range(whole, name)
        between_bounds = polyhedra.with_condition(region, f"{low} <= {name} <= {high}")  # without the bound that the distance is
        total = _points(between_bounds if between_bounds.is_subset(missing) else missing.intersect_params(whole), deadline)
    return total + sum(_points(polyhedra.with_condition(missing, f"{name} = {value}"), deadline) for _, (value,) in mixed)


def _extremes(region: isl.Set, terms: Mapping[Atom, int], constant: int, factor: int) -> tuple[int, int]:
    """Returns the least and the greatest value that a linear function takes over a region, each divided by `factor` and rounded
    down.

    terms: the coefficients of the function, by variable or by floor, which is an integer quotient such as floor(n/8).
    constant: the number that is added.
    """
    if not terms:
        return constant // factor, constant // factor
    region = polyhedra.with_condition(polyhedra.with_parameter(region, SPARE), f"{_text(terms, constant)} = {SPARE}")
    low, high = polyhedra.parameter_range(region, SPARE)
    return low // factor, high // factor


def _linear(value: Poly) -> tuple[dict[Atom, int], int, int] | None:
    """Returns (coefficients, constant, factor), integers such that the polynomial is (sum of coefficient * atom + constant) /
    factor; None where it has products of atoms.

    An atom is a variable, or a floor: an integer quotient such as floor(n/8).
    """
    factor = lcm(*(c.denominator for _, c in value.terms))
    found = value.scaled(factor).as_linear()
    return None if found is None else (*found, factor)


def _condition(value: Poly) -> str | None:
    """Returns, as text for isl, the condition that a polynomial is at least 0; None where the polynomial is not linear."""
    linear = _linear(value)
    return None if linear is None else f"{_text(*linear[:2])} >= 0"


def _text(terms: Mapping[Atom, int], constant: int) -> str:
    """Returns a linear function as text for isl."""
    return " + ".join([*(f"{c}*{atom}" for atom, c in terms.items()), str(constant)])


def _numbers(region: isl.Set) -> dict[str, Poly]:
    """Returns {name: value} for those parameters that can have only one value in a region; the value is a constant polynomial."""
    return {name: Poly.number(value) for name, value in polyhedra.fixed_parameters(region).items()}


def _sliced(region: isl.Set, distance: Poly, lines: int, deadline: float) -> int:
    """Returns how many points of a region have a reuse distance of at least `lines`, for a distance that has products of
    coordinates. The points are counted for one value after the other of one coordinate in these products, that with the smallest
    range.

    Raises CannotCount where this coordinate has too many values.
    """
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
            total += _count_misses(here, distance, lines, deadline)
    return total


def _points(region: isl.Set, deadline: float) -> int:
    """Returns how many points a region has. All names in it are coordinates of its points; none is a symbolic size."""
    return count(polyhedra.parameters_as_set(region), deadline).evaluate({})
