"""One peer in a process of its own: prepares a case, checks it, runs it whenever it is told to, then takes the next case."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection

from benchmarks.contractions import peak
from benchmarks.contractions.problem import Form
from benchmarks.contractions.sets import SETS
from benchmarks.interleaved_processes import Failed, Turn, serve_turns
from benchmarks.peer import PeerUnavailable

Clock = Callable[[], float]
PEAK = "peak"  # the peer that does multiply-adds alone
_BATCH_S = 5e-4  # calls that take less are timed several at once
_TRIAL_S = 0.05  # of the calls that find out which of several forms is fastest
_LEAST_CALLS = 3  # in a turn, of calls that take up to the turn's time


@dataclass(frozen=True)
class Job:
    """A Job is one peer on one case.

    turn_s: seconds of calls in a row.
    by_processor: whether what counts is the processor's time of the process, of which others that use the machine take nothing.
    """

    set: str
    case: str
    peer: str
    dtype: str
    threads: int
    turn_s: float
    by_processor: bool = False

    @property
    def clock(self) -> Clock:
        return time.process_time if self.by_processor else time.perf_counter


@dataclass(frozen=True)
class Ready:
    """A Ready says that a peer has computed a right result.

    form: the fastest right one.
    flops: of one call.
    first_s: the first call, with compilation.
    error: of its result, as a fraction of the bound.
    """

    form: str
    flops: int
    first_s: float
    error: float


def serve(connection: Connection, job: Job) -> None:
    """Sends Ready or Failed, then seconds of a call for each "run" received; after a Job the same for that one."""
    serve_turns(connection, job, _prepare)


def _prepare(job: Job) -> tuple[Ready, Turn] | Failed:
    try:
        flops, forms = _forms(job)
        tried = [_try(name, form, flops, job.clock, alone=len(forms) == 1) for name, form in forms.items()]
    except PeerUnavailable as reason:
        return Failed("unavailable", str(reason))
    except Exception as error:  # whatever a peer raises becomes a line of the table
        return Failed.of("error", error)
    wrong = [ready for _, ready, _ in tried if not ready.error <= 1.0]
    if wrong:
        return Failed("wrong", f"{wrong[0].form} {wrong[0].error:.3g} times the bound away from the reference".strip())
    _, ready, form = min(tried, key=lambda t: t[0])
    return ready, lambda: turn(form, job.turn_s, job.clock)


def _forms(job: Job) -> tuple[int, dict[str, Form]]:
    if job.peer == PEAK:
        return 0, {"": peak.form(job.dtype, job.threads)}
    problem = SETS[job.set].problem(job.case, job.dtype)
    return problem.flops, problem.forms[job.peer](job.threads)


def _try(name: str, form: Form, flops: int, clock: Clock, alone: bool) -> tuple[float, Ready, Form]:
    """Returns (seconds of a call, ...); where there is nothing to choose from, those of the first one."""
    if form.clear is not None:
        form.clear()
    first_s = _seconds(form, 1, clock)
    ready = Ready(name, form.flops or flops, first_s, form.error())
    return first_s if alone else turn(form, _TRIAL_S, clock), ready, form


def turn(form: Form, turn_s: float, clock: Clock = time.perf_counter) -> float:
    """Returns the median seconds of a call in the second half of a turn, when cores that rested have woken."""
    number, times, spent = 1, [], 0.0
    if form.prepare is None:
        number = max(1, round(_BATCH_S / _seconds(form, 1, clock)))
    while spent < turn_s or (len(times) < _LEAST_CALLS and spent < _LEAST_CALLS * turn_s):
        times.append(_seconds(form, number, clock) / number)
        spent += times[-1] * number
    return statistics.median(times[len(times) // 2 :])


def _seconds(form: Form, number: int, clock: Clock) -> float:
    """Returns the seconds of that many calls; of one where there is something to prepare."""
    call = form.call
    if form.prepare is not None:
        form.prepare()
    numbers = itertools.repeat(None, number)
    start = clock()
    for _ in numbers:
        call()
    return clock() - start
