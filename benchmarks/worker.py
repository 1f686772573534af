"""One peer in a process of its own: prepares the kernel, checks it, then runs it whenever it is told to."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

import numpy as np

from benchmarks.interleaved_processes import Failed
from benchmarks.peer import Call, PeerUnavailable
from benchmarks.peers import PEERS
from polyml import kernels
from polyml.cli.commands.bench_runner import Runner
from polyml.kernels import Benchmark
from polyml.kernels._accuracy import Accuracy, compare, magnitude

_TURN_S = 0.05  # of calls in a row, of which the median counts: cores and clocks rest while the other processes run
_TURN_CALLS = 25
_SCALE = "scale of "


@dataclass(frozen=True)
class Job:
    """A Job is one peer on one kernel. expected: a file that `expect` wrote for this seed."""

    peer: str
    kernel: str
    size: Mapping[str, int]
    threads: int
    seed: int
    expected: str


@dataclass(frozen=True)
class Ready:
    """A Ready says that a peer has computed a right result.

    variant: the fastest correct one.
    seconds: its first time.
    accuracy: its result against the reference.
    excluded: why other variants do not count.
    """

    variant: str
    seconds: float
    accuracy: Accuracy
    excluded: str = ""


def serve(connection: Connection, job: Job) -> None:
    """Sends Ready or Failed, then seconds for each "run" received, until anything else arrives."""
    prepared = prepare(job)
    if isinstance(prepared, Failed):
        connection.send(prepared)
        return
    runner, ready = prepared
    connection.send(ready)
    while connection.recv() == "run":
        connection.send(_turn(runner))


def _turn(runner: Runner) -> float:
    """Returns the seconds of a call."""
    times: list[float] = []
    while not times or (sum(times) < _TURN_S and len(times) < _TURN_CALLS):
        times.append(runner.run()[0])
    return statistics.median(times)


def expect(path: str, benchmark: Benchmark, arguments: Mapping[str, object]) -> None:
    """Writes what the reference makes of the arguments, and the scale of its rounding errors, for all peers at once."""
    values = tuple(arguments.values())
    scales = {_SCALE + name: scale for name, scale in magnitude(benchmark, values).items()}
    np.savez(path, **benchmark.reference(*values), **scales)


def prepare(job: Job) -> tuple[Runner, Ready] | Failed:
    benchmark = kernels.load(job.kernel)
    arguments = benchmark.inputs(job.size, np.random.default_rng(job.seed), np.dtype(benchmark.dtype))
    with np.load(job.expected) as stored:
        expected = dict(stored)
    scales = {name.removeprefix(_SCALE): expected.pop(name) for name in list(expected) if name.startswith(_SCALE)}
    try:
        variants = PEERS[job.peer].variants(benchmark, arguments, job.threads)
        tried = [_try(benchmark, job, label, call, arguments, (expected, scales)) for label, call in variants.items()]
    except PeerUnavailable as reason:
        return Failed("unavailable", str(reason))
    except Exception as error:  # whatever a peer's compiler raises becomes a line of the table
        return Failed("error", f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
    correct = [t for t in tried if t[1].accuracy.ok]
    wrong = "; ".join(_wrong(ready) for _, ready in tried if not ready.accuracy.ok)
    if not correct:
        return Failed("wrong", wrong)
    runner, ready = min(correct, key=lambda t: t[1].seconds)
    return runner, replace(ready, excluded=wrong)


def _wrong(ready: Ready) -> str:
    which, accuracy = f"{ready.variant}: " * bool(ready.variant), ready.accuracy
    return f"{which}{accuracy.output} is {accuracy.ratio:.3g} times the bound away from the reference"


def _try(benchmark, job: Job, label: str, call: Call, arguments: Mapping, right: tuple) -> tuple[Runner, Ready]:
    """Compiles by a first run, and checks its result; the time of a kernel that is quick comes from a second run.

    right: the reference's outputs and the scales of their errors.
    """
    runner = Runner(call, arguments)
    if not PEERS[job.peer].fixed_size:
        _warm(benchmark, call, job.seed)
    seconds, outputs = runner.run()
    accuracy = compare(benchmark, job.size, arguments, outputs, *right)
    if seconds < 1.0:
        seconds, _ = runner.run()
    return runner, Ready(label, seconds, accuracy)


def _warm(benchmark, call: Call, seed: int) -> None:
    """Runs on arguments of MINI size, so that compilers that work at the first call are done."""
    small = benchmark.inputs(benchmark.sizes["MINI"], np.random.default_rng(seed), np.dtype(benchmark.dtype))
    call(*small.values())
