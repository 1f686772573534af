"""Time products of matrices against NumPy's BLAS:  python -m benchmarks.contractions --shapes 1000x1100x1200

A shape is rows x columns x depth. Each peer has a process of its own, the processes take turns, every result is checked
against float64.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.compare import print_geometric_mean, taking_turns, write_rows
from benchmarks.worker import Failed

SHAPES = (
    "64x64x64 100x100x100 128x128x128 192x192x192 256x256x256 500x500x500 509x509x509 1000x1000x1000 1000x1100x1200 "
    "1024x1024x1024 2000x2000x2000 2048x2048x2048 4096x32x4096 32x4096x4096 4096x4096x32 1024x64x1024 10000x64x64 "
    "64x10000x64"
).split()
TURN_S = 0.3  # of calls in a row, of which the median of the second half counts: cores that rested take long to wake


def product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@dataclass(frozen=True)
class Job:
    peer: str
    shape: tuple[int, int, int]
    dtype: str
    threads: int


@dataclass(frozen=True)
class Row:
    """ratio: median of NumPy's time / polyml's of the same round (above 1: polyml is faster). rates: GFLOP/s."""

    shape: str
    dtype: str
    threads: int
    polyml_rate: float | None = None
    numpy_rate: float | None = None
    ratio: float | None = None
    note: str = ""


def _call(job: Job, C: np.ndarray, A: np.ndarray, B: np.ndarray) -> Callable[[], object]:
    if job.peer == "numpy":
        return lambda: np.matmul(A, B, out=C)
    import polyml

    compiled = polyml.kernel(threads=job.threads)(product)
    return lambda: compiled(C, A, B)


def serve(connection: Connection, job: Job) -> None:
    """Send None or Failed, then seconds for each "run" received, until anything else arrives."""
    m, n, k = job.shape
    random = np.random.default_rng(0)
    A, B = (random.uniform(-1, 1, shape).astype(job.dtype) for shape in ((m, k), (k, n)))
    C = np.zeros((m, n), job.dtype)
    call = _call(job, C, A, B)
    call()
    reference = A.astype("f8") @ B.astype("f8")
    error = np.abs(C - reference).max(initial=0) / (k * np.finfo(job.dtype).eps)
    connection.send(None if error <= 1 else Failed("wrong", f"{error:.1f} times the bound k*eps"))
    take_turns(connection, call)


def take_turns(connection: Connection, call: Callable[[], object]) -> None:
    """Send the call's seconds for each "run" received, until anything else arrives."""
    while connection.recv() == "run":
        times: list[float] = []
        while sum(times) < TURN_S or len(times) < 3:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        connection.send(statistics.median(times[len(times) // 2 :]))


def compare(shape: str, dtype: str, threads: int, repeat: int, budget_s: float) -> Row:
    m, n, k = (int(size) for size in shape.split("x"))
    jobs = [Job(peer, (m, n, k), dtype, threads) for peer in ("polyml", "numpy")]
    processes = taking_turns(jobs, repeat, budget_s, serve)
    common = {"shape": shape, "dtype": dtype, "threads": threads}
    failed = next((p for p in processes if p.failure is not None), None)
    if failed is not None:
        return Row(**common, note=f"{failed.job.peer} {failed.failure.kind}: {failed.failure.reason}")
    own, peer = (p.seconds for p in processes)
    rates = [2e-9 * m * n * k / statistics.median(seconds) for seconds in (own, peer)]
    return Row(**common, polyml_rate=rates[0], numpy_rate=rates[1], ratio=statistics.median(b / a for a, b in zip(own, peer)))


def show(rows: Sequence[Row]) -> None:
    table = Table("shape", "type", "threads", "polyml GFLOP/s", "NumPy GFLOP/s", "NumPy / polyml time")
    for row in rows:
        figures = [row.note, "", ""] if row.ratio is None else [
            f"{row.polyml_rate:.1f}", f"{row.numpy_rate:.1f}", f"{row.ratio:.2f}"
        ]  # fmt: skip
        table.add_row(row.shape, row.dtype, str(row.threads), *figures)
    Console().print(table)
    print_geometric_mean(row.ratio for row in rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 when a result is wrong or missing."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0].split(":")[0])
    parser.add_argument("--shapes", nargs="+", default=SHAPES, metavar="MxNxK")
    parser.add_argument("--dtypes", nargs="+", default=["float64", "float32"], choices=("float64", "float32"))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--repeat", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--budget", type=float, default=4.0, metavar="SECONDS", help="for the rounds of one shape")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    for dtype in options.dtypes:
        for threads in options.threads:
            for shape in options.shapes:
                print(shape, dtype, threads, file=sys.stderr, flush=True)
                rows.append(compare(shape, dtype, threads, options.repeat, options.budget))
                write_rows(options.json, rows)
    show(rows)
    return int(any(row.ratio is None for row in rows))


if __name__ == "__main__":
    sys.exit(main())
