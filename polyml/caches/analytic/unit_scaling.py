"""Sizes as multiples of units: N = 32 counted in units of 8 is 4; and formulas over such counts as formulas over the sizes.

A formula over N' = N / 8 has fewer floors and cases than one over N.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import lcm

from polyml import polyhedra
from polyml.model.counting.cardinality import Count
from polyml.model.counting.quasi_polynomial import Atom, Poly, floor


def counted(sizes: Mapping[str, int], units: Mapping[str, int]) -> dict[str, int]:
    """Returns each size divided by its unit; one without a unit stays as it is.

    >>> counted({"N": 32, "M": 5}, {"N": 8})
    {'N': 4, 'M': 5}

    Raises ValueError for a size that is no multiple of its unit.
    """
    for name, value in sizes.items():
        if value % units.get(name, 1):
            raise ValueError(f"{name} = {value} is no multiple of {units[name]}")
    return {name: value // units.get(name, 1) for name, value in sizes.items()}


def in_sizes(value: Poly, units: Mapping[str, int]) -> Poly:
    """Takes a formula in which each size's name stands for size / unit, and returns it as a formula in which the names stand for
    the sizes themselves.

    >>> str(in_sizes(Poly.linear([("N", 2)], 1), {"N": 8}))
    '(1/4)*N + 1'
    """
    return replaced(value, {name: Poly.atom(name).scaled(Fraction(1, unit)) for name, unit in units.items()})


def replaced(value: Poly, values: Mapping[str, Poly]) -> Poly:
    """Returns a formula in which some names are replaced by polynomials, also inside floors, where the polynomials must be linear.

    values: the polynomials by name; their coefficients may be fractions.
    """
    total = Poly()
    for monomial, c in value.terms:
        product = Poly.number(c)
        for atom, power in monomial:
            product = product * _atom(atom, values).power(power)
        total = total + product
    return total


def _atom(atom: Atom, values: Mapping[str, Poly]) -> Poly:
    """Returns an atom as a polynomial in which names that are in `values` are replaced. An atom is a name, or a floor: an integer
    quotient of a linear expression of names.
    """
    if isinstance(atom, str):
        return values.get(atom) or Poly.atom(atom)
    inside = Poly.number(atom.constant)
    for part, c in atom.terms:
        inside = inside + _atom(part, values).scaled(c)
    factor = lcm(*(c.denominator for _, c in inside.terms))
    return floor(inside.scaled(factor), atom.divisor * factor)


def count_in_sizes(count: Count, units: Mapping[str, int]) -> Count:
    """Takes a count in which each size's name stands for size / unit, and returns it as a count in which the names stand for the
    sizes themselves.
    """
    return Count(tuple((polyhedra.from_units(region, units), in_sizes(value, units)) for region, value in count.pieces))
