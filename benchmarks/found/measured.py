"""One function, by polyml and by numba: whether it is compiled whole, whether its results are right, and how long it takes."""

from __future__ import annotations

import copy
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing.connection import Connection
from types import FunctionType
from typing import Any, cast

import numpy as np

from benchmarks.found import functions
from benchmarks.found.comparison import as_python, difference, outcome
from benchmarks.found.entry import Found
from benchmarks.interleaved_processes import Failed, Process, Turn, serve_turns
from benchmarks.irregular import reason_of_plain

SEED = 0
_TURN_S, _TURN_CALLS = 0.05, 9  # of calls in a row, of which the median counts


@dataclass(frozen=True)
class Job:
    """A Job is one function run by "polyml" or by "numba"."""

    peer: str
    title: str
    threads: int


@dataclass(frozen=True)
class Ready:
    """A Ready says what became of a function, and that it can be timed.

    whole: whether polyml compiled it whole.
    parts: how many parts of it polyml compiled where not.
    reason: why not.
    problem: in what the call differs from plain Python; "" where in nothing.
    seconds: of the first call, which compiles.
    is_timed: whether the function has a size for measuring, and runs compiled whole.
    """

    whole: bool = True
    parts: int = 0
    reason: str = ""
    problem: str = ""
    seconds: float = 0.0
    is_timed: bool = True


@dataclass(frozen=True)
class Row:
    """A Row is one function in the table.

    package: its distribution and version.
    seconds: of a call, by peer; empty where it was not timed.
    ratio: numba's time / polyml's, the median over the rounds.
    """

    title: str
    package: str
    ready: Ready
    seconds: dict[str, float]
    ratio: float | None


class Calls:
    """A Calls runs a function again and again on the same arguments, which are put back before each call, outside what is timed."""

    def __init__(self, call: Callable, arguments: tuple):
        self._call, self._first, self._used = call, arguments, copy.deepcopy(arguments)

    def once(self) -> float:
        """Returns the seconds of a call."""
        for used, first in zip(self._used, self._first):
            if isinstance(used, np.ndarray):
                used[...] = first
        begin = time.perf_counter()
        self._call(*self._used)
        return time.perf_counter() - begin

    def turn(self) -> float:
        """Returns the median time of some calls in a row."""
        times: list[float] = []
        while not times or (sum(times) < _TURN_S and len(times) < _TURN_CALLS):
            times.append(self.once())
        return statistics.median(times)


def arguments(found: Found, size: int) -> tuple:
    """Returns the arguments of a function, the same ones each time."""
    return found.arguments(np.random.default_rng(SEED), size)


def examined(found: Found, threads: int) -> tuple[Ready, Callable]:
    """Returns what becomes of a function that polyml gets as it is, and the kernel."""
    import polyml

    function = cast(FunctionType, cast(Any, found.dispatcher()).py_func)
    kernel = polyml.kernel(function, cache=False, threads=threads)
    given = arguments(found, found.small)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.perf_counter()
        result = outcome(kernel, given)
        seconds = time.perf_counter() - begin
        whole = bool(kernel.compiled)
        wanted = outcome(as_python(function) if whole else function, given)  # Python calls dispatchers as they are
    reason = "" if whole else reason_of_plain(kernel.explain())
    parts = 0 if whole else len(list(kernel.compiled_parts()))
    is_timed = whole and found.large is not None
    return Ready(whole, parts, reason, difference(wanted, result), seconds, is_timed), kernel


def prepare(job: Job) -> tuple[Ready, Turn] | Failed:
    """Returns what becomes of a function, and what times it."""
    found = functions()[job.title]
    try:
        ready, call = examined(found, job.threads) if job.peer == "polyml" else (Ready(), found.dispatcher())
        if not ready.is_timed or found.large is None:
            return ready, lambda: 0.0
        calls = Calls(call, arguments(found, found.large))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            calls.once()
        return ready, calls.turn
    except Exception as error:  # whatever a compiler raises becomes a line of the table
        return Failed.of("error", error)


def serve(connection: Connection, job: Job) -> None:
    """Answers the parent's turns."""
    serve_turns(connection, job, prepare)


def package_of(found: Found) -> str:
    """Returns the distribution of a function with the version that is installed."""
    return f"{found.distribution} {version(found.distribution)}"


def row_of(found: Found, own: Process, peer: Process | None) -> Row:
    """Returns what two processes found out about a function."""
    ready = own.ready if own.failure is None else Ready(whole=False, problem=own.failure.reason, is_timed=False)
    if peer is None or peer.failure is not None or not own.seconds or not peer.seconds:
        return Row(found.title, package_of(found), ready, {}, None)
    seconds = {"polyml": statistics.median(own.seconds), "numba": statistics.median(peer.seconds)}
    return Row(found.title, package_of(found), ready, seconds, statistics.median(b / a for a, b in zip(own.seconds, peer.seconds)))
