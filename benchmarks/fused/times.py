"""The programs' times: each peer in a process of its own, the processes take turns, and each result is checked."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

import numpy as np

from benchmarks.fused import programs
from benchmarks.fused.peers import CALLS
from benchmarks.interleaved_processes import Failed, Process, taking_turns
from benchmarks.peer import PeerUnavailable
from benchmarks.results import geometric_mean

_TURN_S = 0.1  # of calls in a row, of which the median counts
_TURN_CALLS = 15
_WARM_CALLS = 3  # before the first turn: compilers and allocators are done after these
LEAST = 0.9  # of the best peer's speed, under which a program is named


@dataclass(frozen=True)
class Job:
    peer: str
    program: str
    preset: str
    threads: int


@dataclass(frozen=True)
class Row:
    """A Row holds the times of one program.

    seconds: {peer: the median over the rounds}, of peers that have a time.
    ratios: {peer: the median over the rounds of its time over polyml's in the same round}.
    notes: {peer: why it has no time}.
    """

    program: str
    seconds: dict[str, float] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def best(self) -> tuple[float, str] | None:
        """Returns the ratio of the fastest peer, and which it is; None where no peer or polyml has no time."""
        return min(((ratio, peer) for peer, ratio in self.ratios.items()), default=None)


def serve(connection: Connection, job: Job) -> None:
    """Sends None once the peer has computed a right result, or Failed; then seconds for each "run" received."""
    program = programs()[job.program]
    arguments = program.arguments(job.preset)
    try:
        call = CALLS[job.peer](program, arguments, job.threads)
        with np.errstate(all="ignore"):
            problem = program.problem(call(), arguments)
            for _ in range(_WARM_CALLS):
                call()
    except PeerUnavailable as reason:
        connection.send(Failed("unavailable", str(reason)))
        return
    except Exception as error:  # whatever a peer's compiler raises becomes a line below the table
        connection.send(Failed.of("refused", error))
        return
    if problem:
        connection.send(Failed("wrong", problem))
        return
    connection.send(None)
    while connection.recv() == "run":
        times: list[float] = []
        while sum(times) < _TURN_S and len(times) < _TURN_CALLS:
            start = time.perf_counter()
            result = call()
            times.append(time.perf_counter() - start)
            del result
        connection.send(statistics.median(times))


def row(name: str, preset: str, threads: int, peers: Sequence[str], repeat: int, budget_s: float) -> Row:
    """Returns the times of one program. repeat, budget_s: rounds, and the seconds after which no other one begins."""
    return _row(name, taking_turns([Job(peer, name, preset, threads) for peer in peers], repeat, budget_s, serve))


def _row(name: str, processes: Sequence[Process]) -> Row:
    done = {p.job.peer: p for p in processes if p.failure is None}
    own = done.get("polyml")
    return Row(
        name,
        {peer: statistics.median(p.seconds) for peer, p in done.items()},
        {
            peer: statistics.median(theirs / ours for theirs, ours in zip(p.seconds, own.seconds))
            for peer, p in done.items()
            if own is not None and p is not own
        },
        {p.job.peer: f"{p.failure.kind}: {p.failure.reason}" for p in processes if p.failure is not None},
    )


def lines(rows: Sequence[Row], peers: Sequence[str]) -> Iterator[str]:
    """Yields the table as Markdown: polyml's milliseconds, and how many times longer each peer takes."""
    others = [peer for peer in peers if peer != "polyml"]
    yield f"| program | polyml ms | {' | '.join(others)} | best |"
    yield "|---" * (len(others) + 3) + "|"
    for each in rows:
        own = f"{each.seconds['polyml'] * 1e3:.3g}" if "polyml" in each.seconds else "-"
        cells = [f"{each.ratios[peer]:.2f}" if peer in each.ratios else "-" for peer in others]
        best = f"{each.best[0]:.2f} {each.best[1]}" if each.best else "-"
        yield f"| {each.program} | {own} | {' | '.join(cells)} | {best} |"
    yield ""
    means = {peer: geometric_mean(each.ratios[peer] for each in rows if peer in each.ratios) for peer in others}
    yield "geometric means: " + ", ".join(f"{peer} {mean:.2f}" for peer, mean in means.items() if mean)
    best = {each.program: each.best[0] for each in rows if each.best}
    if best:
        slow = [name for name, ratio in best.items() if ratio < LEAST]
        yield f"the best peer of each program / polyml: {geometric_mean(best.values()):.2f}; under {LEAST}: {', '.join(slow) or 'none'}"
    for each in rows:
        yield from (f"{each.program}, {peer}: {note}" for peer, note in each.notes.items() if not note.startswith("unavailable"))
