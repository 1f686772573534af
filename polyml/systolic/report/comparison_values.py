"""What simulated calls on a systolic array come to, beside the values of the processor."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from polyml.systolic.report.report import SystolicReport
from polyml.systolic.simulate import ArraySimulation, NestRun


@dataclass(frozen=True)
class Agreement:
    """error: largest |difference| of all results. ratio: the largest share of the rounding bound that one takes, at most 1 where
    values agree; inf where they may not differ, or no bound is known. output: the result in which that is. reason: why there is
    no bound. types: what is there in place of what, where these differ.
    """

    error: float
    ratio: float
    output: str = ""
    reason: str = ""
    types: str = ""

    @property
    def ok(self) -> bool:
        return self.ratio <= 1.0


@dataclass(frozen=True)
class Trial:
    """One simulated call. listings: of each run's first fold, where they are asked for."""

    simulation: ArraySimulation
    agreement: Agreement
    listings: tuple[str, ...] = ()

    @property
    def runs(self) -> tuple[NestRun, ...]:
        return self.simulation.runs

    @property
    def cycles(self) -> int:
        return sum(run.cycles for run in self.runs)

    @property
    def instances(self) -> int:
        return sum(run.plan.recurrence.instances for run in self.runs)

    @property
    def seconds(self) -> float:
        return sum(run.seconds for run in self.runs)


@dataclass(frozen=True)
class SimulationReportValues:
    """trials: with the mappings of the report, one after another. trace: whether the units at work are shown."""

    report: SystolicReport
    engine: str
    trials: tuple[Trial, ...]
    trace: bool = False

    @property
    def ok(self) -> bool:
        return all(trial.agreement.ok for trial in self.trials)

    def utilisation(self, trial: Trial) -> float:
        """Instances over what all units could run in these cycles."""
        return trial.instances / (prod(self.report.shape) * trial.cycles) if trial.cycles else 0.0
