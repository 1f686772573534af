"""What mappings cost in wires and registers, and their order by that or by what folds do.

ports       units through which a stream's elements come in or go out in some fold. What stays is shifted along the rows, through
            the first unit of each column, or through the first unit of an array of one dimension; a wire has one port.
registers   of each unit. A value that goes on in c cycles, over links or in its unit, is in one of c registers meanwhile. What
            comes in before a fold, and sums that go out after it, have as many again: the next fold comes, the last one goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polyml.errors import ConfigError
from polyml.systolic.folding.fold_counts import preloaded, stays
from polyml.systolic.folding.folds import Folds, ports
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.recurrences.recurrence import Recurrence, Stream
from polyml.systolic.recurrences.spacetime import SpaceTime

RANKS = ("cycles", "utilisation", "ports", "registers", "traffic", "energy")


@dataclass(frozen=True)
class Wires:
    """Of one stream. into, out: units with a port. registers: of each unit."""

    stream: Stream
    into: int
    out: int
    registers: int


def wires(folds: Folds) -> tuple[Wires, ...]:
    """By stream, in the order of the traffic."""
    found = []
    for traffic, (into, out) in zip(folds.traffic, ports(folds)):
        found.append(Wires(traffic.stream, into, out, registers(folds.recurrence, folds.mapping, traffic.stream)))
    return tuple(found)


def registers(recurrence: Recurrence, mapping: SpaceTime, stream: Stream) -> int:
    """Of each unit, for a stream. Results that are no sums are values, and leave from where these are."""
    if stream not in recurrence.streams:
        return 0
    before = stream in preloaded(recurrence, mapping)
    held = sum(mapping.moved(direction)[0] for direction in stream.directions if not direction.line) or int(before)
    after = stream.use.kind == "result" and stays(mapping, stream)
    return held * (2 if before or after else 1)


def ranked(plans: Sequence[Plan], rank: str, energy_j: Callable[[Plan], float | None]) -> list[Plan]:
    """The best first; of those that are equal in this, in the order that they have, of fewest cycles first. energy_j: of a plan, None
    where it is not known. Raises ConfigError for a rank that there is none of.
    """
    if rank not in RANKS:
        raise ConfigError(f"mappings have no rank by {rank!r}", notes=[f"expected one of {', '.join(RANKS)}"])
    if rank == "cycles":
        return list(plans)
    keys = [_key(plan, rank, energy_j) for plan in plans]
    if None in keys:
        raise ConfigError("energies are not known", notes=["expected a machine with [energy] in its file, such as tpu-v1"])
    order = sorted(range(len(plans)), key=lambda k: (keys[k], plans[k].folds.cycles))
    return [plans[k] for k in order]


def _key(plan: Plan, rank: str, energy_j: Callable[[Plan], float | None]) -> float | None:
    if rank == "energy":
        return energy_j(plan)
    if rank == "utilisation":
        return -plan.folds.utilisation
    if rank == "traffic":
        return plan.folds.elements
    if rank == "registers":
        return sum(registers(plan.recurrence, plan.mapping, traffic.stream) for traffic in plan.folds.traffic)
    return sum(each.into + each.out for each in wires(plan.folds))
