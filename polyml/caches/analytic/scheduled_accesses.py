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
    """ScheduledAccesses are the references to arrays in a SCoP, together with what decides which cache lines they use when: the
    schedule, the sizes and the addresses.

    schedule: { S[i] -> [time] }, as a tree of loops and sequences.
    sizes: the values of parameters; those that are left out stay symbolic.
    places: the addresses of the arrays; None where sizes of arrays stay symbolic. Then each part of an array that lies at a
        multiple of a symbolic size, such as a row, is taken to begin on a line.
    """

    scop: Scop
    schedule: isl.Schedule
    references: tuple[ArrayReference, ...]
    sizes: Mapping[str, int]
    places: Mapping[str, Placed] | None


@dataclass(frozen=True)
class SizeFacts:
    """SizeFacts hold what is known of the sizes that stay symbolic.

    context: { : constraints on sizes }; None for none.
    units: {size: unit}, a number that the size is a multiple of; the size's name in formulas stands for size / unit.
    """

    context: isl.Set | None = None
    units: Mapping[str, int] = field(default_factory=dict)


NO_FACTS = SizeFacts()
