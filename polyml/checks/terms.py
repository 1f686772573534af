"""Values as the operations that made them: equal terms are equal numbers (Herbrand interpretation).

    term = leaf | (operation, term, ...) | sum

Every distinct term has one number, so that comparing two values of any depth is comparing two integers. The updates of a
reduction, whose order is free, are a multiset, which is known by the sum of a random 128-bit weight per member (an
incremental multiset hash: Clarke, Devadas, van Dijk, Gassend and Suh, ASIACRYPT 2003), so that an update takes constant time.
"""

from __future__ import annotations

from collections.abc import Hashable
from random import Random
from typing import NamedTuple

Term = int
_BITS = 128
_MODULUS = 1 << _BITS
_DEPTH = 2  # of operations in each other that a text shows


class Total(NamedTuple):
    """The members of a sum: the total of their weights modulo 2**128, and how many there are."""

    weight: int
    count: int


NOTHING = Total(0, 0)


class Terms:
    """A table of terms. Terms of one table alone can be compared."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Hashable, ...], Term] = {}
        self._keys: list[tuple[Hashable, ...]] = []
        self._weights: dict[Term, int] = {}
        self._random = Random(0)

    def of(self, *key: Hashable) -> Term:
        """Returns the number of the term with this operation and these operands."""
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._keys)
            self._keys.append(key)
        return found

    def key(self, term: Term) -> tuple[Hashable, ...]:
        """Returns the operation and the operands of a term."""
        return self._keys[term]

    def member(self, term: Term) -> Total:
        """Returns the sum that has this term alone as a member."""
        if term not in self._weights:
            self._weights[term] = self._random.getrandbits(_BITS)
        return Total(self._weights[term], 1)

    def total(self, term: Term, operator: str, identity: Term) -> Total:
        """Returns the members of a term as a sum by an operator; the identity has none."""
        key = self._keys[term]
        if key[:2] == ("sum", operator):
            return Total(key[2], key[3])  # type: ignore[arg-type]  # the key of a sum is made in `joined` alone
        return NOTHING if term == identity else self.member(term)

    def joined(self, operator: str, identity: Term, *terms: Term) -> Term:
        """Returns the sum of all members of the terms: one of them where that is all, the identity where there are none."""
        totals = [self.total(term, operator, identity) for term in terms]
        weight, count = sum(t.weight for t in totals) % _MODULUS, sum(t.count for t in totals)
        if count == 0:
            return identity
        if count == 1:
            return next(term for term, total in zip(terms, totals) if total.count)
        return self.of("sum", operator, weight, count)

    def text(self, term: Term, depth: int = _DEPTH) -> str:
        """Returns a term for people, cut where it is deep."""
        operation, *operands = self._keys[term]
        if operation == "sum":
            return f"a sum by {operands[0]} of {operands[2]} values"
        if operation in ("argument", "fresh", "outside"):
            array, index = operands
            element = f"{array}{list(index) if index else ''}"  # type: ignore[arg-type]  # a tuple, made by `Memory`
            return {"argument": f"{element} of the call", "fresh": f"{element}, never written"}.get(
                str(operation), f"{element}, outside its array"
            )
        if operation in ("const", "scalar"):
            return str(operands[0])
        if depth == 0:
            return "..."
        inside = [self.text(o, depth - 1) for o in operands if isinstance(o, int)]
        return f"{operation}({', '.join(inside)})"
