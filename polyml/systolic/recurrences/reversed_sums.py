"""Sums whose terms may come in any order can be added from the last term to the first, where the source's order allows no mapping:

    for i = N - 1 ... 0:
        for j = i + 1 ... N - 1: x[i] -= U[i, j] * x[j]      x[i + 1] is made last, but the source adds it first
        x[i] /= U[i, i]

The instance of the source's last term then runs first and takes what the sum starts from; that of the first term runs last, and
other statements take the result from it.
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
class ReductionOrder:
    """A ReductionOrder is an order in which the terms of all sums of a nest are added, the source's or a reversed one.

    flows: the flow dependences in that order, by statement and read.
    reversed_sums: for each statement whose sums run backwards, { S[i] -> S[j] } from the last term to the first.
    """

    flows: Flows
    reversed_sums: Mapping[str, isl.Map]


def orders(statements: Sequence[Statement], flows: Flows, reductions: Mapping[str, Reduction]) -> Iterator[ReductionOrder]:
    """Yields orders of the sums' terms: the source's first, then those in which the sums of one or more statements are reversed.

    flows: the flow dependences in the source's order.
    """
    yield ReductionOrder(flows, {})
    sums = [statement for statement in statements if statement.name in reductions]
    for number in range(1, len(sums) + 1):
        for chosen in combinations(sums, number):
            found: ReductionOrder | None = ReductionOrder(flows, {})
            for statement in chosen:
                found = found and _reversed(found, statement, reductions[statement.name].access)
            if found is not None:
                yield found


def _reversed(order: ReductionOrder, statement: Statement, read: int) -> ReductionOrder | None:
    """Returns the order in which the sums of one statement are added from the last term to the first. Returns None where the terms
    of a sum do not follow one another one by one, or where another read uses a sum before its last term is added.

    read: the number of the read of the running sum.
    """
    name, flows = statement.name, order.flows
    chain = flows[name][read].get(name)
    if chain is None:
        return None
    after, exact = chain.transitive_closure()
    firsts, lasts = statement.domain.subtract(chain.range()), statement.domain.subtract(chain.domain())
    ends = after.union(statement.domain.identity()).intersect_domain(firsts).intersect_range(lasts)
    if not exact or not ends.is_bijective():
        return None
    changed: dict[str, dict[int, dict[str, isl.Map]]] = {}
    for user, reads in flows.items():
        changed[user] = {number: dict(flow) for number, flow in reads.items()}
        for number, flow in changed[user].items():
            if name in flow and (user, number) != (name, read):
                if not flow[name].domain().is_subset(lasts):
                    return None
                flow[name] = flow[name].apply_domain(ends.reverse())
    changed[name][read] = {maker: pairs.apply_range(ends) for maker, pairs in flows[name][read].items() if maker != name}
    changed[name][read][name] = chain.reverse()
    return ReductionOrder(changed, {**order.reversed_sums, name: ends.reverse()})
