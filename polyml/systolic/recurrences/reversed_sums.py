"""Sums whose terms may come in any order, the other way round.

    for i = N - 1 ... 0:
        for j = i + 1 ... N - 1: x[i] -= U[i, j] * x[j]      x[i + 1] is there last, and the source needs it first
        x[i] /= U[i, i]

Other statements then take the value of the first term in place of the last one's, and what the sum starts from goes to the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import islpy as isl

from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Statement
from polyml.systolic.recurrences.embedding import Flows


@dataclass(frozen=True)
class Order:
    """flows: of values in it. turned: of statements whose sums run the other way round, { S[i] -> S[j] } from the last to the first."""

    flows: Flows
    turned: Mapping[str, isl.Map]


def orders(statements: Sequence[Statement], flows: Flows, reductions: Mapping[str, Reduction]) -> Iterator[Order]:
    """The source's first."""
    yield Order(flows, {})
    sums = [statement for statement in statements if statement.name in reductions]
    for number in range(1, len(sums) + 1):
        for chosen in combinations(sums, number):
            found = Order(flows, {})
            for statement in chosen:
                found = found and _turned(found, statement, reductions[statement.name].access)
            if found is not None:
                yield found


def _turned(order: Order, statement: Statement, read: int) -> Order | None:
    """None where the sums of an element are no single chain, or are used before they are complete."""
    name, flows = statement.name, order.flows
    chain = flows[name][read].get(name)
    if chain is None:
        return None
    after, exact = chain.transitive_closure()
    firsts, lasts = statement.domain.subtract(chain.range()), statement.domain.subtract(chain.domain())
    ends = after.union(statement.domain.identity()).intersect_domain(firsts).intersect_range(lasts)
    if not exact or not ends.is_bijective():
        return None
    found: dict[str, dict[int, dict[str, isl.Map]]] = {}
    for user, reads in flows.items():
        found[user] = {number: dict(flow) for number, flow in reads.items()}
        for number, flow in found[user].items():
            if name in flow and (user, number) != (name, read):
                if not flow[name].domain().is_subset(lasts):
                    return None
                flow[name] = flow[name].apply_domain(ends.reverse())
    found[name][read] = {maker: pairs.apply_range(ends) for maker, pairs in flows[name][read].items() if maker != name}
    found[name][read][name] = chain.reverse()
    return Order(found, {**order.turned, name: ends.reverse()})
