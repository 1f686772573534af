"""Simulated calls as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from polyml.report.html import page
from polyml.report.table import Column, Table, lines, table
from polyml.report.text import WIDTH, time_text
from polyml.systolic.mapping.dataflows import Plan, entry_cycles
from polyml.systolic.recurrences.recurrence import DataStream
from polyml.systolic.report.comparison_values import Agreement, SimulationReportValues, Trial
from polyml.systolic.report.text import heading, mapping_text, moves_text, name_text
from polyml.systolic.simulate import NestRun

COLUMNS = 72  # of a picture
_BARS = " ▁▂▃▄▅▆▇█"


def text(found: SimulationReportValues, width: int | None = None) -> str:
    """Returns a report on simulated calls as text, with tables for a terminal. width: the most characters of a line; None: any."""
    return lines(parts(found), width)


def html(found: SimulationReportValues) -> str:
    """Returns a report on simulated calls as HTML."""
    return page(parts(found))


def parts(found: SimulationReportValues) -> Iterator[str | Table]:
    """Yields the lines and tables of a report on simulated calls, in order."""
    report = found.report
    machine = f" of {report.machine.name}" if report.machine else ""
    yield report.where
    yield f"sizes    {', '.join(f'{name} = {value}' for name, value in report.sizes.items())}"
    yield f"array    {' x '.join(map(str, report.shape))} units{machine}, {report.links} links; engine {found.engine}"
    yield ""
    for trial in found.trials:
        for number, run in enumerate(trial.runs):
            yield from _run(run)
            if found.trace:
                yield from picture(run.active, run.plan.folds.units)
                yield ""
            if trial.listings:
                yield from trial.listings[number].splitlines()
                yield ""
        yield f"total    {trial.cycles:,} cycles, {found.utilisation(trial):.1%} of the units' instances"
        yield f"values   {agreement_text(trial.agreement)}"
        yield f"speed    {time_text(trial.seconds)}, {rate_text(trial)}"
        yield ""
    if len(found.trials) > 1:
        yield from _summary(found)


def agreement_text(found: Agreement) -> str:
    """Returns in words how the results of a simulated call agree with the compiled kernel's."""
    if found.ratio == 0.0:
        return "equal to the compiled kernel's"
    if found.types:
        return f"WRONG: {found.output} is {found.types}"
    error = f"{found.output} differs from the compiled kernel's by up to {found.error:.3g}"
    if found.reason:
        return f"not known to agree: {error}; {found.reason} (with --fp strict there are no differences)"
    if not found.ok:
        return f"WRONG: {error}" + (f", {found.ratio:.3g} times the rounding bound" if np.isfinite(found.ratio) else "")
    return f"agree: {error}, {found.ratio:.2g} of the rounding bound"


def rate_text(trial: Trial) -> str:
    """Returns in words how many cycles were simulated per second."""
    return f"{trial.cycles / trial.seconds:,.0f} cycles/s simulated" if trial.seconds else "nothing to simulate"


def _run(run: NestRun) -> Iterator[str | Table]:
    """Yields the lines and the table about one nest of a simulated call."""
    plan = run.plan
    yield from heading(plan.recurrence.nest)
    yield f"mapping  {' '.join(filter(None, (name_text(plan), mapping_text(plan))))}"
    folds = plan.folds.number
    yield f"cycles   {run.cycles:,} in {folds:,} fold{'' if folds == 1 else 's'}; {plan.recurrence.instances:,} instances"
    yield _streams(run)
    yield ""


def _streams(run: NestRun) -> Table:
    """Returns the table of what entered and left the array, as it was counted in the simulation."""
    plan, enters = run.plan, entry_cycles(run.plan.recurrence, run.plan.mapping)
    reads = [number for _, number in run.reads]

    def label(stream: DataStream) -> str:
        """Returns the text of a stream's access."""
        return plan.recurrence.label(stream.use)

    columns: Sequence[Column[tuple[DataStream, int]]] = (
        Column("", lambda row: label(row[0]), is_left=True),
        Column("", lambda row: row[0].use.kind, is_left=True),
        Column("", lambda row: moves_text(plan, row[0]), is_left=True),
        Column("enters at", lambda row: f"t = {enters[label(row[0])]}" if label(row[0]) in enters else "", is_left=True),
        Column("reads", lambda row: f"{row[1]:,}"),
        Column("writes", lambda row: f"{run.writes:,}" if row[0].use.kind == "result" else "0"),
    )
    streams = (*plan.recurrence.streams, *_result(plan))
    return table(columns, zip(streams, (*reads, *(0 for _ in range(len(streams) - len(reads))))))


def _result(plan: Plan) -> tuple[DataStream, ...]:
    """Returns the stream of a plan's results in a tuple, () where they are sums and so among its other streams."""
    return () if any(s.use.kind == "result" for s in plan.recurrence.streams) else (plan.recurrence.result,)


def picture(active: Sequence[int] | np.ndarray, units: int) -> Iterator[str]:
    """Yields the lines of a bar chart in text: how many PEs work over time, each bar for one cycle or for the average of several.

    active: how many PEs work, by cycle; units: how many there are.
    """
    counts = np.asarray(active, dtype=np.float64)
    columns = min(COLUMNS, len(counts))
    edges = np.linspace(0, len(counts), columns + 1).astype(int)
    means = [counts[first:last].mean() for first, last in pairwise(edges)]
    top = len(_BARS) - 1
    bars = "".join(_BARS[max(round(top * mean / units), int(mean > 0))] for mean in means)
    each = "a cycle" if columns == len(counts) else f"{len(counts) / columns:.3g} cycles"
    yield f"  units at work, █ for all {units:,}; a column for {each}"
    yield f"  {bars}"
    yield f"  0{f'{len(counts) - 1:,}'.rjust(columns - 1)}"


def _summary(found: SimulationReportValues) -> Iterator[str | Table]:
    """Yields a heading, and the table with a row for each simulated call."""
    columns: Sequence[Column[Trial]] = (
        Column("mapping", _mappings, is_left=True),
        Column("cycles", lambda trial: f"{trial.cycles:,}"),
        Column("utilisation", lambda trial: f"{found.utilisation(trial):.1%}"),
        Column("reads", lambda trial: f"{sum(number for run in trial.runs for _, number in run.reads):,}"),
        Column("writes", lambda trial: f"{sum(run.writes for run in trial.runs):,}"),
        Column("values", lambda trial: "agree" if trial.agreement.ok else "differ"),
        Column("cycles/s", shown_rate),
    )
    yield "── all ".ljust(WIDTH, "─")
    yield table(columns, found.trials)


def _mappings(trial: Trial) -> str:
    """Returns the dataflow and the mapping of each nest of a simulated call as text."""
    return "; ".join(" ".join(filter(None, (name_text(run.plan), mapping_text(run.plan)))) for run in trial.runs)


def shown_rate(trial: Trial) -> str:
    """Returns how many cycles were simulated per second as text, "" where that took no time."""
    return f"{trial.cycles / trial.seconds:,.0f}" if trial.seconds else ""
