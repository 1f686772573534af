"""Processes that take turns: what is compared runs in a process of its own, one at a time, each once in a round."""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from benchmarks.library_environment import default_choices

Turn = Callable[[], float]  # runs what is compared for a while, and returns the seconds of a call

_PREPARE_LIMIT_S = 1800.0
_RUN_LIMIT_S = 600.0
_PAUSE_S = 0.06  # for threads that wait for more work to go to sleep: OpenBLAS lets them spin for 2**26 cycles


@dataclass(frozen=True)
class Failed:
    """A Failed says why a worker has no result. kind: "unavailable", "refused", "wrong" or "error"."""

    kind: str
    reason: str

    @classmethod
    def of(cls, kind: str, error: Exception) -> Failed:
        """Returns a failure that is told by an exception's type and the first line of its text."""
        text = str(error).strip().splitlines()
        return cls(kind, f"{type(error).__name__}: {text[0] if text else ''}")


class Process:
    """A Process is a worker, as the rounds see it.

    job: has `threads`.
    failure: is set once it cannot run any more.
    """

    def __init__(self, job: object, serve: Callable[..., None]):
        self.job, self.failure, self.ready = job, None, None
        self.seconds: list[float] = []
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        with default_choices(), thread_environment(job.threads):
            self.process = context.Process(target=serve, args=(other, job), daemon=True)
            self.process.start()
        other.close()

    def prepare(self) -> None:
        answer = self._receive(_PREPARE_LIMIT_S)
        if isinstance(answer, Failed):
            self.failure = answer
        else:
            self.ready = answer

    def take(self, job: object) -> None:
        """Gives the next job to a worker whose `serve` takes several; `prepare` follows."""
        self.job, self.failure, self.ready, self.seconds = job, None, None, []
        self.connection.send(job)

    def run(self) -> float | None:
        if self.failure is not None:
            return None
        self.connection.send("run")
        answer = self._receive(_RUN_LIMIT_S)
        if isinstance(answer, Failed):
            self.failure = answer
            return None
        return answer

    def _receive(self, limit_s: float) -> object:
        try:
            if self.connection.poll(limit_s):
                return self.connection.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            return Failed("error", f"the process ended with {self.process.exitcode}")
        return Failed("error", f"no answer after {limit_s:.0f} s")

    def close(self) -> None:
        self.process.terminate()
        self.process.join()
        self.connection.close()


@contextmanager
def thread_environment(threads: int) -> Iterator[None]:
    """Returns a context in which processes that start see this many threads in every library's own variable."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def taking_turns(jobs: Sequence[object], repeat: int, budget_s: float, serve: Callable[..., None]) -> list[Process]:
    """Returns a process for each job, closed again, with the seconds of its turns."""
    processes: list[Process] = []
    with ExitStack() as stack:
        for job in jobs:
            process = Process(job, serve)
            stack.callback(process.close)
            process.prepare()
            processes.append(process)
        rounds(processes, repeat, budget_s)
    return processes


def with_job(process: Process | None, job: object, serve: Callable[..., None], stack: ExitStack) -> Process:
    """Returns the process with its next job; a new process where there is none, or an error has left it in an unknown state.

    serve: takes several jobs, see `serve_turns`.
    """
    if process is not None and (process.failure is None or process.failure.kind != "error"):
        process.take(job)
        return process
    if process is not None:
        process.close()
    process = Process(job, serve)
    stack.callback(process.close)
    return process


def serve_turns(connection: Connection, job: object, prepare: Callable[..., tuple[object, Turn] | Failed]) -> None:
    """Sends what a job's preparation says or Failed, then the seconds of a turn for each "run" received; after a job the same for that.

    prepare: returns what to send and what takes a turn
    """
    order = job
    while isinstance(order, type(job)):
        prepared = prepare(order)
        if isinstance(prepared, Failed):
            connection.send(prepared)
            order = connection.recv()
            continue
        ready, turn = prepared
        connection.send(ready)
        order = connection.recv()
        while order == "run":
            connection.send(turn())
            order = connection.recv()
        del turn, prepared
        gc.collect()


def rounds(processes: Sequence[Process], repeat: int, budget_s: float) -> None:
    """Runs each process once in a round. Rounds end after `repeat`, or once `budget_s` is spent, but not before the first."""
    start = time.monotonic()
    for _ in range(repeat):
        for process in processes:
            seconds = process.run()
            if seconds is not None:
                process.seconds.append(seconds)
            time.sleep(_PAUSE_S)
        if time.monotonic() - start > budget_s:
            return
