"""Time PolyBench's kernels against other compilers:  python -m benchmarks.polybench --kernels gemm lu --peers numba gcc

Every peer runs in a process of its own, so that thread pools never meet. The processes take turns: a round runs each
once, and a peer's figure is the median over the rounds of its time divided by polyml's time in the same round, which
cancels what the machine does meanwhile. A result that is not within the rounding bound of the reference does not count.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import chosen
from benchmarks.interleaved_processes import Process, rounds
from benchmarks.peers import PEERS
from benchmarks.results import geometric_mean, write_rows
from benchmarks.worker import Job, expect, serve
from polyml import kernels

COMPILERS = tuple(name for name in PEERS if name not in ("polyml", "numpy"))
_ENOUGH = 0.95  # of the best peer's speed


@dataclass(frozen=True)
class Row:
    """A Row is one peer on one kernel.

    seconds: the median time of a run.
    ratio: the median of the peer's time / polyml's of the same round; above 1, polyml is faster; None where either is missing.
    rate: in `unit`.
    error: |result - reference| / bound.
    variant: which form of the peer was fastest.
    runs: the turns it took; 0 where the run that was checked took so long that it counts.
    failure: why there are no figures, "unavailable", "wrong" or "error".
    note: the words for it, or which forms of the peer do not count.
    """

    kernel: str
    preset: str
    threads: int
    peer: str
    seconds: float | None = None
    ratio: float | None = None
    rate: float | None = None
    unit: str = ""
    error: float | None = None
    variant: str = ""
    runs: int = 0
    failure: str = ""
    note: str = ""


@dataclass(frozen=True)
class Best:
    """A Best is the fastest correct peer of a kernel. ratio: its time / polyml's; above 1, polyml is faster."""

    kernel: str
    peer: str
    ratio: float


def compare(name: str, size: Mapping[str, int], preset: str, threads: int, peers: Sequence[str], *, repeat: int,
            budget_s: float, once_s: float, expected: str, seed: int = 0) -> list[Row]:  # fmt: skip
    """Returns the rows of one kernel, polyml's first.

    Rounds end after `repeat`, or once `budget_s` is spent, but not before the first. A peer that took more than `once_s`
    when its result was checked takes no turns: that run counts. expected: what `worker.expect` wrote.
    """
    benchmark = kernels.load(name)
    with ExitStack() as stack:
        processes: list[Process] = []
        for peer in peers:
            process = Process(Job(peer, benchmark.name, size, threads, seed, expected), serve)
            stack.callback(process.close)
            process.prepare()
            processes.append(process)
        rounds([p for p in processes if p.failure is None and p.ready.seconds <= once_s], repeat, budget_s)
    own = next((p for p in processes if p.job.peer == "polyml"), None)
    return [_row(benchmark, p, own, preset) for p in processes]


def _row(benchmark: kernels.Benchmark, process: Process, own: Process | None, preset: str) -> Row:
    job = process.job
    common = {"kernel": benchmark.name, "preset": preset, "threads": job.threads, "peer": job.peer}
    if process.failure is not None:
        return Row(**common, failure=process.failure.kind, note=process.failure.reason)
    median = _seconds(process)
    return Row(
        **common,
        seconds=median,
        ratio=None if own is None or own.failure is not None else _ratio(process, own),
        rate=benchmark.rate(job.size, median, np.dtype(benchmark.dtype).itemsize),
        unit=benchmark.unit,
        error=process.ready.accuracy.ratio,
        variant=process.ready.variant,
        runs=len(process.seconds),
        note=process.ready.excluded,
    )


def _seconds(process: Process) -> float:
    return statistics.median(process.seconds or [process.ready.seconds])


def _ratio(process: Process, own: Process) -> float:
    if process.seconds and own.seconds:
        return statistics.median(p / o for p, o in zip(process.seconds, own.seconds))
    return _seconds(process) / _seconds(own)


def best_peers(rows: Sequence[Row]) -> list[Best]:
    """Returns the best peer of each kernel of which polyml and a peer have figures, in order."""
    found: dict[str, Best] = {}
    for row in rows:
        if row.peer != "polyml" and row.ratio is not None:
            best = found.get(row.kernel)
            if best is None or row.ratio < best.ratio:
                found[row.kernel] = Best(row.kernel, row.peer, row.ratio)
    return list(found.values())


def show(rows: Sequence[Row], peers: Sequence[str]) -> None:
    """Prints one table for each number of threads: polyml's time and rate, how many times longer each peer takes, the best one.

    Then it prints the mean of the ratios to the best, and the kernels in which polyml is slower than it.
    """
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 140)
    others = [p for p in peers if p != "polyml"]
    for threads in dict.fromkeys(r.threads for r in rows):
        mine = [r for r in rows if r.threads == threads]
        table = Table(title=f"{rows[0].preset}, {threads} thread{'s' * (threads > 1)}; peer time / polyml time")
        for heading in ("kernel", "polyml ms", "rate", *others, "best peer", "best / polyml"):
            table.add_column(heading, justify="left" if heading == "kernel" else "right", no_wrap=True)
        best = {b.kernel: b for b in best_peers(mine)}
        for kernel in dict.fromkeys(r.kernel for r in mine):
            by_peer = {r.peer: r for r in mine if r.kernel == kernel}
            last = (best[kernel].peer, f"{best[kernel].ratio:.2f}") if kernel in best else ("", "")
            table.add_row(kernel, *_own_cells(by_peer.get("polyml")), *(_cell(by_peer[p]) for p in others), *last)
        table.add_section()
        means = [geometric_mean(r.ratio for r in mine if r.peer == p and r.ratio) for p in others]
        overall = geometric_mean(b.ratio for b in best.values())
        table.add_row("geomean", "", "", *map(_number, means), "", _number(overall))
        console.print(table)
        _summarise(mine, best, overall, console)


def _summarise(rows: Sequence[Row], best: Mapping[str, Best], overall: float | None, console) -> None:
    if overall is not None:
        slower = [f"{b.kernel} {b.ratio:.2f} ({b.peer})" for b in best.values() if b.ratio < _ENOUGH]
        console.print(f"geometric mean of best peer / polyml over {len(best)} kernels: {overall:.2f}", highlight=False)
        console.print(f"below {_ENOUGH}: {', '.join(slower) or 'none'}", highlight=False)
    missing = {(row.peer, row.note) for row in rows if row.failure == "unavailable"}
    for peer, note in sorted(missing):
        without = [row.kernel for row in rows if (row.peer, row.note) == (peer, note)]
        which = "" if len(without) == len({row.kernel for row in rows}) else f" ({', '.join(without)})"
        console.print(f"{peer}: {note}{which}", markup=False, highlight=False)
    for row in rows:
        if row.note and row.failure != "unavailable":
            console.print(f"{row.kernel}, {row.peer}: {row.failure or 'excluded'}: {row.note}", markup=False, highlight=False)


def _own_cells(row: Row | None) -> tuple[str, str]:
    if row is None or row.seconds is None:
        return ("" if row is None else row.failure, "")
    return f"{row.seconds * 1e3:.3g}", f"{row.rate:.3g} {row.unit}"


def _cell(row: Row) -> str:
    if row.ratio is not None:
        return f"{row.ratio:.2f}"
    if row.seconds is not None:
        return f"{row.seconds * 1e3:.3g} ms"
    return "-" if row.failure == "unavailable" else row.failure


def _number(mean: float | None) -> str:
    return "" if mean is None else f"{mean:.2f}"


@contextmanager
def expectation(benchmark: kernels.Benchmark, size: Mapping[str, int], seed: int) -> Iterator[str]:
    """Returns a file with what the reference makes of the arguments, once for all peers and numbers of threads."""
    arguments = benchmark.inputs(size, np.random.default_rng(seed), np.dtype(benchmark.dtype))
    with tempfile.TemporaryDirectory(prefix="polyml-polybench-") as folder:
        expected = os.path.join(folder, "expected.npz")
        expect(expected, benchmark, arguments)
        yield expected


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0].split(":")[0])
    parser.add_argument("--kernels", nargs="+", default=list(kernels.NAMES), metavar="NAME", help="default: all 30")
    parser.add_argument("--peers", nargs="+", default=list(COMPILERS), choices=list(PEERS), metavar="NAME",
                        help=f"beside polyml, of {' '.join(PEERS)} (default: the compilers)")  # fmt: skip
    parser.add_argument("--preset", default="LARGE", choices=kernels.PRESETS)
    parser.add_argument("--threads", nargs="+", type=int, default=[2, 1], metavar="N", help="default: 2 1")
    parser.add_argument("--repeat", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--budget", type=float, default=4.0, metavar="SECONDS",
                        help="for the rounds of one kernel (default: 4); one that is begun ends")  # fmt: skip
    parser.add_argument("--once", type=float, default=4.0, metavar="SECONDS",
                        help="a peer that takes longer runs once, for its check and its figure (default: 4)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 1 when polyml fails on a kernel, or is wrong."""
    options = _parser().parse_args(arguments)
    peers = ["polyml", *(p for p in options.peers if p != "polyml")]
    rows: list[Row] = []
    for name in map(kernels.canonical, options.kernels):
        benchmark = kernels.load(name)
        size = benchmark.sizes[options.preset]
        with expectation(benchmark, size, options.seed) as expected:
            for threads in options.threads:
                print(f"{name}, {threads} thread{'s' * (threads > 1)}", file=sys.stderr, flush=True)
                rows += compare(
                    name, size, options.preset, threads, peers, repeat=options.repeat, budget_s=options.budget,
                    once_s=options.once, expected=expected, seed=options.seed,
                )  # fmt: skip
        write_rows(options.json, rows)
    rows.sort(key=lambda r: options.threads.index(r.threads))
    show(rows, peers)
    print(*chosen.lines(peers), sep="\n")
    return int(any(r.peer == "polyml" and r.failure for r in rows))


if __name__ == "__main__":
    sys.exit(main())
