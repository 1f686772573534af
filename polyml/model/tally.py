"""How many points sets have: by a formula, or one by one where that would have too many cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import islpy as isl

from polyml import polyhedra
from polyml.model.counting import CannotCount, Count, count
from polyml.model.lattice import lattice
from polyml.model.quasi import Poly


def size(points: isl.Set) -> int:
    """Of a bounded set without parameters.

    >>> size(isl.Set("{ [i, j] : 0 <= i < 10 and 0 <= j <= i }"))
    55
    """
    try:
        return count(points.coalesce()).evaluate({})
    except CannotCount:
        return len(lattice(points))


def sizes(points: isl.Set) -> Callable[[Mapping[str, int]], int]:
    """By its parameters, for each of whose values the set is bounded.

    >>> sizes(isl.Set("[n] -> { [i, j] : 0 <= i < n and 0 <= j <= i }"))({"n": 10})
    55
    """
    try:
        return count(points).compiled
    except CannotCount:
        return lambda values: len(lattice(polyhedra.at_sizes(points, values)))


def alike(context: isl.Set, sets: Sequence[isl.Set]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """How many values of the parameters in { : ... }, which is bounded, give each set as many points as others, and how many.

    >>> list(alike(isl.Set("[n] -> { : 0 <= n < 10 }"), [isl.Set("[n] -> { [i] : 0 <= i < 2 or 0 <= i < n - 7 }")]))
    [(10, (2,))]
    """
    try:
        found = _by_case(context, [count(each).within(context) for each in sets])
    except CannotCount:
        found = _one_by_one(context, [sizes(each) for each in sets])
    return ((number, key) for key, number in found.items())


def _by_case(context: isl.Set, values: Sequence[Count]) -> Counter[tuple[int, ...]]:
    cases: list[tuple[isl.Set, list[Poly]]] = [(context, [])]
    for each in values:
        cases = [(region, [*polys, poly]) for known, polys in cases for region, poly in _parts(known, each)]
    found: Counter[tuple[int, ...]] = Counter()
    for region, polys in cases:
        if all(poly.is_number for poly in polys):
            found[tuple(poly.constant for poly in polys)] += size(polyhedra.parameters_as_set(region))
        else:
            found += _one_by_one(region, [poly.evaluate for poly in polys])
    return found


def _one_by_one(region: isl.Set, values: Sequence[Callable[[Mapping[str, int]], int]]) -> Counter[tuple[int, ...]]:
    names, found = polyhedra.parameter_names(region), Counter()
    for point in lattice(polyhedra.parameters_as_set(region)).tolist():
        at = dict(zip(names, point))
        found[tuple(value(at) for value in values)] += 1
    return found


def _parts(region: isl.Set, counted: Count) -> Iterator[tuple[isl.Set, Poly]]:
    """The region by the count's formulas, 0 where it has none."""
    for where, poly in counted.pieces:
        both = region.intersect(where)
        if not both.is_empty():
            yield both, poly
            region = region.subtract(both)
    if not region.is_empty():
        yield region, Poly()
