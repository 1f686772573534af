"""Points at which accesses are made, in convex parts in which the addresses are linear."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import islpy as isl

from polyml import polyhedra
from polyml.polyhedra import LinearRow, Quotient

Piece = tuple[isl.Set, LinearRow, int]  # where, and there the byte address: a row over a number


@dataclass(frozen=True)
class PointsPart:
    """A PointsPart is a convex part of a set of points { T[t] }, with the addresses that accesses have there.

    All are linear expressions: coefficients by dimension, and a constant.

    zero: expressions whose value is 0 at the points of the part.
    least: expressions whose value is at least 0 there.
    addresses: the byte address of each access.
    """

    zero: list[LinearRow]
    least: list[LinearRow]
    addresses: tuple[LinearRow, ...]

    @property
    def rows(self) -> list[tuple[LinearRow, bool]]:
        return [*((row, True) for row in self.zero), *((row, False) for row in self.least)]


def value_range(points: isl.Set, dim: int) -> tuple[int, int]:
    """Returns the least and the greatest value along a dimension of bounded points { T[t] } without parameters."""
    found = polyhedra.extremes(polyhedra.along(points, dim))
    assert found is not None, "loops of a launch are bounded"
    return found


def parts_of_points(points: isl.Set, addresses: Sequence[Sequence[Piece]]) -> Iterator[PointsPart]:
    """Yields disjoint convex parts of the points { T[t] }, with the addresses of accesses in each.

    addresses: for each access, pieces (points, linear expression, divisor): at these points its byte address is the expression /
        divisor. A single access may have several pieces; of several accesses, each has one.
    """
    regions = [points.intersect(where) for where, _, _ in addresses[0]] if len(addresses[0]) > 1 else [points]
    for number, region in enumerate(regions):
        rows = tuple(_row(*address[number][1:]) for address in addresses)
        for part in polyhedra.disjoint(region):
            zero, least = _integer_rows(part)
            yield PointsPart(zero, least, rows)


def _integer_rows(part: isl.Set) -> tuple[list[LinearRow], list[LinearRow]]:
    """Returns the constraints of a convex part without parameters as linear expressions: those equal to 0, and those at least 0."""
    found = polyhedra.integer_rows(part)
    assert found is not None, "disjoint parts are conjunctions"
    return found


def _row(row: LinearRow, divisor: int) -> LinearRow:
    """Returns floor(row / divisor) as a linear expression: if `divisor` is not 1, a single term that stands for this quotient."""
    terms, constant = row
    return row if divisor == 1 else ({Quotient(frozenset(terms.items()), constant, divisor): 1}, 0)
