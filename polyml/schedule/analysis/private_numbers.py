"""Numbers that each iteration of a loop assigns before it reads them: threads that share the loop have their own (privatization).

    for i: t = A[i] + 1; B[i] = t*t          t hands nothing on from one iteration to the next

Tu and Padua, "Automatic array privatization", LCPC 1993.
"""

from __future__ import annotations

from collections.abc import Collection

import islpy as isl

from polyml import polyhedra
from polyml.frontend import syntax
from polyml.model.core.call_interface import ScalarResult
from polyml.model.core.dependence import Dependences
from polyml.model.core.scop import Role, Scop
from polyml.schedule.tree.bands import together


def private_numbers(band: isl.ScheduleNode, scop: Scop, dependences: Dependences) -> frozenset[str] | None:
    """Returns the local numbers that the statements in a band alone use, where their values live within one iteration of its first loop and of
    the loops around; None where one has a value for another iteration.
    """
    inside = {*polyhedra.set_names(band.get_domain())}
    found = local_numbers(scop, inside, scop.statements.keys() - inside)
    return frozenset(found) if all(_lives_in_iteration(name, band, dependences) for name in found) else None


def _lives_in_iteration(name: str, band: isl.ScheduleNode, dependences: Dependences) -> bool:
    """Returns whether each value of a number is read in the iteration of a band's first loop, and of those around, that wrote it."""
    if not dependences.reads_before(name).is_empty():
        return False
    flow = dependences.value_flow_through(name)
    here = flow.eq_at_multi_union_pw_aff(together([band.band_get_partial_schedule().get_at(0)]))
    if band.get_schedule_depth() > 0:
        here = here.eq_at_multi_union_pw_aff(band.get_prefix_schedule_multi_union_pw_aff())
    return flow.is_subset(here)


def flags(band: isl.ScheduleNode, scop: Scop) -> frozenset[str]:
    """Returns the numbers to which all statements inside of a band that write them assign the same constant, while none there reads them: the
    order of these does not matter.
    """
    inside = [scop.statements[name] for name in polyhedra.set_names(band.get_domain())]
    read = {access.array for statement in inside for access in statement.reads}
    values: dict[str, set[object]] = {}
    for statement in inside:
        for access in statement.writes:
            value = statement.value
            known = (value.value, value.dtype) if isinstance(value, syntax.Const) else statement.name
            values.setdefault(access.array, set()).add(known)
    numbers = (name for name, found in values.items() if len(found) == 1 and not isinstance(next(iter(found)), str))
    return frozenset(name for name in numbers if name not in read and not scop.arrays[name].shape)


def local_numbers(scop: Scop, inside: Collection[str], others: Collection[str]) -> list[str]:
    """Returns the local numbers that only assignments among the statements `inside` write, and that none of the `others` uses."""
    kept = {result.array for result in scop.results if isinstance(result, ScalarResult)}
    for statement in map(scop.statements.__getitem__, (*inside, *others)):
        used = statement.writes if statement.name in inside else (*statement.reads, *statement.writes)
        kept |= {access.array for access in used if statement.region is not None or statement.name not in inside}
    found = {access.array for name in inside for access in scop.statements[name].writes} - kept
    return sorted(name for name in found if not scop.arrays[name].shape and scop.arrays[name].role is Role.LOCAL)
