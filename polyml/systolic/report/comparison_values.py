"""What simulated calls on a systolic array come to, beside the values of the processor."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from polyml.systolic.report.report import SystolicReport
from polyml.systolic.simulate import ArraySimulation, NestRun


@dataclass(frozen=True)
class Agreement:
    """An Agreement says how the results of a call agree with the processor's.

    error: the largest absolute difference of all results.
    ratio: the largest share of the rounding bound that a difference takes, at most 1 where values agree; infinite where they may
        not differ, or where no bound is known.
    output: the result with that ratio.
    reason: why there is no bound.
    types: which type is there in place of which, where they differ.
    """

    error: float
    ratio: float
    output: str = ""
    reason: str = ""
    types: str = ""

    @property
    def ok(self) -> bool:
        """Returns whether the results agree."""
        return self.ratio <= 1.0


@dataclass(frozen=True)
class Trial:
    """A Trial is one simulated call, compared with the processor's.

    simulation: the simulation.
    agreement: how its results agree with the processor's.
    listings: the listing of each run's first fold, where they are wanted.
    """

    simulation: ArraySimulation
    agreement: Agreement
    listings: tuple[str, ...] = ()

    @property
    def runs(self) -> tuple[NestRun, ...]:
        """Returns the runs of the nests."""
        return self.simulation.runs

    @property
    def cycles(self) -> int:
        """Returns the cycles of all nests, one after another."""
        return sum(run.cycles for run in self.runs)

    @property
    def instances(self) -> int:
        """Returns how many instances ran."""
        return sum(run.plan.recurrence.instances for run in self.runs)

    @property
    def seconds(self) -> float:
        """Returns how long the simulation took."""
        return sum(run.seconds for run in self.runs)


@dataclass(frozen=True)
class SimulationReportValues:
    """SimulationReportValues holds what a report on simulated calls knows.

    report: the report on the mappings.
    engine: the engine that ran them.
    trials: the simulated calls, one for each choice of mappings.
    trace: whether the PEs at work are shown.
    """

    report: SystolicReport
    engine: str
    trials: tuple[Trial, ...]
    trace: bool = False

    @property
    def ok(self) -> bool:
        """Returns whether all results agree."""
        return all(trial.agreement.ok for trial in self.trials)

    def utilisation(self, trial: Trial) -> float:
        """Returns the share of instances that run among those that all PEs could run in these cycles."""
        return trial.instances / (prod(self.report.shape) * trial.cycles) if trial.cycles else 0.0
