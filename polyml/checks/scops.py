"""Checks that a pass from a SCoP to a SCoP computes the same: both run, in their source order, on terms instead of numbers.

A term is a value as the operations that made it. Instances are identified by the values they bring, since a pass may number
iterations anew (`align_slices`), divide a statement (`node_splitting`, `index_set_splitting`) or read values from another array
(`scalar_expansion`, `array_expansion`).
"""

from __future__ import annotations

from collections.abc import Mapping

from polyml.checks import sizes
from polyml.checks.programs import MOST_INSTANCES, MOST_TOGETHER, in_source_order
from polyml.checks.symbolic import compare
from polyml.checks.symbolic.finding import Finding
from polyml.checks.symbolic.runs import InOrder, Run
from polyml.checks.symbolic.terms import Terms
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Scop

_FACTORS = (4, 9)  # SCoPs have no tiles: any sizes tell


def check(before: Scop, after: Scop, reductions: Mapping[str, Reduction] | None = None) -> Finding | None:
    """Returns what a pass that made `after` from `before` did wrong; None where no difference is found.

    It runs both SCoPs on symbolic values at a few small sizes and compares them.

    reductions: the updates of `before` that the pass may have reordered, by statement; where floats are among them, factors may be
        multiplied in another order too.
    """
    if before is after:
        return None
    free, total = dict(reductions or {}), 0
    terms = Terms(free_products=any(before.arrays[r.array].element.is_float for r in free.values()))
    of_after = {name: free[o] for name, o in compare.origins(before, after).items() if o in free}
    of_after = {name: Reduction(name, after.statements[name].write.array, r.operator, r.access) for name, r in of_after.items()}
    code = InOrder(before, terms, free), InOrder(after, terms, of_after)
    for at in sizes.sizes(before, _FACTORS):
        given, made = _run(code[0], before, at), _run(code[1], after, at)
        if given is None or made is None:
            continue
        total += len(given.events)
        if total > MOST_TOGETHER:
            return None
        found = compare.compared(given, made, (before, after), terms, by_point=False)
        if found is not None:
            return found.at(at)
    return None


def _run(code: InOrder, scop: Scop, at: dict[str, int]) -> Run | None:
    order = in_source_order(scop, at, MOST_INSTANCES)
    return None if order is None else code.run(order, at)
