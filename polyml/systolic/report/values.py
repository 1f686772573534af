"""What a report on a systolic array knows, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from polyml.machines.descriptions import Figure, Systolic
from polyml.model.counting.io_lower_bound import LowerBound
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.recurrences.systolic_nest import SystolicNest
from polyml.systolic.report.memory_traffic import MemoryCosts


@dataclass(frozen=True)
class NestReport:
    """A NestReport holds what a report knows of one nest.

    nest: the nest.
    plans: its mappings, the best first.
    operands, written, element_bytes: what it reads and writes in memory, as `MemoryCosts` has them.
    seconds: how long it took to find the mappings.
    """

    nest: SystolicNest
    plans: tuple[Plan, ...]
    operands: Mapping[str, tuple[str, int]]
    written: Mapping[str, int]
    element_bytes: Mapping[str, int]
    seconds: float = field(compare=False)

    @property
    def best(self) -> Plan:
        """Returns the nest's best plan."""
        return self.plans[0]

    @property
    def runner_up(self) -> Plan | None:
        """Returns the best plan that is not just the best one with rows and columns exchanged; None where there is no other."""
        return next((plan for plan in self.plans[1:] if _design(plan) != _design(self.best)), None)


def _design(plan: Plan) -> tuple:
    """Returns a key that is equal for plans which differ by nothing but rows and columns exchanged."""
    return plan.recurrence.outer, plan.recurrence.axes, plan.mapping.time, frozenset(plan.mapping.space)


@dataclass(frozen=True)
class SystolicReportValues:
    """SystolicReportValues holds what a report on a kernel's mappings onto an array knows, as values.

    kernel, where: the kernel's name, and where it is defined.
    sizes: the parameters' values.
    shape: the rows and columns of the array.
    links, dataflow, rank, machine: what was asked for, as in `MappingRequest`.
    nests: the nests that have instances.
    bound: a lower bound on what the kernel moves, in any order of its instances, between memory and a fast memory.
    seconds: how long the report took.
    """

    kernel: str
    where: str
    sizes: Mapping[str, int]
    shape: tuple[int, ...]
    links: str
    dataflow: str
    rank: str
    machine: Systolic | None
    nests: tuple[NestReport, ...]
    bound: LowerBound
    seconds: float = field(compare=False)

    @property
    def cycles(self) -> int:
        """Returns the cycles of the nests' best mappings, one nest after another."""
        return sum(nest.best.folds.cycles for nest in self.nests)

    @property
    def instances(self) -> int:
        """Returns how many instances all nests have."""
        return sum(nest.best.recurrence.instances for nest in self.nests)

    @property
    def utilisation(self) -> float:
        """Returns the share of instances that run among those that all PEs could run in the cycles of all nests."""
        return self.instances / (prod(self.shape) * self.cycles) if self.cycles else 0.0

    @property
    def elements(self) -> int | None:
        """Returns how many elements, of the smallest type that the nests use, the buffer next to the array holds; None without a
        machine.
        """
        return None if self.machine is None else self.machine.buffer_bytes // self._smallest(self.machine)

    @property
    def moved(self) -> int:
        """Returns a lower bound on the elements that move between the buffer next to the array and the memory behind it, in any
        order of the instances. Without a machine the buffer counts as unlimited: each element is read and written once.
        """
        if self.elements is None:
            return self.bound.compulsory(self.sizes) + self.bound.stores(self.sizes)
        return self.bound.total(self.sizes, self.elements)

    @property
    def compute_seconds(self) -> Figure | None:
        """Returns an estimate of the time that all cycles take, in s, without waits for memory; None where the frequency is not
        known.
        """
        clock = None if self.machine is None else self.machine.frequency_hz.all
        if clock is None:
            return None
        return Figure(self.cycles / clock.value, "estimate", "cycles over the frequency, without stalls")

    @property
    def memory_seconds(self) -> Figure | None:
        """Returns an estimate of the time in which memory moves the least that has to be moved, in s; None where its rate is not
        known.
        """
        rate = None if self.machine is None else self.machine.read("memory")
        if self.machine is None or rate is None:
            return None
        seconds = self.moved * self._smallest(self.machine) / rate.value
        return Figure(seconds, "estimate", "the bound over the memory's bandwidth")

    def _smallest(self, machine: Systolic) -> int:
        """Returns the bytes of the smallest type of element that the nests use."""
        return min((size for nest in self.nests for size in nest.element_bytes.values()), default=machine.operand_bytes)

    def memories(self, nest: NestReport, plan: Plan) -> MemoryCosts | None:
        """Returns the bytes, waits and energy that one of a nest's plans costs in the memories; None without a machine."""
        if self.machine is None:
            return None
        return MemoryCosts(self.machine, plan, nest.operands, nest.written, nest.element_bytes)
