"""Time PolyBench's kernels as array programs beside their loops, both by polyml:  python -m benchmarks.forms --kernels gemm lu

Both forms get the same arguments at the array form's LARGE size and take turns, so that what the machine does meanwhile meets
both. A form has reached the nest of the other where the ratio is near one; NumPy runs the array form as it is written.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import polyml
from benchmarks.results import geometric_mean, write_rows
from polyml import kernels
from polyml.kernels.arrays import workloads

_TURN_S = 0.05  # of calls in a row, of which the least counts
_TURN_CALLS = 10
_SLOW_S = 2.0  # what takes longer is run once


@dataclass(frozen=True)
class Row:
    """A Row is one kernel in both forms.

    loops_s, arrays_s, numpy_s: the median over the rounds; numpy_s is None where NumPy was not asked for.
    ratio: the median over the rounds of the array form's time / that of the loops.
    loops_compile_s, arrays_compile_s: all stages of the first call.
    """

    kernel: str
    loops_s: float
    arrays_s: float
    numpy_s: float | None
    ratio: float
    loops_compile_s: float
    arrays_compile_s: float


def compare(name: str, threads: int, repeat: int, with_numpy: bool) -> Row:
    """Returns the row of one kernel. Raises ValueError where a form gives a wrong result."""
    workload = workloads()[name]
    arguments = workload.arguments("LARGE")
    compiled = {
        "loops": polyml.kernel(cache=False, threads=threads)(kernels.load(name).kernel.__wrapped__),
        "arrays": polyml.kernel(cache=False, threads=threads)(workload.function),
    }
    for form, call in compiled.items():
        problem = workload.problem("LARGE", call)
        if problem:
            raise ValueError(f"{name}, {form}: {problem}")
    calls: dict[str, Callable] = {**compiled, **({"numpy": workload.function} if with_numpy else {})}
    times: dict[str, list[float]] = {form: [] for form in calls}
    for number in range(repeat):
        for form, call in calls.items():
            if form != "numpy" or number == 0 or times[form][0] < _SLOW_S:
                times[form].append(_turn(call, arguments))
    median = {form: statistics.median(own) for form, own in times.items()}
    return Row(
        kernel=name,
        loops_s=median["loops"],
        arrays_s=median["arrays"],
        numpy_s=median.get("numpy"),
        ratio=statistics.median(a / b for a, b in zip(times["arrays"], times["loops"])),
        loops_compile_s=sum(compiled["loops"].timings.values()),
        arrays_compile_s=sum(compiled["arrays"].timings.values()),
    )


def _turn(call: Callable, arguments: Sequence) -> float:
    used = copy.deepcopy(arguments)
    times: list[float] = []
    while not times or sum(times) < _TURN_S and len(times) < _TURN_CALLS:
        for own, original in zip(used, arguments):
            if isinstance(own, np.ndarray):
                own[...] = original
        with np.errstate(all="ignore"):
            start = time.perf_counter()
            call(*used)
            times.append(time.perf_counter() - start)
    return min(times)


def show(rows: Sequence[Row]) -> None:
    """Prints the rows as a table, and the figures over all of them."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 120)
    table = Table(title="PolyBench in both forms")
    for heading in (
        "kernel",
        "loops",
        "array form",
        "array form / loops",
        "numpy / array form",
        "compiled in: loops",
        "array form",
    ):
        table.add_column(heading, justify="left" if heading == "kernel" else "right")
    for row in rows:
        peer = "" if row.numpy_s is None else f"{row.numpy_s / row.arrays_s:.2f}x"
        spent = (f"{seconds * 1e3:.0f} ms" for seconds in (row.loops_compile_s, row.arrays_compile_s))
        table.add_row(row.kernel, f"{row.loops_s * 1e3:.3g} ms", f"{row.arrays_s * 1e3:.3g} ms", f"{row.ratio:.2f}", peer, *spent)
    console.print(table)
    peers = [r.numpy_s / r.arrays_s for r in rows if r.numpy_s]
    means = f"array form / loops: geometric mean {geometric_mean(r.ratio for r in rows):.2f}"
    console.print(means + (f"; NumPy / array form: {geometric_mean(peers):.2f}" if peers else ""))
    spent = statistics.median(r.arrays_compile_s for r in rows)
    console.print(f"cold compile of the array forms: median {spent * 1e3:.0f} ms")


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0].split(":")[0])
    parser.add_argument("--kernels", nargs="+", default=list(kernels.NAMES), metavar="NAME", help="default: all 30")
    parser.add_argument("--numpy", action="store_true", help="time NumPy too")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", polyml.PolymlPerformanceWarning)
    rows: list[Row] = []
    for name in map(kernels.canonical, options.kernels):
        print(name, file=sys.stderr, flush=True)
        rows.append(compare(name, options.threads, options.repeat, options.numpy))
        write_rows(options.json, rows)
    show(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
