"""The order in which np.einsum of three operands and more multiplies them, two at a time.

    np.einsum("ij,jk,k->i", A, B, x)   ->   np.einsum("ij,j->i", A, np.einsum("jk,k->j", B, x))

Dynamic programming over sets of operands: the cheapest way to multiply a set is the cheapest split of it into two. A label is summed
as soon as nothing outside of the set has it. (Lam, Sadayappan, Wenger, "On Optimizing a Class of Multi-Dimensional Loops with
Reductions", Parallel Processing Letters, 1997; opt_einsum and np.einsum_path call it "optimal".)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Union

from polyml.dtypes import BOOL, HALVES
from polyml.frontend import syntax
from polyml.frontend.algebra.facts import Fact
from polyml.frontend.algebra.terms import BYTES_PER_CYCLE, OPERATIONS_PER_CYCLE
from polyml.frontend.arrays.shapes import Linear
from polyml.frontend.syntax import Expr

MOST_OPERANDS = 8
Order = Union[int, tuple["Order", "Order"]]  # operands by their numbers, or two orders whose results are multiplied


@dataclass(frozen=True)
class Contraction:
    """A contraction is what an einsum of several operands computes.

    labels: the labels of each operand's dimensions.
    result: the labels of the result's dimensions.
    sizes: {label: its size}.
    element_bytes: the size of an element.
    """

    labels: tuple[str, ...]
    result: str
    sizes: Mapping[str, Linear]
    element_bytes: int

    def kept(self, operands: frozenset[int]) -> str:
        """Returns the labels that the product of some operands has: those that others or the result have too."""
        inside = "".join(self.labels[k] for k in sorted(operands))
        outside = {*self.result, *(c for k, own in enumerate(self.labels) if k not in operands for c in own)}
        return "".join(dict.fromkeys(c for c in inside if c in outside))

    def price(self, left: str, right: str, result: str, extents: Mapping[str, int]) -> float:
        """Returns the cost of one product of two operands with these labels, in cycles."""
        operations = math.prod(extents[c] for c in {*left, *right})
        moved = sum(math.prod(extents[c] for c in labels) for labels in (left, right, result) if labels)
        return operations / OPERATIONS_PER_CYCLE + moved * self.element_bytes / BYTES_PER_CYCLE

    def cost(self, order: Order, extents: Mapping[str, int]) -> tuple[float, frozenset[int], str]:
        """Returns (cost, operands, labels of the result) of an order."""
        if isinstance(order, int):
            return 0.0, frozenset((order,)), self.labels[order]
        (one, left, a), (two, right, b) = (self.cost(part, extents) for part in order)
        both = left | right
        labels = self.result if len(both) == len(self.labels) else self.kept(both)
        return one + two + self.price(a, b, labels, extents), both, labels

    def cheapest(self, extents: Mapping[str, int]) -> Order:
        """Returns the cheapest order for some extents of the labels; of equally cheap ones the first."""
        count = len(self.labels)
        best: dict[int, tuple[float, Order]] = {1 << k: (0.0, k) for k in range(count)}
        for subset in range(1, 1 << count):
            if subset in best:
                continue
            for part in _splits(subset):
                order = best[part][1], best[subset ^ part][1]
                total = best[part][0] + best[subset ^ part][0] + self._last(part, subset ^ part, extents)
                if subset not in best or total < best[subset][0] * (1 - 1e-9):
                    best[subset] = total, order
        return best[(1 << count) - 1][1]

    def _last(self, left: int, right: int, extents: Mapping[str, int]) -> float:
        sets = [frozenset(k for k in range(len(self.labels)) if each >> k & 1) for each in (left, right, left | right)]
        one, other = (self.labels[next(iter(each))] if len(each) == 1 else self.kept(each) for each in sets[:2])
        result = self.result if len(sets[2]) == len(self.labels) else self.kept(sets[2])
        return self.price(one, other, result, extents)


def _splits(subset: int) -> Iterator[int]:
    """Yields each part of a set that has its lowest member, the larger parts first, without the set itself."""
    lowest = subset & -subset
    part = (subset - 1) & subset
    while part:
        if part & lowest:
            yield part
        part = (part - 1) & subset


def contraction(call: Expr, given: Sequence[Fact | None], strict: bool) -> Contraction | None:
    """Returns what an einsum of three operands or more computes; None for one whose order has to stay.

    given: what is known of the operands.
    strict: whether no bit of a floating-point number may change.
    """
    if not isinstance(call, syntax.Function) or call.function != "einsum" or not 3 <= len(call.args) <= MOST_OPERANDS:
        return None
    known = [fact for fact in given if fact is not None]
    kind = known[0].dtype if known else None
    if len(known) < len(given) or kind is None or kind in (*HALVES, BOOL) or kind.weak or strict and not kind.is_integer:
        return None
    text = str(dict(call.options).get("subscripts", "")).replace(" ", "")
    operands, arrow, result = text.partition("->")
    labels = tuple(operands.split(","))
    letters = operands.replace(",", "")
    if not letters.isalpha() or any(len(own) != fact.rank or fact.dtype != kind for own, fact in zip(labels, known)):
        return None
    if not arrow:
        result = "".join(c for c in sorted(set(letters)) if letters.count(c) == 1)
    if len(labels) != len(known) or not set(result) <= set(letters) or len(set(result)) != len(result):
        return None
    sizes = {c: size for own, fact in zip(labels, known) for c, size in zip(own, fact.shape)}
    return Contraction(labels, result, sizes, kind.size_bytes)


def left_to_right(count: int) -> Order:
    """Returns the order in which operands are multiplied as they are written."""
    order: Order = 0
    for k in range(1, count):
        order = (order, k)
    return order


def written(order: Order, work: Contraction, operands: Sequence[Expr], call: Expr) -> Expr:
    """Returns an order as calls of einsum with two operands each."""
    return _written(order, work, operands, call)[0]


def _written(order: Order, work: Contraction, operands: Sequence[Expr], call: Expr) -> tuple[Expr, frozenset[int], str]:
    if isinstance(order, int):
        return operands[order], frozenset((order,)), work.labels[order]
    (one, left, a), (two, right, b) = (_written(part, work, operands, call) for part in order)
    both = left | right
    labels = work.result if len(both) == len(work.labels) else work.kept(both)
    made = syntax.Function("einsum", (one, two), (("subscripts", f"{a},{b}->{labels}"),), loc=call.loc)
    return made, both, labels


def text(order: Order, work: Contraction, shown: Sequence[str]) -> str:
    """Returns an order as Python text.

    shown: the texts of the operands.
    """
    if isinstance(order, int):
        return shown[order]
    extents = dict.fromkeys(work.sizes, 1)
    a, b, labels = (work.cost(each, extents)[2] for each in (*order, order))
    return f'np.einsum("{a},{b}->{labels}", {text(order[0], work, shown)}, {text(order[1], work, shown)})'
