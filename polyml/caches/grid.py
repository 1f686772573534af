"""Distances that are no linear functions of time, point by point: of the few coordinates that are in them, with how many points of
the region share these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import lcm, prod

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.model.counting import CannotCount, count
from polyml.model.quasi import Atom, Poly

MOST_CELLS = 4_000_000
LARGEST = 2**62


def tabulated(region: isl.Set, distance: Poly, deadline: float) -> tuple[np.ndarray, np.ndarray]:
    """(distances, how many points have each), a distance perhaps several times. region: of parameters, bounded, not empty.

    Raises CannotCount where the distance has coordinates with too many values.
    """
    names = sorted(distance.names)
    ranges = [polyhedra.parameter_range(region, name) for name in names]
    if prod(high - low + 1 for low, high in ranges) > MOST_CELLS:
        raise CannotCount("a distance is no linear function of time")
    axes = np.meshgrid(*(np.arange(low, high + 1) for low, high in ranges), indexing="ij", sparse=True)
    cells = dict(zip(names, axes))
    most = {name: max(abs(low), abs(high)) for name, (low, high) in zip(names, ranges)}
    shape = [high - low + 1 for low, high in ranges]
    others = [name for name in polyhedra.parameter_names(region) if name not in names]
    numbers = np.zeros(shape, np.int64)
    for where, number in count(polyhedra.parameters_as_set(region, others), deadline).pieces:
        inside = np.zeros(shape, bool)
        for part in polyhedra.disjoint(polyhedra.parameters_as_set(polyhedra.on_parameters(where, names), names)):
            inside |= _inside(part, axes)
        numbers += np.where(inside, _values(number, cells, most), 0)
    here = numbers > 0
    return np.broadcast_to(_values(distance, cells, most), shape)[here], numbers[here]


def _inside(part: isl.Set, axes: Sequence[np.ndarray]) -> np.ndarray:
    """Where the constraints of { [names] : ... } hold."""
    rows = polyhedra.integer_rows(part)
    if rows is None:
        raise CannotCount("a piece has alternatives")
    equal, least = rows
    found = np.ones((), bool)
    for row in equal:
        found = found & (_row(row, axes) == 0)
    for row in least:
        found = found & (_row(row, axes) >= 0)
    return found


def _row(row: polyhedra.LinearRow, axes: Sequence[np.ndarray]) -> np.ndarray:
    terms, constant = row
    total = np.full((), constant, np.int64)
    for name, c in terms.items():
        inner = _row((dict(name.terms), name.constant), axes) // name.divisor if isinstance(name, polyhedra.Quotient) else axes[name]
        total = total + c * inner
    return total


def _values(value: Poly, cells: Mapping[str, np.ndarray], most: Mapping[str, int]) -> np.ndarray:
    """Exactly: CannotCount for numbers that are too large. most: of each cell's absolute value."""
    factor = lcm(*(c.denominator for _, c in value.terms))
    largest = sum(abs(c) * factor * prod(_largest(atom, most) ** power for atom, power in m) for m, c in value.terms)
    if largest > LARGEST:
        raise CannotCount("numbers of more than 64 bits")
    total = np.zeros((), np.int64)
    for monomial, c in value.terms:
        product = np.full((), int(c * factor), np.int64)
        for atom, power in monomial:
            product = product * _atom(atom, cells) ** power
        total = total + product
    return total // factor


def _atom(atom: Atom, cells: Mapping[str, np.ndarray]) -> np.ndarray:
    if isinstance(atom, str):
        return cells[atom]
    return (sum((c * _atom(part, cells) for part, c in atom.terms), np.int64(atom.constant))) // atom.divisor


def _largest(atom: Atom, most: Mapping[str, int]) -> int:
    if isinstance(atom, str):
        return most[atom]
    return (sum(abs(c) * _largest(part, most) for part, c in atom.terms) + atom.constant) // atom.divisor + 1
