"""Values as the operations that made them: equal terms are equal numbers (Herbrand interpretation).

    term = leaf | (operation, term, ...) | sum

Every distinct term has one number, so that comparing two values of any depth is comparing two integers. The updates of a
reduction, whose order is free, are a multiset, which is known by the sum of a random 128-bit weight per member (an
incremental multiset hash: Clarke, Devadas, van Dijk, Gassend and Suh, ASIACRYPT 2003), so that an update takes constant time.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from random import Random
from typing import NamedTuple

Term = int
_BITS = 128
_MODULUS = 1 << _BITS
_NO_TERM = -1  # in place of the identity of an operator that has operands in any case
_DEPTH = 2  # of operations in each other that a text shows


class Total(NamedTuple):
    """A Total identifies a sum in any order: each value has a random weight, and sums of the same values have the same sum of
    weights.

    weight: the sum of the values' weights, modulo 2**128.
    members: how many values are added.
    """

    weight: int
    members: int


NOTHING = Total(0, 0)


class Terms:
    """A Terms is a table that gives each term a number. A term is a symbolic value: an operation and its operands, or a leaf.

    Equal terms have the same number; only numbers from one table can be compared.

    free_products: whether products of the same floats are equal in whatever order these are multiplied.
    """

    def __init__(self, *, free_products: bool = False) -> None:
        self._free_products = free_products
        self._numbers: dict[tuple[Hashable, ...], Term] = {}
        self._keys: list[tuple[Hashable, ...]] = []
        self._sums: dict[Term, tuple[str, Total]] = {}
        self._texts: dict[Term, str] = {}  # of leaves
        self._weights: dict[Term, int] = {}
        self._random = Random(0)

    def of(self, *key: Hashable) -> Term:
        """Returns the number of a term, which is added where it is new. key: the operation, then its operands."""
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._keys)
            self._keys.append(key)
        return found

    def applied(self, operation: tuple[Hashable, ...], operands: Sequence[Term]) -> Term:
        """Returns the number of the term for an operation and its operands.

        operation: its name, and what else tells it from others: for arithmetic the type of the result.
        """
        if self._free_products and operation[0] == "*" and str(operation[1]).startswith("f"):
            return self.joined(f"* of {operation[1]}", _NO_TERM, *operands)
        return self.of(*operation, *operands)

    def leaf(self, text: str, *key: Hashable) -> Term:
        """Returns the number of a term without operands, which is added where it is new.

        text: how messages show it.
        key: what identifies it.
        """
        found = self.of(*key)
        self._texts[found] = text
        return found

    def joined(self, operator: str, identity: Term, *terms: Term) -> Term:
        """Returns the number of the term for operands that are combined, in any order, by an operator such as + or *. An operand
        that is such a term itself counts as its members.

        identity: the operator's neutral element, such as the term of 0; it is the result where there are no members. A single
            member is the result itself.
        """
        totals = [self._total(term, operator, identity) for term in terms]
        weight, members = sum(t.weight for t in totals) % _MODULUS, sum(t.members for t in totals)
        if members == 0:
            return identity
        if members == 1:
            return next(term for term, total in zip(terms, totals) if total.members)
        found = self.of("sum", operator, weight, members)
        self._sums[found] = operator, Total(weight, members)
        return found

    def _total(self, term: Term, operator: str, identity: Term) -> Total:
        """Returns the Total of the values that a term adds up by the given operator. A term that is such a sum counts as its
        members, the identity as no value, and any other term as one value.
        """
        known = self._sums.get(term)
        if known is not None and known[0] == operator:
            return known[1]
        if term == identity:
            return NOTHING
        if term not in self._weights:
            self._weights[term] = self._random.getrandbits(_BITS)
        return Total(self._weights[term], 1)

    def text(self, term: Term, depth: int = _DEPTH) -> str:
        """Returns a term as text for messages. depth: how many operations in each other are shown; "..." stands for deeper ones."""
        if term in self._texts:
            return self._texts[term]
        if term in self._sums:
            operator, total = self._sums[term]
            return f"a sum by {operator} of {total.members} values"
        if depth == 0:
            return "..."
        operation, *operands = self._keys[term]
        inside = [self.text(o, depth - 1) for o in operands if isinstance(o, int)]
        return f"{operation}({', '.join(inside)})"
