"""Set times against what memory allows:  python -m benchmarks.memory vectors | stencils

vectors   kernels that go over a matrix a few times: the least bytes that a call moves (each array once in, each result once
          out, in again where a second pass waits for all of the first) over its time, as a share of the bandwidth that
          reading and STREAM's triad reach on as many threads, on arrays of that size, in the same rounds.
stencils  on arrays that exceed twice the last cache: the time that a program needs at that bandwidth which goes over the
          arrays once in each time step, and what share of it polyml takes; below 1 is for those who keep tiles of the arrays
          in caches for several steps. numba, which sweeps, for comparison.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from benchmarks import bandwidth, chosen, worker
from benchmarks.interleaved_processes import Failed, Process, taking_turns
from benchmarks.peers import PEERS
from benchmarks.polybench import expectation
from benchmarks.results import geometric_mean, write_rows
from polyml import kernels
from polyml.machines import cpu

_ITEM_BYTES = 8
_TIMES_LAST_CACHE = 2.2
_TURN_S = 0.05


def _durbin(size: Mapping[str, int]) -> int:
    """Returns the bytes of durbin, whose vectors stay in caches.

    Step k sweeps k elements twice; the first sweep reads two vectors, the second reads one and writes one.
    """
    return _ITEM_BYTES * 4 * size["N"] ** 2 // 2


def _gemver(size: Mapping[str, int]) -> int:
    """Returns the bytes of gemver: A in and out, and in once more, since each sum of the second sweep waits for all of the first.

    What stayed in the last cache need not come again.
    """
    matrix = _ITEM_BYTES * size["N"] ** 2
    again = max(matrix - cpu.host().caches[-1].size_bytes, 0)
    return kernels.load("gemver").traffic_bytes(size, _ITEM_BYTES) + again


VECTORS: dict[str, Callable[[Mapping[str, int]], int]] = {
    name: lambda size, name=name: kernels.load(name).traffic_bytes(size, _ITEM_BYTES)
    for name in ("atax", "bicg", "mvt", "gesummv", "trisolv")
} | {"gemver": _gemver, "durbin": _durbin}
"""{kernel: least bytes that one call moves}"""


@dataclass(frozen=True)
class Stencil:
    """A Stencil is a kernel that goes over its arrays in each time step.

    steps: the parameter that counts time steps. bytes_per_point: what a program moves at least in one time step if it sweeps
    the arrays once: each array in if the step reads what
        the step before left there, each changed array out.
    """

    steps: str
    bytes_per_point: int


STENCILS = {
    "jacobi_1d": Stencil("TSTEPS", 24),  # A in and out, B out
    "jacobi_2d": Stencil("TSTEPS", 24),
    "heat_3d": Stencil("TSTEPS", 24),
    "fdtd_2d": Stencil("TMAX", 48),  # ex, ey and hz in and out
    "seidel_2d": Stencil("TSTEPS", 16),  # A in and out
}


@dataclass(frozen=True)
class VectorRow:
    """A VectorRow is one kernel on vectors and matrices. Rates are in GB/s.

    bytes: the least that a call moves.
    footprint_bytes: the size of the arguments.
    share: the median over the rounds of polyml's rate / the better of the other two.
    """

    kernel: str
    threads: int
    bytes: int
    footprint_bytes: int
    seconds: float | None = None
    rate: float | None = None
    read_rate: float | None = None
    triad_rate: float | None = None
    share: float | None = None
    note: str = ""


@dataclass(frozen=True)
class StencilRow:
    """A StencilRow is one stencil.

    footprint_bytes: the size of the arrays. bandwidth: GB/s of reading or of triad, whichever is more. sweep_s: the time of all
    steps at that bandwidth. ratio: the median over the rounds of polyml's time / sweep_s; below 1, faster than any program that
    sweeps the arrays in each step. peer_ratio: the median of the peer's time / polyml's; above 1, polyml is faster.
    """

    kernel: str
    threads: int
    size: Mapping[str, int]
    footprint_bytes: int
    bytes_per_point: int
    bandwidth: float | None = None
    sweep_s: float | None = None
    seconds: float | None = None
    ratio: float | None = None
    peer: str = ""
    peer_ratio: float | None = None
    note: str = ""


def serve(connection: Connection, job: bandwidth.Job | worker.Job) -> None:
    """Runs a stream, or a stencil that runs on the same arguments in each turn."""
    (bandwidth if isinstance(job, bandwidth.Job) else worker).serve(connection, job)


def serve_in_a_row(connection: Connection, job: bandwidth.Job | worker.Job) -> None:
    """Runs a stream, or a kernel that is called again and again on what the call before left, as the stream does.

    Putting arguments back would bring them into caches, or drive them out.
    """
    if isinstance(job, bandwidth.Job):
        bandwidth.serve(connection, job)
        return
    prepared = worker.prepare(job)
    if isinstance(prepared, Failed):
        connection.send(prepared)
        return
    runner, ready = prepared
    connection.send(ready)
    calls = max(math.ceil(_TURN_S / ready.seconds), 3)
    while connection.recv() == "run":
        connection.send(statistics.median(_again(runner) for _ in range(calls)))


def _again(runner: worker.Runner) -> float:
    values = tuple(runner.used.values())
    return bandwidth.seconds_together([lambda: runner.call(*values)])


def vector_row(name: str, preset: str, threads: int, repeat: int, budget_s: float) -> VectorRow:
    benchmark = kernels.load(name)
    size = benchmark.sizes[preset]
    moved, footprint = VECTORS[name](size), _footprint(benchmark, size)
    with expectation(benchmark, size, 0) as expected:
        jobs = [worker.Job("polyml", name, size, threads, 0, expected), *_streams(footprint, threads)]
        own, *streams = taking_turns(jobs, repeat, budget_s, serve_in_a_row)
    row = {"kernel": name, "threads": threads, "bytes": moved, "footprint_bytes": footprint}
    if own.failure is not None:
        return VectorRow(**row, note=f"{own.failure.kind}: {own.failure.reason}")
    rates = [moved / seconds / 1e9 for seconds in own.seconds]
    read, triad = (_rates(p) for p in streams)
    return VectorRow(
        **row,
        seconds=statistics.median(own.seconds),
        rate=statistics.median(rates),
        read_rate=statistics.median(read),
        triad_rate=statistics.median(triad),
        share=statistics.median(mine / max(both) for mine, *both in zip(rates, read, triad)),
    )


def stencil_row(name: str, preset: str, threads: int, steps: int, peer: str, repeat: int, budget_s: float) -> StencilRow:
    benchmark, stencil = kernels.load(name), STENCILS[name]
    size = beyond_caches(benchmark, preset) | {stencil.steps: steps}
    footprint = _footprint(benchmark, size)
    with expectation(benchmark, size, 0) as expected:
        jobs = [worker.Job(p, name, size, threads, 0, expected) for p in ("polyml", peer)]
        own, other, *streams = taking_turns([*jobs, *_streams(footprint, threads)], repeat, budget_s, serve)
    row = {"kernel": name, "threads": threads, "size": size, "footprint_bytes": footprint, "peer": peer,
           "bytes_per_point": stencil.bytes_per_point}  # fmt: skip
    if own.failure is not None:
        return StencilRow(**row, note=f"{own.failure.kind}: {own.failure.reason}")
    moved = steps * _points(benchmark, size) * stencil.bytes_per_point
    best = [max(both) for both in zip(*map(_rates, streams))]
    failed = other.failure
    return StencilRow(
        **row,
        bandwidth=statistics.median(best),
        sweep_s=moved / statistics.median(best) / 1e9,
        seconds=statistics.median(own.seconds),
        ratio=statistics.median(mine * rate * 1e9 / moved for mine, rate in zip(own.seconds, best)),
        peer_ratio=None if failed else statistics.median(p / o for p, o in zip(other.seconds, own.seconds)),
        note=f"{peer} {failed.kind}: {failed.reason}" if failed else "",
    )


def _streams(size_bytes: int, threads: int) -> list[bandwidth.Job]:
    return [bandwidth.Job(pattern, size_bytes, threads) for pattern in bandwidth.ARRAYS]


def _rates(process: Process) -> list[float]:
    """Returns the rates of a stream in GB/s; `ready` is its bytes."""
    if process.failure is not None:
        raise RuntimeError(f"measuring the bandwidth failed: {process.failure.reason}")
    return [process.ready / seconds / 1e9 for seconds in process.seconds]


def beyond_caches(benchmark: kernels.Benchmark, preset: str) -> dict[str, int]:
    """Returns the preset's sizes, all but the time steps enlarged in proportion until the arrays exceed twice the last cache."""
    steps = STENCILS[benchmark.name].steps
    size = dict(benchmark.sizes[preset]) | {steps: 1}
    wanted = _TIMES_LAST_CACHE * cpu.host().caches[-1].size_bytes
    room = [name for name in size if name != steps]
    factor = (wanted / _footprint(benchmark, size)) ** (1 / _dimensions(benchmark))
    return size if factor <= 1 else size | {name: math.ceil(size[name] * factor) for name in room}


def _dimensions(benchmark: kernels.Benchmark) -> int:
    return max(a.ndim for a in _arrays(benchmark, benchmark.sizes["MINI"]))


def _points(benchmark: kernels.Benchmark, size: Mapping[str, int]) -> int:
    """Returns the elements of the largest array."""
    return max(a.size for a in _arrays(benchmark, size))


def _footprint(benchmark: kernels.Benchmark, size: Mapping[str, int]) -> int:
    return sum(a.nbytes for a in _arrays(benchmark, size))


def _arrays(benchmark: kernels.Benchmark, size: Mapping[str, int]) -> list[np.ndarray]:
    values = benchmark.inputs(size, np.random.default_rng(0), np.dtype(benchmark.dtype)).values()
    return [value for value in values if isinstance(value, np.ndarray)]


def show_vectors(rows: Sequence[VectorRow]) -> None:
    last = cpu.host().caches[-1].size_bytes
    headings = ("kernel", "threads", "arrays MB", "least MB", "polyml ms", "GB/s", "read GB/s", "triad GB/s", "share")
    _print("least traffic / time, as a share of the bandwidth on arrays of that size", headings, [
        (row.kernel, str(row.threads), f"{row.footprint_bytes / 1e6:.3g}{'*' * (row.footprint_bytes < last)}",
         f"{row.bytes / 1e6:.3g}",
         *([row.note.split(":")[0]] + [""] * 4 if row.share is None else
           [f"{row.seconds * 1e3:.3g}", f"{row.rate:.1f}", f"{row.read_rate:.1f}", f"{row.triad_rate:.1f}",
            f"{row.share:.0%}"]))
        for row in rows
    ])  # fmt: skip
    print(f"* fits into the last cache ({last / 1e6:.3g} MB), and so do the arrays that bandwidth is measured on")
    _print_notes(rows)


def show_stencils(rows: Sequence[StencilRow]) -> None:
    headings = ("kernel", "threads", "size", "arrays MB", "B / point / step", "GB/s", "one sweep per step ms", "polyml ms",
                "polyml / sweeps")  # fmt: skip
    peers = list(dict.fromkeys(row.peer for row in rows))
    _print("time against that of a sweep over memory in each time step", (*headings, *(f"{p} / polyml" for p in peers)), [
        (row.kernel, str(row.threads), " ".join(f"{k}={v}" for k, v in row.size.items()), f"{row.footprint_bytes / 1e6:.3g}",
         str(row.bytes_per_point),
         *([row.note.split(":")[0]] + [""] * (3 + len(peers)) if row.ratio is None else
           [f"{row.bandwidth:.1f}", f"{row.sweep_s * 1e3:.0f}", f"{row.seconds * 1e3:.0f}", f"{row.ratio:.2f}",
            "" if row.peer_ratio is None else f"{row.peer_ratio:.2f}"]))
        for row in rows
    ])  # fmt: skip
    mean = geometric_mean(row.peer_ratio for row in rows if row.peer_ratio)
    if mean is not None:
        print(f"geometric mean of {peers[0]} / polyml: {mean:.2f}")
    _print_notes(rows)


def _print(title: str, headings: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("kernel", "size") else "right", no_wrap=True)
    for line in lines:
        table.add_row(*line)
    Console(width=None if sys.stdout.isatty() else 170).print(table)


def _print_notes(rows: Sequence[VectorRow | StencilRow]) -> None:
    for row in rows:
        if row.note:
            print(f"{row.kernel}: {row.note}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0].split(":")[0])
    kinds = parser.add_subparsers(dest="kind", required=True)
    for kind, table, what in (("vectors", VECTORS, "share of the bandwidth"), ("stencils", STENCILS, "time against sweeps")):
        one = kinds.add_parser(kind, help=what)
        names = list(table)
        one.add_argument("--kernels", nargs="+", default=names, choices=names, metavar="NAME", help=f"of {' '.join(names)}")
        one.add_argument("--preset", default="EXTRALARGE", choices=kernels.PRESETS, help="default: EXTRALARGE")
        one.add_argument("--threads", nargs="+", type=int, default=[2, 1], metavar="N", help="default: 2 1")
        one.add_argument("--repeat", type=int, default=7, help="rounds (default: 7)")
        one.add_argument("--budget", type=float, default=10.0, metavar="SECONDS",
                         help="for the rounds of one kernel (default: 10)")  # fmt: skip
        one.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
        if kind == "stencils":
            one.add_argument("--steps", type=int, default=100, help="time steps (default: 100; PolyBench has 1000)")
            one.add_argument("--peer", default="numba", choices=[p for p in PEERS if p != "polyml"], help="default: numba")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 1 when polyml fails on a kernel, or is wrong."""
    options = _parser().parse_args(arguments)
    rows: list = []
    for name in options.kernels:
        for threads in options.threads:
            print(f"{name}, {threads} thread{'s' * (threads > 1)}", file=sys.stderr, flush=True)
            if options.kind == "vectors":
                rows.append(vector_row(name, options.preset, threads, options.repeat, options.budget))
            else:
                rows.append(stencil_row(name, options.preset, threads, options.steps, options.peer, options.repeat, options.budget))
            write_rows(options.json, rows)
    (show_vectors if options.kind == "vectors" else show_stencils)(rows)
    if options.kind == "stencils":
        print(*chosen.lines([options.peer]), sep="\n")
    return int(any(row.seconds is None for row in rows))


if __name__ == "__main__":
    sys.exit(main())
