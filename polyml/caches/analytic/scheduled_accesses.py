"""The arguments of the analytic models of caches: references in the order of a schedule, and facts about sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import islpy as isl

from polyml.caches.simulator.trace import ArrayReference
from polyml.codegen.ir.array_layout import Placed
from polyml.model.core.scop import Scop


@dataclass(frozen=True)
class ScheduledAccesses:
    """ScheduledAccesses are references of a SCoP in the order of a schedule, with sizes and addresses.

    schedule: { S[i] -> [time] }, as a tree of loops and sequences.
    sizes: the values of parameters; those that are left out stay symbolic.
    places: the addresses of the arrays; None where some of the arrays' sizes stay symbolic. Then lines are counted as if whatever
        a symbolic size separates, such as rows, began on a line.
    """

    scop: Scop
    schedule: isl.Schedule
    references: tuple[ArrayReference, ...]
    sizes: Mapping[str, int]
    places: Mapping[str, Placed] | None


@dataclass(frozen=True)
class SizeFacts:
    """SizeFacts hold what is known of the sizes that stay symbolic.

    context: { : constraints }; None for none.
    units: by size, the number that it is known to be a multiple of; formulas count the size in this unit.
    """

    context: isl.Set | None = None
    units: Mapping[str, int] = field(default_factory=dict)


NO_FACTS = SizeFacts()
