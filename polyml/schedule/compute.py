"""Scop and Dependences -> Schedule: isl's scheduler for the affine part, our own choices on the tree.

    components   each strongly connected part of the dependence graph gets its own bands
    forms        the parallel one (outer loops carry nothing) or the permutable one (for tiling by wavefronts)
    mapping      tiles, the loop that goes to threads
    check        every result against the exact dependences
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import islpy as isl

from polyml.machine import CpuMachine
from polyml.model.dependence import Dependences
from polyml.model.reduction import Reduction
from polyml.model.scop import Scop
from polyml.polyhedra import BudgetExceeded, budget
from polyml.schedule.contraction import has_contraction, map_contractions
from polyml.schedule.forms import affine_schedule
from polyml.schedule.legality import check_legal, check_parallel
from polyml.schedule.mapping import map_bands

OPERATIONS = 1_000_000  # isl operations for one schedule: twice what the largest kernels need


@dataclass(frozen=True)
class Scheduled:
    """tree: the schedule, legal. notes: what was decided, for `explain`. sized: whether sizes decide about tiles."""

    tree: isl.Schedule
    notes: tuple[str, ...]
    sized: bool = False


def compute(
    scop: Scop,
    dependences: Dependences,
    machine: CpuMachine,
    *,
    tile: bool,
    parallel: bool,
    sizes: Mapping[str, int] | None = None,
    reductions: Mapping[str, Reduction] = MappingProxyType({}),
) -> Scheduled:
    """A legal schedule of the whole SCoP. Past isl's budget it is the source order, and a note says so.

    sizes: values of parameters to choose block sizes by; the schedule is legal for all. reductions: the updates whose order
    is free: contractions use that.
    """
    if not scop.statements:
        return Scheduled(scop.schedule, ("nothing to schedule",))
    try:
        with budget(OPERATIONS):
            affine, notes = affine_schedule(scop, dependences)
            tree, found, sized = affine, (), tile and has_contraction(scop)
            if sized:
                tree, found = map_contractions(affine, scop, dependences, machine, sizes, reductions, parallel=parallel)
            free = {} if tree is affine else reductions
            tree, mapped = map_bands(tree, scop, machine, tile=tile, parallel=parallel)
            check_legal(tree, scop, dependences, free)
            check_parallel(tree, scop, dependences)
            return Scheduled(tree, notes + found + mapped, sized)
    except isl.Error as problem:
        return Scheduled(scop.schedule, (f"isl's scheduler failed ({problem}): source order",))
    except BudgetExceeded as problem:
        return Scheduled(scop.schedule, (f"scheduling given up ({problem}): source order",))
