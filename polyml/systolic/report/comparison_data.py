"""Simulated calls as plain data, for JSON."""

from __future__ import annotations

from dataclasses import asdict
from itertools import zip_longest
from math import inf

from polyml.systolic.folding.fold_counts import is_stationary
from polyml.systolic.mapping.axis_names import axis_names
from polyml.systolic.mapping.dataflows import entry_cycles, kung_design
from polyml.systolic.report.comparison_values import SimulationReportValues, Trial
from polyml.systolic.report.data import request_data
from polyml.systolic.simulate import NestRun

VERSION = 1


def data(found: SimulationReportValues) -> dict[str, object]:
    """Returns a report on simulated calls as plain data for JSON."""
    return {
        "version": VERSION,
        **request_data(found.report),
        "engine": found.engine,
        "agree": found.ok,
        "simulations": [_trial(found, trial) for trial in found.trials],
    }


def _trial(found: SimulationReportValues, trial: Trial) -> dict[str, object]:
    """Returns one simulated call as plain data."""
    agreement = {name: value if value != inf else None for name, value in asdict(trial.agreement).items()}  # JSON has no infinity
    return {
        "cycles": trial.cycles,
        "instances": trial.instances,
        "utilisation": found.utilisation(trial),
        "values": {"agree": trial.agreement.ok, **agreement},
        "seconds": trial.seconds,
        "cycles_per_s": trial.cycles / trial.seconds if trial.seconds else None,
        "nests": [_run(run, found.trace, listing) for run, listing in zip_longest(trial.runs, trial.listings)],
    }


def _run(run: NestRun, trace: bool, listing: str | None) -> dict[str, object]:
    """Returns what one nest did in a simulated call, as plain data.

    trace: whether to add how many PEs worked in each cycle; listing: the program of its PEs as text, None for none.
    """
    plan, recurrence, mapping = run.plan, run.plan.recurrence, run.plan.mapping
    made = {
        "statement": recurrence.nest.name,
        "dataflow": plan.dataflow,
        "design": kung_design(recurrence, mapping),
        "mapping": recurrence.text(mapping),
        "outer": [axis_names(recurrence.nest)[loop] for loop in recurrence.outer],
        "enters": {text: f"t = {at}" for text, at in entry_cycles(recurrence, mapping).items()},
        "stays": [recurrence.label(s.use) for s in recurrence.streams if is_stationary(mapping, s)],
        "folds": plan.folds.number,
        "cycles": run.cycles,
        "instances": recurrence.instances,
        "reads": [{"text": text, "elements": number} for text, number in run.reads],
        "writes": run.writes,
        "seconds": run.seconds,
    }
    if trace:
        made["active"] = run.active.tolist()
    if listing is not None:
        made["listing"] = listing
    return made
