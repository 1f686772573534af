"""Exact numbers of the cache lines in which sets of array elements lie, for arrays at any address.

Elements next to each other in a row of an array are a run of bytes; the lines of all runs are united as intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.codegen.ir.array_layout import Placed
from polyml.model.counting.cardinality import CannotCount

MOST_RUNS = 1 << 22  # that are looked at

Columns = list[np.ndarray]  # one array of integers for each coordinate


def lines(elements: Iterable[tuple[isl.Set, Placed]], line_bytes: int) -> int:
    """Returns the number of cache lines that sets of elements lie in; a line with elements of two arrays counts once.

    elements: sets { A[i] } without parameters, each with the address of its array.

    Raises CannotCount where the sets have too many rows, about four million.
    """
    firsts, lasts = [], []
    for domain, place in elements:
        if _is_whole(domain, place):
            firsts.append(np.array([place.address // line_bytes]))
            lasts.append(np.array([(place.end - 1) // line_bytes]))
            continue
        for rows, first, last in _rows(domain):
            start = np.full(len(first), place.address)
            for column, stride in zip(rows, place.strides):
                start = start + stride * column
            step = place.strides[-1] if place.strides else 0
            firsts.append((start + step * first) // line_bytes)
            lasts.append((start + step * last + place.element_bytes - 1) // line_bytes)
    return _covered(np.concatenate(firsts), np.concatenate(lasts)) if firsts else 0


def _is_whole(domain: isl.Set, place: Placed) -> bool:
    """Returns whether a set of elements { A[i] } has every element of the array whose address, strides and shape are given."""
    return place.size_bytes > 0 and domain.is_equal(polyhedra.box_of(domain, place.shape))


def _covered(first: np.ndarray, last: np.ndarray) -> int:
    """Returns how many integers lie in at least one of the intervals first[k] ... last[k]."""
    order = np.argsort(first, kind="stable")
    first, last = first[order], last[order]
    before = np.concatenate([[-1], np.maximum.accumulate(last)[:-1]])
    return int(np.maximum(last - np.maximum(first, before + 1) + 1, 0).sum()) if len(first) else 0


def _rows(domain: isl.Set) -> Iterator[tuple[Columns, np.ndarray, np.ndarray]]:
    """Yields the points of a set as runs, which are intervals of points that differ in the last coordinate only.

    A point may be in several runs.

    Each item holds many runs, as (columns, first, last): one array for each coordinate but the last one, with its value in each
    run, and two arrays with the first and the last value of the last coordinate.

    Raises CannotCount where the set is not bounded, or has too many runs.
    """
    if not polyhedra.dimensions(domain):
        if not domain.is_empty():
            yield [], np.zeros(1, np.int64), np.zeros(1, np.int64)
        return
    for part in polyhedra.alternatives(domain):
        found = polyhedra.integer_rows(part)
        if found is None:
            raise CannotCount("a piece has alternatives")
        yield from _rows_of(part, *found)


def _rows_of(
    part: isl.Set, equalities: Sequence[polyhedra.LinearRow], inequalities: Sequence[polyhedra.LinearRow]
) -> Iterator[tuple[Columns, np.ndarray, np.ndarray]]:
    """Yields the points of one conjunction of constraints as runs: each is an interval of points that differ in the last coordinate
    only.

    Each item is (columns, first, last), as of `_rows`: the values of all other coordinates, one array for each, then the first and
    the last value of the last coordinate, one number for each run.

    equalities, inequalities: the constraints of `part`.
    """
    last = polyhedra.dimensions(part) - 1
    columns: Columns = []
    for dim in range(last):
        columns = _extended(columns, *_bounds(_hull(part, dim), dim, columns))
    rows = _at_least(equalities, inequalities)
    if any(_involves(name, last) for terms, _ in rows for name in terms if name != last):  # not every value between the bounds
        *columns, first = _chosen(_extended(columns, *_bounds(_hull(part, last), last, columns)), rows)
        yield columns, first, first
        return
    first, end = _bounds(rows, last, columns)
    holds = end >= first
    for row in rows:
        if last not in row[0]:
            holds = holds & (_value(row, columns) >= 0)
    yield [c[holds] for c in columns], first[holds], end[holds]


def _at_least(equalities: Sequence[polyhedra.LinearRow], inequalities: Sequence[polyhedra.LinearRow]) -> list[polyhedra.LinearRow]:
    """Returns equalities and inequalities as inequalities alone: a list of linear rows (coefficients and a constant), each of which
    stands for row >= 0. An equality becomes two.
    """
    return [*inequalities, *equalities, *(({k: -c for k, c in terms.items()}, -number) for terms, number in equalities)]


def _hull(part: isl.Set, dim: int) -> list[polyhedra.LinearRow]:
    """Returns inequalities (row >= 0, with rows of coefficients and a constant) that describe the projection of a set on its
    dimensions 0 ... dim.
    """
    found = polyhedra.integer_rows(polyhedra.first_dimensions(part, dim + 1))
    assert found is not None
    return _at_least(*found)


def _chosen(columns: Columns, rows: Sequence[polyhedra.LinearRow]) -> Columns:
    """Returns those points that meet all inequalities (rows >= 0). columns: the points, one array of values for each coordinate."""
    holds = np.ones(len(columns[0]), bool)
    for row in rows:
        holds &= _value(row, columns) >= 0
    return [c[holds] for c in columns]


def _bounds(rows: Sequence[polyhedra.LinearRow], dim: int, columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Returns two arrays: for each given point, the least and the greatest value that inequalities (row >= 0) allow of its next
    coordinate, number `dim`.

    columns: the points, whose coordinates are the dimensions before `dim`.

    Raises CannotCount where the inequalities do not bound the dimension.
    """
    low: list[np.ndarray] = []
    high: list[np.ndarray] = []
    for terms, number in rows:
        c = terms.get(dim, 0)
        if not c:
            continue
        rest = _value(({k: v for k, v in terms.items() if k != dim}, number), columns)
        if c > 0:
            low.append(-(rest // c))
        else:
            high.append(rest // -c)
    if not low or not high:
        raise CannotCount("the set is not bounded")
    return np.maximum.reduce(low), np.minimum.reduce(high)


def _extended(columns: Columns, first: np.ndarray, last: np.ndarray) -> Columns:
    """Returns points with one more coordinate, which takes each value from first[k] to last[k] for the k-th point.

    Raises CannotCount where they are too many, more than about four million.
    """
    count = np.maximum(last - first + 1, 0)
    if count.sum() > MOST_RUNS:
        raise CannotCount(f"more than {MOST_RUNS} rows")
    which = np.repeat(np.arange(len(count)), count)
    new = first[which] + np.arange(len(which)) - (np.cumsum(count) - count)[which]
    return [*(c[which] for c in columns), new]


def _value(row: polyhedra.LinearRow, columns: Columns) -> np.ndarray:
    """Returns the value of a linear row, which has coefficients of names and a constant, at each point.

    columns: the points, one array of values for each coordinate.
    """
    terms, number = row
    total = np.full(len(columns[0]) if columns else 1, number)
    for name, c in terms.items():
        total = total + c * _column(name, columns)
    return total


def _column(name: str | int | polyhedra.Quotient, columns: Columns) -> np.ndarray:
    """Returns the value at each point of a name in a linear row: a dimension (an int), or an integer quotient of dimensions."""
    if isinstance(name, int):
        return columns[name]
    assert isinstance(name, polyhedra.Quotient)  # there are no parameters
    return _value((dict(name.terms), name.constant), columns) // name.divisor


def _involves(name: str | int | polyhedra.Quotient, dim: int) -> bool:
    """Returns whether a name in a linear row depends on the dimension number `dim`: it is this number itself, or an integer
    quotient of an expression that has the number or another such quotient.
    """
    return name == dim or isinstance(name, polyhedra.Quotient) and any(_involves(inner, dim) for inner, _ in name.terms)
