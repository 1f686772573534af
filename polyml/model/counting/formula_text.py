"""Texts of quasi-polynomials and conditions for people, as sympy expressions, and as Python code.

A text is factored where that is shorter: `N**2/2 + N/2` is `N*(N + 1)/2`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import gcd, lcm
from typing import Any

from polyml.model.counting.quasi_polynomial import Atom, Monomial, Poly
from polyml.polyhedra import LinearRow, Quotient

MOST_TO_FACTOR = 60  # terms
LARGEST_ROOT = 16  # of the whole numbers that are tried


def text(poly: Poly) -> str:
    """Returns a quasi-polynomial as text, factored where that is not longer.

    >>> N, M = Poly.atom("N"), Poly.atom("M")
    >>> text((N + Poly.number(2)) * (M + Poly.number(2))), text((N * N + N).scaled(Fraction(1, 2)))
    ('(M + 2)*(N + 2)', 'N*(N + 1)/2')
    """
    if poly.is_number:
        return str(poly.constant)
    divisor = lcm(*(c.denominator for _, c in poly.terms))
    plain = _over(_sum(poly.scaled(divisor)), len(poly.terms), divisor)
    if len(poly.terms) == 1 or len(poly.terms) > MOST_TO_FACTOR:
        return plain
    number, factors = factored(poly)
    parts = [] if abs(number.numerator) == 1 else [str(abs(number.numerator))]
    for factor, power in factors:
        inside = f"({_sum(factor)})" if len(factor.terms) > 1 else _sum(factor)
        parts.append(inside if power == 1 else f"{inside}**{power}")
    product = ("-" if number < 0 else "") + "*".join(parts)
    product = product if number.denominator == 1 else f"{product}/{number.denominator}"
    return product if len(product) <= len(plain) + 1 else plain


def _over(sum_: str, terms: int, divisor: int) -> str:
    if divisor == 1:
        return sum_
    return f"({sum_})/{divisor}" if terms > 1 else f"{sum_}/{divisor}"


def _sum(poly: Poly) -> str:
    """Returns a quasi-polynomial with integer coefficients as the text of a sum, the highest powers first."""
    parts = []
    for monomial, c in sorted(poly.terms, key=lambda term: (-sum(p for _, p in term[0]), str(term[0]))):
        factors = [_atom(a) if p == 1 else f"{_atom(a)}**{p}" for a, p in monomial]
        parts.append((" - " if c < 0 else " + ") + "*".join(factors if factors and abs(c) == 1 else [str(abs(c)), *factors]))
    joined = "".join(parts)
    return joined[3:] if joined.startswith(" + ") else "-" + joined[3:]


def _atom(atom: Atom) -> str:
    if isinstance(atom, str):
        return atom
    inside = _sum(Poly.linear(atom.terms, atom.constant))
    return f"floor({inside}/{atom.divisor})" if inside.isidentifier() else f"floor(({inside})/{atom.divisor})"


def factored(poly: Poly) -> tuple[Fraction, list[tuple[Poly, int]]]:
    """Returns a quasi-polynomial that is not constant as (number, pairs (factor, power)), whose product it is.

    The factors are atoms (names or floors), differences atom - integer, sums atom + expression, and what cannot be divided further.
    """
    divisor = lcm(*(c.denominator for _, c in poly.terms))
    common = gcd(*(int(c * divisor) for _, c in poly.terms))
    first = min(poly.terms, key=lambda term: (-sum(p for _, p in term[0]), str(term[0])))[1]
    number = Fraction(common if first > 0 else -common, divisor)
    rest = poly.scaled(1 / number)
    shortest: Monomial = min((m for m, _ in rest.terms), key=len)
    powers = dict(shortest)
    for monomial, _ in rest.terms:
        own = dict(monomial)
        powers = {a: min(p, own[a]) for a, p in powers.items() if a in own}
    found = {Poly.atom(a): p for a, p in powers.items()}
    rest = _divided_by(rest, tuple(powers.items()))
    for factor in _split(rest):
        if not factor.is_number:
            found[factor] = found.get(factor, 0) + 1
    return number, sorted(found.items(), key=lambda each: (len(each[0].terms), str(each[0])))


def _divided_by(poly: Poly, monomial: Monomial) -> Poly:
    powers = dict(monomial)
    return Poly.of({tuple((a, p - powers.get(a, 0)) for a, p in m if p > powers.get(a, 0)): c for m, c in poly.terms})


def _split(poly: Poly) -> list[Poly]:
    """Returns factors of a polynomial, whose product it is: atom - integer, atom + expression, and what cannot be divided."""
    for atom in sorted(poly.atoms, key=str):
        by_power = poly.in_powers_of(atom)
        if len(by_power) == 2:
            if by_power[1].is_number:
                continue
            shift = divided(by_power[0], by_power[1])
            if shift is not None and all(c.denominator == 1 for _, c in shift.terms):
                return [*_split(by_power[1]), Poly.atom(atom) + shift]
        else:
            for root in sorted(range(-LARGEST_ROOT, LARGEST_ROOT + 1), key=abs):
                factor = Poly.atom(atom) - Poly.number(root)
                quotient = divided(poly, factor) if _at(by_power, root) else None
                if quotient is not None:
                    return [*_split(quotient), factor]
    return [poly]


def _at(by_power: list[Poly], root: int) -> bool:
    """Returns whether the sum of by_power[k] * root ** k is 0, so that `root` is a root of the polynomial."""
    total = Poly()
    for power, coefficient in enumerate(by_power):
        total = total + coefficient.scaled(root**power)
    return not total.terms


def divided(poly: Poly, by: Poly) -> Poly | None:
    """Returns the quotient of two polynomials; None where the division leaves a remainder.

    >>> N, one = Poly.atom("N"), Poly.number(1)
    >>> str(divided(N * N - one, N + one)), divided(N * N, N + one)
    ('N - 1', None)
    """
    order = sorted(poly.atoms | by.atoms, key=str)

    def rank(monomial: Monomial) -> tuple[int, ...]:
        powers = dict(monomial)
        return tuple(powers.get(a, 0) for a in order)

    lead, number = max(by.terms, key=lambda term: rank(term[0]))
    quotient = Poly()
    while poly.terms:
        monomial, c = max(poly.terms, key=lambda term: rank(term[0]))
        powers = dict(monomial)
        if any(powers.get(a, 0) < p for a, p in lead):
            return None
        own = dict(lead)
        term = Poly.of({tuple((a, p - own.get(a, 0)) for a, p in monomial if p > own.get(a, 0)): Fraction(c) / number})
        quotient, poly = quotient + term, poly - term * by
    return quotient


def code(poly: Poly, names: Mapping[str, str]) -> tuple[str, int]:
    """Returns a quasi-polynomial as (expression, divisor): its value is that of the expression, divided by the divisor.

    The expression is Python code over integers, the divisor is an integer.

    names: the name of the Python variable of each parameter
    """
    divisor = lcm(*(c.denominator for _, c in poly.terms)) if poly.terms else 1
    terms = []
    for monomial, c in poly.terms:
        factors = [part for a, p in monomial for part in [_atom_code(a, names)] * p]
        terms.append("*".join([str(int(c * divisor)), *factors]))
    return " + ".join(terms) or "0", divisor


def _atom_code(atom: Atom, names: Mapping[str, str]) -> str:
    if isinstance(atom, str):
        return names[atom]
    inside = [f"{c}*{_atom_code(a, names)}" for a, c in atom.terms]
    return f"(({' + '.join([*inside, str(atom.constant)])})//{atom.divisor})"


def symbolic(poly: Poly) -> Any:  # of a library without types
    """Returns a quasi-polynomial as a sympy expression of `sympy.Symbol(name, integer=True)`."""
    import sympy

    def of(atom: Atom) -> Any:
        if isinstance(atom, str):
            return sympy.Symbol(atom, integer=True)
        return sympy.floor((sum(c * of(a) for a, c in atom.terms) + atom.constant) / sympy.Integer(atom.divisor))

    return sympy.Add(*(sympy.Mul(sympy.Rational(c.numerator, c.denominator), *(of(a) ** p for a, p in m)) for m, c in poly.terms))


def condition_code(zero: Iterable[LinearRow], least: Iterable[LinearRow], names: Mapping[str, str]) -> str:
    """Returns as a Python expression the condition that each expression of `zero` is 0, and each one of `least` at least 0.

    names: the name of the Python variable of each parameter
    """
    parts = [f"{_row_code(row, names)} == 0" for row in zero] + [f"{_row_code(row, names)} >= 0" for row in least]
    return f"({' and '.join(parts) or 'True'})"


def _row_code(row: LinearRow, names: Mapping[str, str]) -> str:
    terms, constant = row

    def name(each: str | int | Quotient) -> str:
        if isinstance(each, Quotient):
            return f"(({_row_code((dict(each.terms), each.constant), names)})//{each.divisor})"
        return names[str(each)]

    return " + ".join([*(f"{c}*{name(k)}" for k, c in terms.items()), str(constant)])


def symbolic_condition(alternatives: Iterable[tuple[list[LinearRow], list[LinearRow]]]) -> Any:  # of a library without types
    """Returns the condition that one of the alternatives holds, as a sympy expression.

    alternatives: pairs (expressions that are 0, expressions that are at least 0)
    """
    import sympy

    def value(row: LinearRow) -> Any:
        terms, constant = row
        return sum((c * name(k) for k, c in terms.items()), sympy.Integer(constant))

    def name(each: str | int | Quotient) -> Any:
        if isinstance(each, Quotient):
            return sympy.floor(value((dict(each.terms), each.constant)) / each.divisor)
        return sympy.Symbol(each, integer=True)

    found = []
    for zero, least in alternatives:
        rows = [sympy.Eq(value(row), 0) for row in zero] + [sympy.Ge(value(row), 0) for row in least]
        found.append(sympy.And(*rows))
    return sympy.Or(*found)
