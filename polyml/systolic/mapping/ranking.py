"""How many ports and registers mappings need, and mappings ordered by these, or by the cycles, utilisation, traffic or energy.

ports       PEs through which a stream's elements come in or go out in some fold. What stays is shifted along the rows, through
            the first PE of each column, or through the first PE of an array of one dimension; a wire has one port.
registers   those of each PE. A value that takes c cycles to its next use, over links or in its PE, needs c registers. Operands
            that are shifted in before a fold, and sums that are shifted out after it, need twice as many, since those of the
            next fold come in while those of this one are in use or go out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polyml.errors import ConfigError
from polyml.systolic.folding.fold_counts import is_stationary, preloaded
from polyml.systolic.folding.folds import Folds, ports
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.recurrences.recurrence import DataStream, UniformRecurrence
from polyml.systolic.recurrences.spacetime import SpaceTime

RANKS = ("cycles", "utilisation", "ports", "registers", "traffic", "energy")


@dataclass(frozen=True)
class StreamPorts:
    """StreamPorts holds how many ports and registers one stream needs.

    stream: the stream, an access whose values go from PE to PE.
    into, out: how many PEs have a port through which elements come in, and go out.
    registers: how many registers each PE has for it.
    """

    stream: DataStream
    into: int
    out: int
    registers: int


def stream_ports(folds: Folds) -> tuple[StreamPorts, ...]:
    """Returns the ports and registers that each stream needs, in the order of `folds.traffic`."""
    found = []
    for traffic, (into, out) in zip(folds.traffic, ports(folds)):
        found.append(StreamPorts(traffic.stream, into, out, registers(folds.recurrence, folds.mapping, traffic.stream)))
    return tuple(found)


def registers(recurrence: UniformRecurrence, mapping: SpaceTime, stream: DataStream) -> int:
    """Returns how many registers of each PE a stream needs; 0 for results that are no sums, since each
    leaves the array from the PE that computes it.
    """
    if stream not in recurrence.streams:
        return 0
    before = stream in preloaded(recurrence, mapping)
    held = sum(mapping.displacement(direction)[0] for direction in stream.directions if not direction.line) or int(before)
    after = stream.use.kind == "result" and is_stationary(mapping, stream)
    return held * (2 if before or after else 1)


def ranked(plans: Sequence[Plan], rank: str, energy_j: Callable[[Plan], float | None]) -> list[Plan]:
    """Returns the plans ordered by a measure, the best one first; equal ones are in the order of their cycles.

    rank: the measure: "cycles", "utilisation", "ports", "registers", "traffic" or "energy".
    energy_j: the energy of a plan; None where it is not known.
    Raises: ConfigError for an unknown rank, and where energies are not known.
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
    """Returns the number by which a plan is ranked, less being better; None for an energy that is not known."""
    if rank == "energy":
        return energy_j(plan)
    if rank == "utilisation":
        return -plan.folds.utilisation
    if rank == "traffic":
        return plan.folds.elements
    if rank == "registers":
        return sum(registers(plan.recurrence, plan.mapping, traffic.stream) for traffic in plan.folds.traffic)
    return sum(each.into + each.out for each in stream_ports(plan.folds))
