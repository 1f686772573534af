"""Linear constraints over integer unknowns as rows, and the steps by which `cardinality` counts the points that satisfy them."""

from __future__ import annotations

from math import gcd, lcm

from polyml.model.counting.quasi_polynomial import Floor, Poly, floor

Row = tuple[dict[str, int], int]  # coefficients by name, and a constant; the sum is at least 0, or 0


def replaced(row: Row, name: str, solution: Row) -> Row:
    """Returns the row, a linear expression, with a name replaced by the linear expression `solution`."""
    terms, constant = row
    c = terms.get(name, 0)
    if not c:
        return row
    total = {k: v for k, v in terms.items() if k != name}
    for k, v in solution[0].items():
        total[k] = total.get(k, 0) + c * v
    return {k: v for k, v in total.items() if v}, constant + c * solution[1]


def tidy(rows: list[Row]) -> list[Row] | None:
    """Returns linear constraints row >= 0, divided by common factors; of those that differ in the constant alone, the tightest one.

    The result is None where one of them cannot hold.
    """
    found: dict[tuple, int] = {}
    for terms, constant in rows:
        if not terms:
            if constant < 0:
                return None
            continue
        common = gcd(*terms.values())
        key = tuple(sorted((k, c // common) for k, c in terms.items()))
        found[key] = min(found.get(key, constant // common), constant // common)
    return [(dict(key), constant) for key, constant in found.items()]


def difficulty(name: str, least: list[Row], value: Poly) -> tuple:
    """Returns a sort key of an unknown: the one that should be summed over first has the least key.

    It compares whether the unknown is in a floor of `value`, then how many terms the rows have in which its coefficient is not 1 or
    -1, then how many pairs (lower bound, upper bound) it has.

    least: the rows, at least 0, that bound the unknowns
    value: what is summed
    """
    factors = [r[0][name] for r in least if r[0].get(name)]
    lower = sum(c > 0 for c in factors)
    inside = any(isinstance(a, Floor) and name in a.names for a in value.atoms)
    outside = [  # other unknowns that a floor of this one's bounds would have
        len(r[0]) for r in least if abs(r[0].get(name, 0)) > 1
    ]
    return inside, sum(outside), lower * (len(factors) - lower), name


def bound_of(row: Row, name: str) -> Poly:
    """Returns the bound that row >= 0 sets for a name: its least value, or its greatest where its coefficient is negative."""
    terms, constant = row
    a = terms[name]
    others = Poly.linear([(k, c) for k, c in terms.items() if k != name], constant)
    return -floor(others, a) if a > 0 else floor(others, -a)


def beyond(row: Row, other: Row, name: str, strict: bool) -> Row:
    """Returns a row that is at least 0 where `row` bounds a name as tightly as `other` does, or more tightly, and nowhere else.

    row, other: row >= 0 and other >= 0 are two lower bounds of the name, or two upper ones; they are not rounded to integers
    strict: whether the two bounds may not be equal there
    """
    a, b = abs(row[0][name]), abs(other[0][name])
    return _sum_of(other, a, row, -b, int(strict), name)


def between(low: Row, high: Row, name: str) -> Row:
    """Returns a row that is at least 0 where the lower bound of a name is at most its upper bound.

    low, high: low >= 0 and high >= 0 set the two bounds, which are not rounded to integers
    """
    return _sum_of(low, abs(high[0][name]), high, low[0][name], 0, name)


def _sum_of(row: Row, a: int, other: Row, b: int, less: int, name: str) -> Row:
    total = {k: a * row[0].get(k, 0) + b * other[0].get(k, 0) for k in row[0].keys() | other[0].keys() if k != name}
    return {k: c for k, c in total.items() if c}, a * row[1] + b * other[1] - less


def period(atom: Floor, name: str) -> int:
    """Returns a number that changes the floor by an integer when it is added to a name, whatever the values of all names are."""
    steps = 1
    for part, c in atom.terms:
        if part == name:
            steps = lcm(steps, atom.divisor // gcd(atom.divisor, c))
        elif isinstance(part, Floor) and name in part.names:
            steps = lcm(steps, period(part, name) * atom.divisor)
    return steps
