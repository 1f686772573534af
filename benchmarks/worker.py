"""One peer in a process of its own: prepares the kernel, checks it, then runs it whenever it is told to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np

import kernels
from benchmarks.peers import PEERS, Call, PeerUnavailable
from kernels._accuracy import Accuracy, compare
from polyml.bench import Runner


@dataclass(frozen=True)
class Job:
    """expected: a file of NumPy's .npz format with the reference's outputs for `seed`."""

    peer: str
    kernel: str
    size: Mapping[str, int]
    threads: int
    seed: int
    expected: str


@dataclass(frozen=True)
class Ready:
    """variant: the fastest correct one. seconds: its first time. accuracy: its result against the reference."""

    variant: str
    seconds: float
    accuracy: Accuracy


@dataclass(frozen=True)
class Failed:
    """kind: "unavailable", "wrong" or "error"."""

    kind: str
    reason: str


def serve(connection: Connection, job: Job) -> None:
    """Send Ready or Failed, then seconds for each "run" received, until anything else arrives."""
    prepared = _prepare(job)
    if isinstance(prepared, Failed):
        connection.send(prepared)
        return
    runner, ready = prepared
    connection.send(ready)
    while connection.recv() == "run":
        connection.send(runner.run()[0])


def _prepare(job: Job) -> tuple[Runner, Ready] | Failed:
    benchmark = kernels.load(job.kernel)
    arguments = benchmark.inputs(job.size, np.random.default_rng(job.seed), np.dtype(benchmark.dtype))
    with np.load(job.expected) as stored:
        expected = dict(stored)
    try:
        variants = PEERS[job.peer].variants(benchmark, arguments, job.threads)
        tried = [_try(benchmark, job, label, call, arguments, expected) for label, call in variants.items()]
    except PeerUnavailable as reason:
        return Failed("unavailable", str(reason))
    except Exception as error:  # whatever a peer's compiler raises becomes a line of the table
        return Failed("error", f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
    correct = [t for t in tried if t[1].accuracy.ok]
    if not correct:
        worst = tried[0][1].accuracy
        return Failed("wrong", f"{worst.output} is {worst.ratio:.3g} times the bound away from the reference")
    return min(correct, key=lambda t: t[1].seconds)


def _try(benchmark, job: Job, label: str, call: Call, arguments: Mapping, expected: Mapping) -> tuple[Runner, Ready]:
    """Compile by a first run, check its result; the time of a kernel that is quick comes from a second run."""
    runner = Runner(call, arguments)
    if not PEERS[job.peer].fixed_size:
        _warm(benchmark, call, job.seed)
    seconds, outputs = runner.run()
    accuracy = compare(benchmark, job.size, arguments, outputs, expected)
    if seconds < 1.0:
        seconds, _ = runner.run()
    return runner, Ready(label, seconds, accuracy)


def _warm(benchmark, call: Call, seed: int) -> None:
    """Run on arguments of MINI size, so that compilers that work at the first call are done."""
    small = benchmark.inputs(benchmark.sizes["MINI"], np.random.default_rng(seed), np.dtype(benchmark.dtype))
    call(*small.values())
