"""How many points of a region have at least a distance: the uses that miss in a fully associative cache with LRU replacement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, lcm

import islpy as isl

from polyml import polyhedra
from polyml.caches.units import counted
from polyml.model.counting import CannotCount, Count, count
from polyml.model.quasi import Poly

SPARE = "_spare"  # a parameter: the part of a distance that sizes alone give, less the lines of the cache
MOST_SLICES = 4096  # values of one coordinate of time that are looked at one after the other


@dataclass(frozen=True)
class Term:
    """Adds `value` where `region`, { : constraints on sizes and SPARE }, holds. spare: the value that SPARE has."""

    region: isl.Set
    value: Poly
    spare: Poly

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        return Count(((self.region, self.value),)).evaluate({**sizes, SPARE: self.spare.evaluate(sizes)})


@dataclass(frozen=True)
class Misses:
    """cold: of lines that nothing used before. units: in which sizes are counted."""

    cold: Count
    capacity: tuple[Term, ...]
    units: Mapping[str, int]

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        values = counted(sizes, self.units)
        return self.cold.evaluate(values) + sum(term.evaluate(values) for term in self.capacity)


def formula_from(region: isl.Set, distance: Poly, lines: int, clock: Sequence[str], deadline: float = inf) -> Iterator[Term]:
    """clock: the names that are coordinates of time, not sizes. Raises CannotCount for a distance that is not the sum of a
    linear function of these and one of sizes alone.
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
    for where, value in count(domain, deadline).pieces:
        yield Term(where, value, spare)


def count_from(region: isl.Set, distance: Poly, lines: int, sizes: Mapping[str, int]) -> int:
    """With these sizes."""
    region = polyhedra.fix(region, sizes)
    if region.is_empty():
        return 0
    return _count_from(region, distance.substitute({n: Poly.number(v) for n, v in sizes.items()}), lines)


def _count_from(region: isl.Set, distance: Poly, lines: int) -> int:
    """How many points have at least this distance."""
    distance = distance.substitute(_numbers(region))
    if distance.is_number:
        return _points(region) if distance.constant >= lines else 0
    condition = _condition(distance - Poly.number(lines))
    return _sliced(region, distance, lines) if condition is None else _points(polyhedra.with_condition(region, condition))


def _condition(value: Poly) -> str | None:
    """That the value is at least 0, where it is linear."""
    linear = value.scaled(lcm(*(c.denominator for _, c in value.terms))).as_linear()
    if linear is None:
        return None
    terms, constant = linear
    return " + ".join([*(f"{c}*{atom}" for atom, c in terms.items()), str(constant)]) + " >= 0"


def _numbers(region: isl.Set) -> dict[str, Poly]:
    """The parameters that have one value there."""
    return {name: Poly.number(value) for name, value in polyhedra.fixed_parameters(region).items()}


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
    return count(polyhedra.parameters_as_set(region)).evaluate({})
