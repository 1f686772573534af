"""Checks of the steps that make a schedule: the proof for all sizes is made for each step's tree, not only for the last one.

Coverage, order and parallel loops are proved with isl from the exact dependences (`schedule.legality.check`), so a step that
passes is correct whatever the sizes are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

import islpy as isl

from polyml.checks.symbolic.finding import Finding
from polyml.errors import IllegalSchedule
from polyml.model.core.dependence import Dependences
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Scop
from polyml.schedule.legality.check import check_legal, check_parallel
from polyml.schedule.tiling.blocked_factorization import restricted


def check(
    scop: Scop,
    dependences: Dependences,
    tree: isl.Schedule,
    reductions: Mapping[str, Reduction] = MappingProxyType({}),
) -> Finding | None:
    """Returns what a step that made a schedule of a SCoP did wrong; None where isl proves for all sizes that every instance runs,
    that the order is legal, and that loops marked as parallel are.

    For a step that schedules some statements alone, `scop` and `dependences` are restricted to these.
    """
    try:
        check_legal(tree, scop, dependences, reductions)
        check_parallel(tree, scop, dependences, reductions)
    except IllegalSchedule as problem:
        instance = re.search(r"\w+\[[^\]]*\]", problem.message)
        text = f"{problem.message}: {problem.notes[0]}" if problem.notes else problem.message
        return Finding(text, instance.group() if instance else "")
    return None


def check_part(scop: Scop, dependences: Dependences, tree: isl.Schedule, reductions: Mapping[str, Reduction]) -> Finding | None:
    """Returns what a step that scheduled a SCoP, or a part of it, did wrong; None where it is correct, or where the tree has
    instances that the SCoP has not, since it is then a tree of another SCoP.

    The part is taken to be the instances in the tree. An instance that the step loses is therefore noticed only when the schedule
    of the whole SCoP is checked.
    """
    instances = tree.get_domain()
    if not instances.is_subset(scop.domain):
        return None
    part, within = (scop, dependences) if instances.is_equal(scop.domain) else restricted(scop, dependences, instances)
    return check(part, within, tree, {name: r for name, r in reductions.items() if name in part.statements})
