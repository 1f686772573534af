"""Quasi-polynomials: sums of products of symbolic integers and of floors of their quotients, with rational coefficients.

Poly    = sum of coefficient * product of atom ** power
atom    = name | Floor
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb, gcd
from typing import Union

from polyml.values import cached_property

Monomial = tuple[tuple["Atom", int], ...]  # atoms and their powers, in the order of their texts


@dataclass(frozen=True)
class Floor:
    """A Floor is floor((sum of coefficient * atom + constant) / divisor) in the normal form that `floor` makes.

    divisor: more than 1
    terms, constant: pairs (atom, coefficient), and the constant; each coefficient and the constant is at least 0 and less than the
        divisor, and the first coefficient at most half of it
    """

    terms: tuple[tuple[Atom, int], ...]
    constant: int
    divisor: int

    @cached_property
    def names(self) -> frozenset[str]:
        """Returns every name inside the floor, at any depth."""
        return frozenset().union(*(_names(atom) for atom, _ in self.terms))

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        inside = [*(str(a) if c == 1 else f"{c}*{a}" for a, c in self.terms), *([str(self.constant)] if self.constant else [])]
        return f"floor(({' + '.join(inside)})/{self.divisor})"

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.terms, self.constant, self.divisor))

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Returns the floor's value for these values of the names inside it."""
        return (sum(c * _evaluate(a, values) for a, c in self.terms) + self.constant) // self.divisor


Atom = Union[str, Floor]


@dataclass(frozen=True)
class Poly:
    """A Poly is a quasi-polynomial: a sum of coefficient * product of atom ** power, where an atom is a name or a Floor.

    terms: pairs (monomial, coefficient), no coefficient 0; coefficients are ints where they are whole
    """

    terms: frozenset[tuple[Monomial, Fraction | int]] = frozenset()

    @staticmethod
    def of(terms: Mapping[Monomial, Fraction | int]) -> Poly:
        """Returns the sum of coefficient * monomial over the terms."""
        return Poly(frozenset([(monomial, c if type(c) is int else _number(c)) for monomial, c in terms.items() if c]))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.terms)

    @staticmethod
    def number(value: Fraction | int) -> Poly:
        """Returns a constant as a quasi-polynomial."""
        return Poly.of({(): value})

    @staticmethod
    def atom(atom: Atom) -> Poly:
        """Returns one name or floor as a quasi-polynomial."""
        return Poly(frozenset(((((atom, 1),), 1),)))

    @staticmethod
    def linear(terms: Iterable[tuple[Atom, int]], constant: int = 0) -> Poly:
        """Returns the sum of coefficient * atom over the terms, plus a constant."""
        total: dict[Monomial, Fraction | int] = {(): constant}
        for atom, c in terms:
            total[((atom, 1),)] = total.get(((atom, 1),), 0) + c
        return Poly.of(total)

    def __add__(self, other: Poly) -> Poly:
        total = dict(self.terms)
        for monomial, c in other.terms:
            total[monomial] = total.get(monomial, 0) + c
        return Poly.of(total)

    def __neg__(self) -> Poly:
        return self.scaled(-1)

    def __sub__(self, other: Poly) -> Poly:
        return self + -other

    def __mul__(self, other: Poly) -> Poly:
        total: dict[Monomial, Fraction | int] = {}
        for a, c in self.terms:
            for b, d in other.terms:
                product = _product(a, b)
                total[product] = total.get(product, 0) + c * d
        return Poly.of(total)

    def scaled(self, factor: Fraction | int) -> Poly:
        """Returns the quasi-polynomial times a number."""
        return Poly.of({monomial: c * factor for monomial, c in self.terms})

    def power(self, exponent: int) -> Poly:
        """Returns the quasi-polynomial to a nonnegative integer power."""
        result = self if exponent else Poly.number(1)
        for _ in range(exponent - 1):
            result = result * self
        return result

    @property
    def atoms(self) -> frozenset[Atom]:
        """Returns the names and floors that are factors of monomials."""
        return frozenset(atom for monomial, _ in self.terms for atom, _ in monomial)

    @property
    def names(self) -> frozenset[str]:
        """Returns every name in the quasi-polynomial, also those inside floors."""
        return frozenset().union(*(_names(atom) for atom in self.atoms))

    @property
    def is_number(self) -> bool:
        """Returns whether the quasi-polynomial is a constant."""
        return all(not monomial for monomial, _ in self.terms)

    @property
    def constant(self) -> Fraction | int:
        """Returns the constant term."""
        return dict(self.terms).get((), 0)

    def in_powers_of(self, name: Atom) -> list[Poly]:
        """Returns the coefficients of name ** 0, name ** 1, ... for a name or floor, which must not be inside a floor."""
        found: list[dict[Monomial, Fraction | int]] = [{}]
        for monomial, c in self.terms:
            power = dict(monomial).get(name, 0)
            found += ({} for _ in range(power + 1 - len(found)))
            found[power][tuple((a, p) for a, p in monomial if a != name)] = c
        return [Poly.of(each) for each in found]

    def as_linear(self) -> tuple[dict[Atom, int], int] | None:
        """Returns (coefficients, constant) where the quasi-polynomial is linear in atoms, with integer coefficients, else None."""
        terms: dict[Atom, int] = {}
        for monomial, c in self.terms:
            if c.denominator != 1 or len(monomial) > 1 or monomial and monomial[0][1] > 1:
                return None
            if monomial:
                terms[monomial[0][0]] = int(c)
        return terms, int(self.constant)

    def substitute(self, values: Mapping[str, Poly]) -> Poly:
        """Returns the quasi-polynomial with names replaced; a name inside a floor needs a linear replacement."""
        if self.names.isdisjoint(values):
            return self
        changed = {a: _substituted(a, values) for a in self.atoms if not _names(a).isdisjoint(values)}
        return self.with_atoms(changed)

    def with_atoms(self, values: Mapping[Atom, Poly]) -> Poly:
        """Returns the quasi-polynomial with factors of monomials (names or floors) replaced; what is inside floors stays."""
        total: dict[Monomial, Fraction | int] = {}
        for monomial, c in self.terms:
            kept = tuple((atom, power) for atom, power in monomial if atom not in values)
            product = Poly.number(1)
            for atom, power in monomial:
                if atom in values:
                    product = product * values[atom].power(power)
            for other, d in product.terms:
                key = _product(kept, other)
                total[key] = total.get(key, 0) + c * d
        return Poly.of(total)

    def evaluate(self, values: Mapping[str, int]) -> Fraction | int:
        """Returns the number that the quasi-polynomial is for these values of its names."""
        total: Fraction | int = 0
        for monomial, c in self.terms:
            for atom, power in monomial:
                c = c * _evaluate(atom, values) ** power
            total += c
        return _number(total)

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        parts = []
        for monomial, c in sorted(self.terms, key=lambda term: (-sum(p for _, p in term[0]), str(term[0]))):
            factors = [str(a) if p == 1 else f"{a}**{p}" for a, p in monomial]
            number = abs(c) if c.denominator == 1 else f"({abs(c)})"
            body = "*".join(factors if factors and abs(c) == 1 else [str(number), *factors])
            parts.append((" - " if c < 0 else " + ") + body)
        text = "".join(parts)
        return text[3:] if text.startswith(" + ") else "-" + text[3:]


def floor(value: Poly, divisor: int) -> Poly:
    """Returns floor(value / divisor) of a quasi-polynomial, with whole multiples of the divisor outside the floor.

    Raises ValueError where it is not linear in its atoms with integer coefficients.

    >>> str(floor(Poly.linear([("N", 9)], 17), 8))
    'N + floor((N + 1)/8) + 2'
    """
    found = value.as_linear()
    if found is None:
        raise ValueError(f"no floor of {value}")
    terms, constant = found
    outside = Poly.linear([(a, c // divisor) for a, c in terms.items()], constant // divisor)
    inside = {a: c % divisor for a, c in terms.items() if c % divisor}
    if not inside:
        return outside
    common = gcd(divisor, *inside.values())
    left = constant % divisor // common
    rows = tuple(sorted(((a, c // common) for a, c in inside.items()), key=lambda term: str(term[0])))
    divisor //= common
    if divisor == 1:
        return outside + Poly.linear(rows, left)
    if 2 * rows[0][1] > divisor:  # floor(e/d) = -floor((d - 1 - e)/d): one of the two forms for both
        reflected = tuple((a, divisor - c) for a, c in rows)
        return outside + Poly.linear((a, 1) for a, _ in rows) - Poly.atom(Floor(reflected, divisor - 1 - left, divisor))
    return outside + Poly.atom(Floor(rows, left, divisor))


def summed(value: Poly, name: str, low: Poly, high: Poly) -> Poly:
    """Returns the sum of `value` over name = low ... high, where high >= low - 1; the name must not be inside a floor."""
    total = Poly()
    before = low - Poly.number(1)
    for power, coefficient in enumerate(value.in_powers_of(name)):
        if coefficient.terms:
            total = total + coefficient * (_power_sum(power, high) - _power_sum(power, before))
    return total


def _power_sum(power: int, top: Poly) -> Poly:
    """Returns 1 ** power + ... + top ** power as a polynomial in `top` (Faulhaber's formula)."""
    total = Poly()
    for k in range(power + 1):
        factor = Fraction(comb(power + 1, k)) * _bernoulli(k) / (power + 1)
        total = total + top.power(power + 1 - k).scaled(factor)
    return total


@lru_cache(maxsize=64)
def _bernoulli(n: int) -> Fraction:
    """Returns the n-th Bernoulli number, with B(1) = 1/2."""
    if n == 0:
        return Fraction(1)
    total = sum((comb(n + 1, k) * _bernoulli(k) * (-1) ** (k == 1) for k in range(n)), Fraction(0))
    value = -total / (n + 1)
    return -value if n == 1 else value


def _number(value: Fraction | int) -> Fraction | int:
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def _product(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    powers = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda term: str(term[0])))


def _names(atom: Atom) -> frozenset[str]:
    return frozenset((atom,)) if isinstance(atom, str) else atom.names


def _evaluate(atom: Atom, values: Mapping[str, int]) -> int:
    return values[atom] if isinstance(atom, str) else atom.evaluate(values)


def _substituted(atom: Atom, values: Mapping[str, Poly]) -> Poly:
    if isinstance(atom, str):
        return values.get(atom) or Poly.atom(atom)
    if atom.names.isdisjoint(values):
        return Poly.atom(atom)
    inside = Poly.number(atom.constant)
    for part, c in atom.terms:
        inside = inside + _substituted(part, values).scaled(c)
    return floor(inside, atom.divisor)
