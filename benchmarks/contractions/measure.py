"""All peers of a set on its cases, in turns."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from benchmarks.contractions.sets import Set
from benchmarks.contractions.worker import PEAK, Job, serve
from benchmarks.interleaved_processes import Process, rounds, with_job

_PEAK_TURN_S = 0.05


@dataclass(frozen=True)
class Row:
    """A Row is one peer, or one form of polyml, on one case.

    seconds: the median time of a call.
    rate: GFLOP/s.
    peak_share: rate / that of independent multiply-adds on as many threads.
    ratios: {form of polyml: median of its rate / this one's in the same round}; above 1, polyml is faster.
    spread: slowest turn / fastest turn.
    first_s: the first call, with compilation.
    error: |result - float64 reference| / bound.
    form: the fastest of the peer's.
    failure: why there are no figures, "unavailable", "wrong" or "error".
    note: the words for it.
    """

    set: str
    case: str
    dtype: str
    threads: int
    peer: str
    seconds: float | None = None
    rate: float | None = None
    peak_share: float | None = None
    ratios: Mapping[str, float] = field(default_factory=dict)
    spread: float | None = None
    first_s: float | None = None
    error: float | None = None
    form: str = ""
    failure: str = ""
    note: str = ""


def measure(work: Set, cases: Sequence[str], dtype: str, threads: int, peers: Sequence[str], *, repeat: int,
            budget_s: float, turn_s: float, by_processor: bool = False) -> Iterator[list[Row]]:  # fmt: skip
    """Yields the rows of each case, polyml's first, that of PEAK last.

    A process serves its peer in all cases, unless it dies or an error occurs. Rounds of a case end after `repeat`, or once
    `budget_s` is spent. Shares of the peak are not yet in the rows.
    """
    names = [*work.own, *peers, PEAK]
    with ExitStack() as stack:
        processes: dict[str, Process] = {}
        for case in cases:
            for name in names:
                seconds = min(turn_s, _PEAK_TURN_S) if name == PEAK else turn_s
                job = Job(work.name, case, name, dtype, threads, seconds, by_processor)
                processes[name] = with_job(processes.get(name), job, serve, stack)
                processes[name].prepare()
            rounds(list(processes.values()), repeat, budget_s)
            yield [_row(processes[name], [processes[own] for own in work.own]) for name in names]


def with_share(row: Row, peak_rate: float) -> Row:
    """Returns the row with its share of the peak. peak_rate: GFLOP/s of multiply-adds on the row's threads."""
    return row if row.rate is None else replace(row, peak_share=row.rate / peak_rate)


def _row(process: Process, own: Sequence[Process]) -> Row:
    job = process.job
    common = {"set": job.set, "case": job.case, "dtype": job.dtype, "threads": job.threads, "peer": job.peer}
    if process.failure is not None:
        return Row(**common, failure=process.failure.kind, note=process.failure.reason)
    rates = _rates(process)
    median = statistics.median(process.seconds)
    return Row(
        **common,
        seconds=median,
        rate=process.ready.flops / median / 1e9,
        ratios={
            p.job.peer: statistics.median(a / b for a, b in zip(_rates(p), rates))
            for p in own
            if p.failure is None and p is not process and job.peer != PEAK
        },
        spread=max(process.seconds) / min(process.seconds),
        first_s=process.ready.first_s,
        error=process.ready.error,
        form=process.ready.form,
    )


def _rates(process: Process) -> list[float]:
    return [process.ready.flops / seconds for seconds in process.seconds]
