"""Time elementary functions of arrays against NumPy's:  python -m benchmarks.functions --functions exp arctan2

`R[:] = np.f(A)` on one thread, on numbers between 0.05 and 0.95 (arccosh: 1 more). Each peer has a process of its own,
the processes take turns, every result is checked.
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

from benchmarks import chosen
from benchmarks.generated import function_of
from benchmarks.interleaved_processes import Failed, taking_turns
from benchmarks.results import print_geometric_mean, write_rows

OF_TWO = ("power", "arctan2", "hypot")
OF_ONE = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh cbrt"
).split()
TURN_S = 0.1  # of calls in a row, of which the fastest counts
UNITS = 4  # in the last place, that NumPy's own float32 functions may be off by


@dataclass(frozen=True)
class Job:
    peer: str
    function: str
    dtype: str
    size: int
    threads: int = 1


@dataclass(frozen=True)
class Row:
    """A Row is one function.

    ratio: the median of NumPy's time / polyml's of the same round; above 1, polyml is faster.
    ns: nanoseconds per element.
    """

    function: str
    dtype: str
    polyml_ns: float | None = None
    numpy_ns: float | None = None
    ratio: float | None = None
    note: str = ""


def _kernel(function: str) -> Callable:
    """Returns R[:] = np.function(A), or of A and B, as Python text."""
    operands = "A, B" if function in OF_TWO else "A"
    return function_of(f"def kernel(R, {operands}):\n    R[:] = np.{function}({operands})\n", "kernel")


def _call(job: Job, result: np.ndarray, arguments: list[np.ndarray]) -> Callable[[], object]:
    if job.peer == "numpy":
        function = getattr(np, job.function)
        return lambda: function(*arguments, out=result)
    import polyml

    compiled = polyml.kernel(threads=job.threads)(_kernel(job.function))
    return lambda: compiled(result, *arguments)


def serve(connection: Connection, job: Job) -> None:
    """Sends None or Failed, then seconds for each "run" received, until anything else arrives."""
    random, low = np.random.default_rng(0), 1.05 if job.function == "arccosh" else 0.05
    count = 2 if job.function in OF_TWO else 1
    arguments = [(low + 0.9 * random.random(job.size)).astype(job.dtype) for _ in range(count)]
    result = np.empty(job.size, job.dtype)
    call = _call(job, result, arguments)
    call()
    exact = getattr(np, job.function)(*(a.astype(np.longdouble) for a in arguments))
    units = float((np.abs(result - exact) / np.spacing(np.abs(exact).astype(job.dtype))).max())
    connection.send(None if units <= UNITS else Failed("wrong", f"{units:.1f} units in the last place"))
    while connection.recv() == "run":
        times: list[float] = []
        while sum(times) < TURN_S or len(times) < 3:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        connection.send(min(times))


def compare(function: str, dtype: str, size: int, repeat: int, budget_s: float) -> Row:
    jobs = [Job(peer, function, dtype, size) for peer in ("polyml", "numpy")]
    processes = taking_turns(jobs, repeat, budget_s, serve)
    failed = next((p for p in processes if p.failure is not None), None)
    if failed is not None:
        return Row(function, dtype, note=f"{failed.job.peer} {failed.failure.kind}: {failed.failure.reason}")
    own, peer = (p.seconds for p in processes)
    times = [statistics.median(seconds) * 1e9 / size for seconds in (own, peer)]
    return Row(function, dtype, *times, ratio=statistics.median(b / a for a, b in zip(own, peer)))


def show(rows: Sequence[Row]) -> None:
    table = Table("function", "type", "polyml ns", "NumPy ns", "NumPy / polyml time")
    for row in rows:
        figures = [row.note, "", ""] if row.ratio is None else [
            f"{row.polyml_ns:.2f}", f"{row.numpy_ns:.2f}", f"{row.ratio:.2f}"
        ]  # fmt: skip
        table.add_row(row.function, row.dtype, *figures)
    Console().print(table)
    print_geometric_mean(row.ratio for row in rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 1 when a result is wrong or missing."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0].split(":")[0])
    names = [*OF_ONE, *OF_TWO]
    parser.add_argument("--functions", nargs="+", default=names, choices=names, metavar="NAME", help="default: all")
    parser.add_argument("--dtypes", nargs="+", default=["float64", "float32"], choices=("float64", "float32"))
    parser.add_argument("--size", type=int, default=100_000, metavar="N", help="elements (default: 100000)")
    parser.add_argument("--repeat", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--budget", type=float, default=4.0, metavar="SECONDS", help="for the rounds of one function")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    for dtype in options.dtypes:
        for function in options.functions:
            print(function, dtype, file=sys.stderr, flush=True)
            rows.append(compare(function, dtype, options.size, options.repeat, options.budget))
            write_rows(options.json, rows)
    show(rows)
    print(*chosen.lines(["numpy"]), sep="\n")
    return int(any(row.ratio is None for row in rows))


if __name__ == "__main__":
    sys.exit(main())
