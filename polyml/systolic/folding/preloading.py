"""Operands that are shifted into the units before a fold begins, and which of them come in at once."""

from __future__ import annotations

import islpy as isl

from polyml.systolic.folding.fold_counts import preloaded
from polyml.systolic.recurrences.recurrence import Recurrence, Stream
from polyml.systolic.recurrences.spacetime import SpaceTime, linear


def shifts(recurrence: Recurrence, mapping: SpaceTime) -> int:
    """How often operands are shifted into all units before a fold."""
    return len(together(recurrence, mapping))


def together(recurrence: Recurrence, mapping: SpaceTime) -> list[list[Stream]]:
    """Operands that are shifted into the units before a fold: those of different units come in at once."""
    outer, axes = ([f"{letter}{k}" for k in range(len(each))] for letter, each in zip("oa", (recurrence.outer, recurrence.axes)))
    there = [*outer, *(linear(row, axes) for row in mapping.space)]
    to_units = isl.Map(f"{{ [{', '.join([*outer, *axes])}] -> [{', '.join(there)}] }}")
    found: list[tuple[list[Stream], isl.Set]] = []
    for stream in preloaded(recurrence, mapping):
        units = recurrence.users(stream).apply(to_units)
        free = next((k for k, (_, taken) in enumerate(found) if units.is_disjoint(taken)), None)
        if free is None:
            found.append(([stream], units))
        else:
            found[free] = [*found[free][0], stream], found[free][1].union(units)
    return [streams for streams, _ in found]
