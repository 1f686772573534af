"""Which mappings are wanted, and on which array."""

from __future__ import annotations

from dataclasses import dataclass

from polyml.machines.descriptions import Described, Systolic, check_kind


@dataclass(frozen=True)
class MappingRequest:
    """A MappingRequest says which mappings a report or a simulation is about, and on which array.

    machine: the array with its memories; None where only its shape is known.
    array: its rows and columns, or the length of an array of one dimension; () for the machine's.
    dataflow: "os", "ws" or "is" for mappings in which results, weights or inputs stay; "auto" for the best one, "all" for each.
    links: "manhattan", "diagonal" or "broadcast".
    mapping: mappings of nests as `mapping.parse` reads them, in place of those that are found.
    rank: the measure by which the best mapping is chosen: "cycles", "utilisation", "ports", "registers", "traffic" or "energy".
    """

    machine: Systolic | None = None
    array: tuple[int, ...] = ()
    dataflow: str = "auto"
    links: str = "manhattan"
    mapping: tuple[str, ...] = ()
    rank: str = "cycles"


def systolic_machine(machine: Described | None) -> Systolic | None:
    """Returns the machine where it is a systolic array, None for None. Raises ConfigError for a machine of another kind."""
    check_kind(machine, Systolic, "systolic array")
    return machine if isinstance(machine, Systolic) else None
