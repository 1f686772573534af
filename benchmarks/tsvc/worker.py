"""One peer in a process of its own: it checks a loop at the small size, then times it at the full size whenever it is told to."""

from __future__ import annotations

import statistics
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from benchmarks.interleaved_processes import Failed
from benchmarks.tsvc.entry import FULL, SMALL, Tsvc, difference
from benchmarks.tsvc.forms import Form, Peer, peer, python_form
from benchmarks.tsvc.loops import LOOPS

BOUND = 1e-4  # of results whose sums are in another order, relative to the largest value
_TURN_S, _TURN_CALLS = 3e-3, 200  # a turn ends with whichever comes first


@dataclass(frozen=True)
class Job:
    """A Job is a loop for a peer, with what `forms.peer` takes."""

    peer: str
    loop: str
    options: tuple[str, ...] = ()
    threads: int = 1


@dataclass(frozen=True)
class Ready:
    """A Ready says how far from Python's a peer's result is, and whether polyml compiles the loop whole, or why not."""

    difference: float
    explained: str


@dataclass(frozen=True)
class Timed:
    """A Timed is a form that was called, with the arrays that it writes and their first values."""

    form: Form
    again: Sequence[tuple[np.ndarray, np.ndarray]]

    def turn(self) -> float:
        """Returns the median seconds of calls in a row, each of which starts from the same values."""
        seconds: list[float] = []
        while not seconds or (sum(seconds) < _TURN_S and len(seconds) < _TURN_CALLS):
            for array, values in self.again:
                np.copyto(array, values)
            begin = time.perf_counter()
            self.form.call()
            seconds.append(time.perf_counter() - begin)
        return statistics.median(seconds)


def serve(connection: Connection, job: Job) -> None:
    """Answers each job with Ready or Failed, and each "run" with the seconds of a call."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        forms = peer(job.peer, job.options, Path(folder))
        asked: object = job
        while True:
            if isinstance(asked, Job):
                try:
                    ready, timed = prepared(forms, LOOPS[asked.loop])
                    connection.send(ready)
                except Exception as error:  # whatever a compiler raises becomes a line of the table
                    connection.send(Failed.of("error", error))
            else:
                connection.send(timed.turn())
            asked = connection.recv()


def prepared(forms: Peer, loop: Tsvc) -> tuple[Ready, Timed]:
    """Returns what a peer makes of a loop, once it has computed a right result, and once it has run at full size."""
    found, written, explained = checked(forms, loop)
    if not found <= BOUND:
        raise ValueError(f"the result differs by {found:.2g} from Python's")
    form = forms(loop, FULL)
    again = [(array, array.copy()) for array, changed in zip(form.arrays, written) if changed]
    form.call()
    return Ready(found, explained), Timed(form, again)


def checked(forms: Peer, loop: Tsvc) -> tuple[float, list[bool], str]:
    """Returns the difference from Python's result at the small size, which arrays the loop writes, and what `explained` says."""
    plain, form = python_form(loop, SMALL), forms(loop, SMALL)
    before = [array.copy() for array in plain.arrays]
    wanted = plain.numbers()
    found = form.numbers()[: len(wanted)]
    written = [not np.array_equal(old, new) for old, new in zip(before, plain.arrays)]
    return difference([*form.arrays, *found], [*plain.arrays, *wanted]), written, form.explained()
