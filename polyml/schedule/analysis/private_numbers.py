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
from polyml.schedule.legality.proof import carries_none


def private_numbers(band: isl.ScheduleNode, scop: Scop, dependences: Dependences) -> frozenset[str]:
    """Returns the local numbers whose values live within one iteration of a band's first loop, and which nothing outside of the loop
    reads or writes.
    """
    names = {*polyhedra.set_names(band.get_domain())}
    return frozenset(
        name
        for name in _candidates(scop, names)
        if dependences.reads_before(name).is_empty() and carries_none(band, dependences.value_flow_through(name))
    )


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


def _candidates(scop: Scop, names: Collection[str]) -> list[str]:
    """Returns the local numbers that only assignments among the statements `names` write, and only statements among them read."""
    kept = {result.array for result in scop.results if isinstance(result, ScalarResult)}
    found = {access.array for name in names for access in scop.statements[name].writes if not scop.arrays[access.array].shape}
    for statement in scop.statements.values():
        if statement.name not in names:
            kept |= {access.array for access in (*statement.reads, *statement.writes)}
        elif statement.region is not None:
            kept |= {access.array for access in statement.writes}
    return sorted(name for name in found - kept if scop.arrays[name].role is Role.LOCAL)
