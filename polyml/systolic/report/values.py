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
    """plans: the nest's mappings, the best first. operands, written, element_bytes: as Memories has them. seconds: to find them."""

    nest: SystolicNest
    plans: tuple[Plan, ...]
    operands: Mapping[str, tuple[str, int]]
    written: Mapping[str, int]
    element_bytes: Mapping[str, int]
    seconds: float = field(compare=False)

    @property
    def best(self) -> Plan:
        return self.plans[0]

    @property
    def runner_up(self) -> Plan | None:
        """The next one that is more than the best with rows and columns exchanged."""
        return next((plan for plan in self.plans[1:] if _design(plan) != _design(self.best)), None)


def _design(plan: Plan) -> tuple:
    return plan.recurrence.outer, plan.recurrence.axes, plan.mapping.time, frozenset(plan.mapping.space)


@dataclass(frozen=True)
class SystolicReportValues:
    """shape: of the array. rank: by what the best mapping is. machine: None where only its shape is known. nests: those that have
    instances. bound: on what any order of the kernel moves.
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
        """Of the nests' best mappings, one nest after the other."""
        return sum(nest.best.folds.cycles for nest in self.nests)

    @property
    def instances(self) -> int:
        return sum(nest.best.recurrence.instances for nest in self.nests)

    @property
    def utilisation(self) -> float:
        return self.instances / (prod(self.shape) * self.cycles) if self.cycles else 0.0

    @property
    def elements(self) -> int | None:
        """Of the smallest type, that the buffer next to the array holds."""
        return self.machine and self.machine.buffer_bytes // self._smallest

    @property
    def moved(self) -> int:
        """Elements that the buffer and the memory behind it exchange at least."""
        if self.elements is None:
            return self.bound.compulsory(self.sizes) + self.bound.stores(self.sizes)
        return self.bound.total(self.sizes, self.elements)

    @property
    def compute_seconds(self) -> Figure | None:
        clock = self.machine and self.machine.frequency_hz.all
        return clock and Figure(self.cycles / clock.value, "estimate", "cycles over the frequency, without stalls")

    @property
    def memory_seconds(self) -> Figure | None:
        rate = self.machine and self.machine.read("memory")
        source = "the bound over the memory's bandwidth"
        return rate and Figure(self.moved * self._smallest / rate.value, "estimate", source)

    @property
    def _smallest(self) -> int:
        """Bytes of an element, of all arrays that the nests use."""
        return min((size for nest in self.nests for size in nest.element_bytes.values()), default=self.machine.operand_bytes)

    def memories(self, nest: NestReport, plan: Plan) -> MemoryCosts | None:
        """Of one of the nest's mappings; None where no machine is known."""
        return self.machine and MemoryCosts(self.machine, plan, nest.operands, nest.written, nest.element_bytes)
