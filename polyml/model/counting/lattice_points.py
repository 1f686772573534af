"""The integer points of sets as NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.polyhedra import LinearRow, Quotient

Values = Mapping[Any, np.ndarray | int]  # by names, by numbers of dimensions, or both: Any, since keys of a Mapping are invariant


def lattice(domain: isl.Set) -> np.ndarray:
    """Returns the points of a bounded set without parameters as an array of int64, one row per point.

    >>> lattice(isl.Set("{ [i, j] : 0 <= i < 3 and i <= 2j <= 4 }")).tolist()
    [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 1], [2, 2]]
    """
    parts = [_points(part) for part in polyhedra.disjoint(domain) if not part.is_empty()]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([np.empty((0, polyhedra.dimensions(domain)), np.int64), *parts])


def _points(part: isl.Set) -> np.ndarray:
    """Returns the points of a conjunction of constraints as an array, one row per point.

    It goes dimension by dimension: each point of the first ones is extended by all values of the next one.
    """
    found = np.zeros((1, 0), np.int64)
    count = polyhedra.dimensions(part)
    ranges = polyhedra.ranges(part)
    is_wider = False  # a projection with alternatives takes no point away, so that all constraints are tried at the end
    for depth in range(1, count + 1):
        rows = polyhedra.integer_rows(polyhedra.outer(part, depth))
        is_wider = is_wider or rows is None
        found = _extended(found, rows or ([], []), ranges[depth - 1])
    return found[inside(part, found)] if is_wider else found


def _extended(found: np.ndarray, rows: tuple[list[LinearRow], list[LinearRow]], ends: tuple[int, int]) -> np.ndarray:
    """Returns points with one more dimension: each point once for every value of it within `ends` that satisfies the rows.

    found: one row per point
    rows: (linear expressions that are 0, linear expressions that are at least 0)
    ends: the least and the greatest value
    """
    zero, least = rows
    dim = found.shape[1]
    low, high = (np.full(len(found), end, np.int64) for end in ends)
    rounded: list[tuple[LinearRow, bool]] = []  # rows that have to be tried
    for row, is_zero in [*((row, True) for row in zero), *((row, False) for row in least)]:
        terms, constant = row
        if any(isinstance(name, Quotient) and polyhedra.is_in(name, dim) for name in terms):
            rounded.append((row, is_zero))
        elif dim in terms:
            factor = terms[dim]
            rest = row_value(({name: c for name, c in terms.items() if name != dim}, constant), found)
            if factor > 0 or is_zero:
                np.maximum(low, -((rest if factor > 0 else -rest) // abs(factor)), out=low)
            if factor < 0 or is_zero:
                np.minimum(high, (rest if factor < 0 else -rest) // abs(factor), out=high)
    lengths = np.maximum(high - low + 1, 0)
    ends_ = np.cumsum(lengths)
    steps = np.arange(ends_[-1] if len(ends_) else 0) - np.repeat(ends_ - lengths, lengths)
    found = np.column_stack([np.repeat(found, lengths, axis=0), np.repeat(low, lengths) + steps])
    for row, is_zero in rounded:
        value = row_value(row, found)
        found = found[value == 0 if is_zero else value >= 0]
    return found


def inside(domain: isl.Set, points: np.ndarray) -> np.ndarray:
    """Returns an array of whether each point is in a set without parameters.

    points: one row per point
    """
    found = np.zeros(len(points), bool)
    for part in polyhedra.disjoint(domain):
        zero, least = rows_of(part)
        tests = [row_value(row, points) == 0 for row in zero] + [row_value(row, points) >= 0 for row in least]
        found |= np.logical_and.reduce([np.ones(len(points), bool), *tests])
    return found


def rows_of(part: isl.Set) -> tuple[list[LinearRow], list[LinearRow]]:
    """Returns the equalities and inequalities of a conjunction of constraints. Raises ValueError for a union of several."""
    rows = polyhedra.integer_rows(part)
    if rows is None:
        raise ValueError(f"a set that has alternatives: {part}")
    return rows


def row_value(row: LinearRow, points: np.ndarray, sizes: Mapping[str, int] = {}) -> np.ndarray:
    """Returns an array of the value that a linear expression, the row, has at each point.

    points: one row per point
    sizes: values of the parameters
    """
    at: Values = {**sizes, **dict(enumerate(points.T))}
    return np.broadcast_to(row_at(row, at), len(points))


def row_at(row: LinearRow, at: Values) -> np.ndarray:
    """Returns an array of the values that a linear expression, the row, has for values of its names.

    at: numbers or arrays by name or number of a dimension, of shapes that NumPy can broadcast
    """
    terms, constant = row
    total = np.full((), constant, np.int64)
    for name, factor in terms.items():
        if isinstance(name, Quotient):
            total = total + factor * (row_at((dict(name.terms), name.constant), at) // name.divisor)
        else:
            total = total + factor * at[name]
    return total


def affine(row: Sequence[int], constant: int, points: np.ndarray) -> np.ndarray:
    """Returns an array of row * point + constant for each point.

    points: one row per point
    """
    return points @ np.array(row, np.int64) + constant
