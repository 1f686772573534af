"""The verdict on a step: legal, not legal with the pairs of instances that it breaks, or refused since it does not fit the loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import islpy as isl

from polyml import polyhedra
from polyml.errors import IllegalSchedule, ScheduleError
from polyml.explorer.steps import Step
from polyml.polyhedra.parameters import at_sizes
from polyml.polyhedra.points import Instance
from polyml.schedule.legality.check import broken_pairs
from polyml.schedule.script.schedule import Schedule

LEGAL, ILLEGAL, REFUSED = "legal", "illegal", "refused"


@dataclass(frozen=True)
class Verdict:
    """A verdict says what became of a step.

    kind: LEGAL, ILLEGAL or REFUSED.
    why: the message of the error, without the number of the step; "" where it is legal.
    notes: of the error.
    schedule: the schedule after the step; where it is not legal, one that is not proved, to be drawn; None where it is refused.
    broken: { S[i] -> T[j] }, the pairs that the step breaks, for all sizes.
    """

    step: Step
    kind: str
    why: str = ""
    notes: tuple[str, ...] = ()
    schedule: Schedule | None = None
    broken: isl.UnionMap | None = None


@dataclass(frozen=True)
class BrokenPair:
    """The smallest pair of instances that a step breaks for some sizes, and how many pairs it breaks."""

    source: Instance
    sink: Instance
    count: int


def verdict(schedule: Schedule, step: Step) -> Verdict:
    """Returns the verdict on a step from a schedule."""
    try:
        return Verdict(step, LEGAL, schedule=step.applied(schedule))
    except ScheduleError as refused:
        return Verdict(step, REFUSED, _told(refused.message), refused.notes)
    except IllegalSchedule as illegal:
        made = step.applied(replace(schedule, is_proved=False))
        with schedule.problem.alone():
            problem = made.problem
            broken = broken_pairs(made.tree, problem.scop, problem.dependences, problem.reductions)
            return Verdict(step, ILLEGAL, _told(illegal.message), illegal.notes, made, broken)


def _told(message: str) -> str:
    """Returns a message without the step in front of it, which the page shows beside it."""
    head, _, rest = message.partition(" is not legal: ")
    if rest:
        return rest
    head, _, rest = message.partition("): ")
    return rest if rest and head.startswith("step ") else message


def broken_pair(found: Verdict, sizes: Mapping[str, int]) -> BrokenPair | None:
    """Returns the smallest pair that a step breaks for these sizes; None where it breaks none for them."""
    if found.broken is None:
        return None
    pairs = sorted(polyhedra.points(at_sizes(found.broken, sizes)))
    if not pairs:
        return None
    source, sink = pairs[0]
    return BrokenPair(source, sink, len(pairs))
