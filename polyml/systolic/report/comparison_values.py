"""What simulated calls on a systolic array come to, beside the values of the processor."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from polyml.systolic.report.report import SystolicReport
from polyml.systolic.simulate import ArraySimulation, NestRun


@dataclass(frozen=True)
class Agreement:
    """An Agreement says how the results of a simulated call agree with the processor's.

    error: the largest absolute difference of all results.
    ratio: the largest ratio of a difference to the rounding bound, at most 1 where results agree. It is infinite where
        results differ that must be equal, or for which no bound is known.
    output: the name of the result with that ratio.
    reason: why there is no bound; "" where there is one.
    types: for a result of another type than the processor's, both types in words; else "".
    """

    error: float
    ratio: float
    output: str = ""
    reason: str = ""
    types: str = ""

    @property
    def ok(self) -> bool:
        """Returns whether the results agree: they are equal, or differ by no more than rounding explains."""
        return self.ratio <= 1.0


@dataclass(frozen=True)
class Trial:
    """A Trial is one simulated call, compared with the processor's.

    simulation: the simulation.
    agreement: how its results agree with the processor's.
    listings: the program of each nest's first fold as text, where it is wanted.
    """

    simulation: ArraySimulation
    agreement: Agreement
    listings: tuple[str, ...] = ()

    @property
    def runs(self) -> tuple[NestRun, ...]:
        """Returns what each nest did in the simulation."""
        return self.simulation.runs

    @property
    def cycles(self) -> int:
        """Returns the cycles of all nests, one after another."""
        return sum(run.cycles for run in self.runs)

    @property
    def instances(self) -> int:
        """Returns how many instances ran in the simulation."""
        return sum(run.plan.recurrence.instances for run in self.runs)

    @property
    def seconds(self) -> float:
        """Returns how long the simulation took, in s."""
        return sum(run.seconds for run in self.runs)


@dataclass(frozen=True)
class SimulationReportValues:
    """SimulationReportValues holds what a report on simulated calls knows, as values.

    report: the report on the mappings.
    engine: the engine that simulated the calls.
    trials: the simulated calls, one for each choice of mappings.
    trace: whether the PEs at work are shown.
    """

    report: SystolicReport
    engine: str
    trials: tuple[Trial, ...]
    trace: bool = False

    @property
    def ok(self) -> bool:
        """Returns whether the results of all simulated calls agree with the processor's."""
        return all(trial.agreement.ok for trial in self.trials)

    def utilisation(self, trial: Trial) -> float:
        """Returns the share of instances that ran among those that all PEs could run in the cycles of a simulated call."""
        return trial.instances / (prod(self.report.shape) * trial.cycles) if trial.cycles else 0.0
