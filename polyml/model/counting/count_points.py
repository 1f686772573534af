"""How many points sets have: by a formula, or point by point where a formula would have too many cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.model.counting.batch_evaluation import counts
from polyml.model.counting.cardinality import CannotCount, Count, count
from polyml.model.counting.lattice_points import lattice
from polyml.model.counting.quasi_polynomial import Poly

MOST_POINTS = 2**24  # that are in memory at once
FEW_POINTS = 2**18  # that are counted one by one sooner than by a formula


def size(points: isl.Set) -> int:
    """Returns the number of points of a bounded set without parameters.

    >>> size(isl.Set("{ [i, j] : 0 <= i < 10 and 0 <= j <= i }"))
    55
    """
    try:
        return count(points.coalesce()).evaluate({})
    except CannotCount:
        return _one_by_one(points)


def sizes(points: isl.Set) -> Callable[[Mapping[str, int]], int]:
    """Returns a function from values of the parameters to the number of points of a set, which must be bounded for each of them.

    >>> sizes(isl.Set("[n] -> { [i, j] : 0 <= i < n and 0 <= j <= i }"))({"n": 10})
    55
    """
    try:
        return count(points).compiled
    except CannotCount:
        return lambda values: _one_by_one(polyhedra.at_sizes(points, values))


def _one_by_one(points: isl.Set) -> int:
    if points.is_empty():
        return 0
    around = prod(last - first + 1 for first, last in polyhedra.ranges(points))
    return len(lattice(points)) if around <= MOST_POINTS else points.count_val().to_python()


def table(points: isl.Set, names: Sequence[str], at: np.ndarray) -> np.ndarray:
    """Returns an array of the number of points of a set for each row of values of its parameters.

    names: the parameters, one per column
    at: an array of values of shape (rows, parameters)

    >>> table(isl.Set("[n] -> { [i, j] : 0 <= i < n and 0 <= j <= i }"), ["n"], np.array([[3], [10]])).tolist()
    [6, 55]
    """
    try:
        return np.broadcast_to(counts(count(points), dict(zip(names, at.T))), len(at))
    except CannotCount:
        by_values = sizes(points)
        return np.array([by_values(dict(zip(names, row))) for row in at.tolist()], np.int64)


def size_classes(context: isl.Set, sets: Sequence[isl.Set]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yields pairs: how many values of the parameters give the same numbers of points, and these numbers, one for each set.

    context: { : ... }, a bounded set of values of the parameters

    >>> list(size_classes(isl.Set("[n] -> { : 0 <= n < 10 }"), [isl.Set("[n] -> { [i] : 0 <= i < 2 or 0 <= i < n - 7 }")]))
    [(10, (2,))]
    """
    found = _few_classes(context, sets)
    if found is not None:
        return ((number, key) for key, number in found.items())
    return _classes_by_formula(context, sets)


def _few_classes(context: isl.Set, sets: Sequence[isl.Set]) -> Counter[tuple[int, ...]] | None:
    """Returns {numbers of points of the sets: how many values of the parameters give them}, point by point; None for many points."""
    names = polyhedra.parameter_names(context)
    values = _few_points(polyhedra.parameters_as_set(context))
    if values is None or not names or not len(values):
        return None
    low = values.min(axis=0)
    extents = values.max(axis=0) - low + 1
    strides = np.array([prod(extents[k + 1 :].tolist()) for k in range(len(names))])
    columns = []
    for each in sets:
        points = _few_points(polyhedra.with_parameters_in_front(each.intersect_params(context), names))
        if points is None:
            return None
        columns.append(
            np.bincount((points[:, : len(names)] - low) @ strides, minlength=prod(extents.tolist()))[(values - low) @ strides]
        )
    keys, numbers = np.unique(np.column_stack(columns), axis=0, return_counts=True)
    return Counter(dict(zip(map(tuple, keys.tolist()), numbers.tolist())))


def _few_points(points: isl.Set) -> np.ndarray | None:
    """Returns the points of a bounded set, one per row; None where the box around them has more than FEW_POINTS."""
    if points.is_empty():
        return np.empty((0, polyhedra.dimensions(points)), np.int64)
    around = prod(last - first + 1 for first, last in polyhedra.ranges(points))
    return lattice(points) if around <= FEW_POINTS else None


def _classes_by_formula(context: isl.Set, sets: Sequence[isl.Set]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yields what `size_classes` does, by formulas that the regions of the context have."""
    try:
        cases: list[tuple[isl.Set, list[Poly] | None]] = [*_cases(context, [count(each).within(context) for each in sets])]
    except CannotCount:
        cases = [(context, None)]
    found: Counter[tuple[int, ...]] = Counter()
    for region, polys in cases:
        if polys is not None and all(poly.is_number for poly in polys):
            found[tuple(int(poly.constant) for poly in polys)] += size(polyhedra.parameters_as_set(region))
            continue
        names, at = polyhedra.parameter_names(region), lattice(polyhedra.parameters_as_set(region))
        columns = [table(each, names, at) for each in sets]
        keys, numbers = np.unique(np.column_stack(columns), axis=0, return_counts=True)
        for key, number in zip(keys.tolist(), numbers.tolist()):
            found[tuple(key)] += number
    return ((number, key) for key, number in found.items())


def _cases(context: isl.Set, values: Sequence[Count]) -> list[tuple[isl.Set, list[Poly]]]:
    """Returns disjoint regions of a context { : ... }, each with a list of formulas, one for each of the counts."""
    cases: list[tuple[isl.Set, list[Poly]]] = [(context, [])]
    for each in values:
        cases = [(region, [*polys, poly]) for known, polys in cases for region, poly in _parts(known, each)]
    return cases


def _parts(region: isl.Set, counted: Count) -> Iterator[tuple[isl.Set, Poly]]:
    """Yields disjoint parts of a region, each with the formula of the count in it, which is 0 where the count has none."""
    for where, poly in counted.pieces:
        both = region.intersect(where)
        if not both.is_empty():
            yield both, poly
            region = region.subtract(both)
    if not region.is_empty():
        yield region, Poly()
