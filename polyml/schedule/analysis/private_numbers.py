"""Numbers that each iteration of a loop assigns before it reads them: threads that share the loop have their own (privatization).

    for i: t = A[i] + 1; B[i] = t*t          t hands nothing on from one iteration to the next

Tu and Padua, "Automatic array privatization", LCPC 1993.
"""

from __future__ import annotations

from collections.abc import Collection

import islpy as isl

from polyml import polyhedra
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
