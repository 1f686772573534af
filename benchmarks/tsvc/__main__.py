"""The 151 loops of TSVC: polyml's times beside those of a C compiler and of numba, on one thread.

    python -m benchmarks.tsvc [NAMES] [--clang "COMMAND"] [--rounds N]

Each result is first compared with plain Python's at a small size. Times are those of a call of one pass at the full size, whose
arrays are restored before each call: medians of rounds in which all peers run one after the other, each in a process of its own. Of
the C compiler and of numba, the better of strict and fast arithmetic counts.
"""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import shutil
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from benchmarks.interleaved_processes import Process
from benchmarks.tsvc import table
from benchmarks.tsvc.entry import Tsvc
from benchmarks.tsvc.loops import LOOPS
from benchmarks.tsvc.worker import Job, Ready, serve

_OPTIMIZED = ("-O3", "-march=native")


@dataclass(frozen=True)
class Runner:
    """A Runner is a peer with one setting. name: of the peer in the table."""

    name: str
    peer: str
    options: tuple[str, ...] = ()


def runners(clang: str) -> list[Runner]:
    """Returns polyml, and with and without fast arithmetic a C compiler and numba, as far as there are any.

    clang: the command of the C compiler; for "", clang or gcc is looked for.
    """
    name = "clang" if clang else next(filter(shutil.which, ("clang", "gcc")), "")
    command = (*(shlex.split(clang) or [name]), *_OPTIMIZED)
    found = [Runner("polyml", "polyml")]
    if name:
        found += [Runner(name, name, (*command, *extra)) for extra in ((), ("-ffast-math",))]
    if importlib.util.find_spec("numba"):
        found += [Runner("numba", "numba", options) for options in ((), ("fastmath",))]
    return found


def measured(loop: Tsvc, chosen: Sequence[Runner], processes: Sequence[Process], rounds: int) -> table.Row:
    """Returns the times of a loop by processes that have been given it."""
    for process in processes:
        process.prepare()
    for _ in range(rounds):
        for process in processes:
            seconds = process.run()
            if seconds is not None:
                process.seconds.append(seconds)
    best: dict[str, float] = {}
    for runner, process in zip(chosen, processes):
        if process.failure is None:
            best[runner.name] = min(best.get(runner.name, float("inf")), statistics.median(process.seconds))
        else:
            print(f"{loop.name}: {runner.name} {' '.join(runner.options)}: {process.failure.reason}", file=sys.stderr)
    ours = processes[0]
    if isinstance(ours.ready, Ready) and ours.failure is None:
        return table.Row(loop, best.pop("polyml"), best, ours.ready.difference, ours.ready.explained)
    return table.Row(loop, None, best, float("nan"), "no result")


def rows(loops: Sequence[Tsvc], chosen: Sequence[Runner], rounds: int) -> Iterator[table.Row]:
    """Yields the rows of the loops, measured by one process for each runner."""
    with ExitStack() as stack:
        processes: list[Process] = []
        for loop in loops:
            jobs = [Job(runner.peer, loop.name, runner.options) for runner in chosen]
            for process, job in zip(processes, jobs):
                process.take(job)
            for job in jobs[len(processes) :]:
                processes.append(Process(job, serve))
                stack.callback(processes[-1].close)
            yield measured(loop, chosen, processes, rounds)


def main() -> int:
    """Returns the exit status: 0 where polyml has the right result of every loop."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tsvc", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="loops; all if there is none")
    parser.add_argument("--clang", default="", help="the command of a C compiler; clang if it is left out, or gcc")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in LOOPS]:
        parser.error(f"these are not loops of TSVC: {' '.join(unknown)}")
    chosen = runners(options.clang)
    peers = list(dict.fromkeys(runner.name for runner in chosen[1:]))
    print(table.head(peers))
    found: list[table.Row] = []
    for row in rows([LOOPS[name] for name in options.names or LOOPS], chosen, options.rounds):
        if not found or found[-1].loop.heading != row.loop.heading:
            print(f"{row.loop.heading}:")
        print(table.line(row, peers), flush=True)
        found.append(row)
    print("\n".join(table.summary(found, peers)))
    return 0 if all(row.ours is not None for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
