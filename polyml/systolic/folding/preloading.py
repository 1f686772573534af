"""Stationary operands are shifted into the PEs before a fold begins; those of different PEs come in at once."""

from __future__ import annotations

import islpy as isl

from polyml.systolic.folding.fold_counts import preloaded
from polyml.systolic.recurrences.recurrence import DataStream, UniformRecurrence
from polyml.systolic.recurrences.spacetime import SpaceTime, linear


def preload_passes(recurrence: UniformRecurrence, mapping: SpaceTime) -> int:
    """Returns how often operands are shifted into the array before a fold, which is how many groups `preload_groups` returns."""
    return len(preload_groups(recurrence, mapping))


def preload_groups(recurrence: UniformRecurrence, mapping: SpaceTime) -> list[list[DataStream]]:
    """Returns the streams of operands that are shifted into PEs before a fold, in groups.

    Those of one group go to different PEs, so they are shifted in together; the groups come one after another.
    """
    outer, axes = ([f"{letter}{k}" for k in range(len(each))] for letter, each in zip("oa", (recurrence.outer, recurrence.axes)))
    there = [*outer, *(linear(row, axes) for row in mapping.space)]
    to_units = isl.Map(f"{{ [{', '.join([*outer, *axes])}] -> [{', '.join(there)}] }}")
    found: list[tuple[list[DataStream], isl.Set]] = []
    for stream in preloaded(recurrence, mapping):
        units = recurrence.users(stream).apply(to_units)
        free = next((k for k, (_, taken) in enumerate(found) if units.is_disjoint(taken)), None)
        if free is None:
            found.append(([stream], units))
        else:
            found[free] = [*found[free][0], stream], found[free][1].union(units)
    return [streams for streams, _ in found]
