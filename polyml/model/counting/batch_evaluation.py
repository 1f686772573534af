"""Regions, quasi-polynomials and counts at many values of their parameters at once, by NumPy: exactly, in 64 bits."""

from __future__ import annotations

from collections.abc import Mapping
from math import lcm, prod

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.model.counting.cardinality import CannotCount, Count
from polyml.model.counting.lattice_points import row_at, rows_of
from polyml.model.counting.quasi_polynomial import Atom, Poly

LARGEST = 2**62

Columns = Mapping[str, np.ndarray]  # values by name, of shapes that fit each other


def counts(counted: Count, at: Columns) -> np.ndarray:
    """Returns the values of a count, as an array, for arrays of values of its parameters.

    Raises CannotCount where 64 bits are too few.

    at: the array of values of each parameter, of shapes that NumPy can broadcast to that of the result
    """
    most, total = largest(at), np.zeros((), np.int64)
    factor = lcm(*(c.denominator for _, value in counted.pieces for _, c in value.terms))
    if sum(_bound(value, most) for _, value in counted.pieces) * factor > LARGEST:
        raise CannotCount("numbers of more than 64 bits")
    for region, value in counted.pieces:
        total = total + np.where(holds(region, at), _scaled(value, factor, at), 0)
    return total // factor


def holds(region: isl.Set, at: Columns) -> np.ndarray:
    """Returns an array of whether the parameters are in the parameter set { : ... }, for arrays of values of the parameters.

    at: the array of values of each parameter, of shapes that NumPy can broadcast to that of the result
    """
    found = np.zeros((), bool)
    for part in polyhedra.alternatives(region):
        zero, least = rows_of(part)
        here = np.ones((), bool)
        for row in zero:
            here = here & (row_at(row, at) == 0)
        for row in least:
            here = here & (row_at(row, at) >= 0)
        found = found | here
    return found


def values(value: Poly, at: Columns) -> np.ndarray:
    """Returns the values of a quasi-polynomial, as an array, for arrays of values of its names.

    Raises CannotCount where 64 bits are too few.

    at: the array of values of each name, of shapes that NumPy can broadcast to that of the result
    """
    factor = lcm(*(c.denominator for _, c in value.terms))
    if _bound(value, largest(at)) * factor > LARGEST:
        raise CannotCount("numbers of more than 64 bits")
    return _scaled(value, factor, at) // factor


def largest(at: Columns) -> dict[str, int]:
    """Returns by name the largest absolute value in the array of that name; 0 for an empty array."""
    return {name: max(abs(int(column.min(initial=0))), int(column.max(initial=0))) for name, column in at.items()}


def _scaled(value: Poly, factor: int, at: Columns) -> np.ndarray:
    total = np.zeros((), np.int64)
    for monomial, c in value.terms:
        product = np.full((), int(c * factor), np.int64)
        for atom, power in monomial:
            product = product * _atom(atom, at) ** power
        total = total + product
    return total


def _atom(atom: Atom, at: Columns) -> np.ndarray:
    if isinstance(atom, str):
        return at[atom]
    return (sum((c * _atom(part, at) for part, c in atom.terms), np.int64(atom.constant))) // atom.divisor


def _bound(value: Poly, most: Mapping[str, int]) -> int:
    return sum(abs(c) * prod(_most(atom, most) ** power for atom, power in monomial) for monomial, c in value.terms)


def _most(atom: Atom, most: Mapping[str, int]) -> int:
    if isinstance(atom, str):
        return most[atom]
    return (sum(abs(c) * _most(part, most) for part, c in atom.terms) + abs(atom.constant)) // atom.divisor + 1
