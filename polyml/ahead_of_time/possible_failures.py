"""Which tests at a kernel's entry can fail, where sizes of one name are equal and others are known."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polyml.ahead_of_time.call_signature import CallSignature, SizeExtent
from polyml.model.core.call_interface import Parameter
from polyml.model.core.scop import OTHER_FORM, Check
from polyml.polyhedra import BudgetExceeded, budget

_OPERATIONS = 200_000  # of isl, after which a test counts as one that can fail


def possible(signature: CallSignature, parameters: Sequence[Parameter], checks: Sequence[Check]) -> frozenset[int]:
    """Returns the numbers, from 1 on, of the tests that can fail for arrays of these extents.

    parameters: those of the kernel's model, of which the tests are sets: [N, M] -> { : N > M }.
    """
    known = _known(signature, parameters)
    return frozenset(number for number, check in enumerate(checks, 1) if _can_fail(check, known))


def _can_fail(check: Check, known: isl.Set) -> bool:
    if check.what == OTHER_FORM:
        return False  # typical sizes are chosen so that they have no relation that the signature does not have
    try:
        with budget(_OPERATIONS):
            return not check.violated.intersect_params(known.params()).is_empty()
    except (BudgetExceeded, isl.Error):
        return True


def _known(signature: CallSignature, parameters: Sequence[Parameter]) -> isl.Set:
    """Returns the set of sizes that the signature allows."""
    extents = {a.name: a.extents for a in signature.arguments}
    integers = {p.argument or p.name: p.name for p in parameters if p.is_number}
    facts, first = [], {}
    for name, own in integers.items():
        first[name] = (own, 0)
    for p in parameters:
        if not p.is_size:
            continue
        extent: SizeExtent = extents[str(p.array)][p.dim]
        facts.append(f"{p.name} >= 0")
        if not extent.name:
            facts.append(f"{p.name} = {extent.offset}")
        elif extent.name in first:
            other, offset = first[extent.name]
            facts.append(f"{p.name} = {other} + {extent.offset - offset}")
        else:
            first[extent.name] = (p.name, extent.offset)
    space = ", ".join(p.name for p in parameters)
    return isl.Set(f"[{space}] -> {{ : {' and '.join(facts) or 'true'} }}")
