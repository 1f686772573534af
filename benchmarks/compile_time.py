"""What it costs to have the kernels ready:  python -m benchmarks.compile_time --json FILE

Every kernel is compiled in processes of its own, cold (for LARGE sizes) and from the disk cache; then the import of polyml,
the memory that compiling takes, and the time that a call of a small kernel takes beside its work.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import timeit
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import polyml
from benchmarks.results import machine
from polyml import kernels
from polyml.cli.commands.bench_runner import CompileTimes, compile_times
from polyml.errors import PolymlError


@dataclass(frozen=True)
class Row:
    """A Row is one kernel.

    times: those of the repetition with the median compile time.
    failure: why there are none, else "".
    """

    kernel: str
    times: CompileTimes | None
    failure: str = ""


@dataclass(frozen=True)
class Summary:
    """A Summary has times in seconds over all kernels that compiled.

    given_up: for how many kernels isl's budget did not suffice.
    call_s: one call with three arrays of one element.
    """

    compiled: int
    of: int
    given_up: int
    compile_median_s: float
    compile_slowest_s: float
    cached_median_s: float
    cached_slowest_s: float
    import_s: float
    peak_mb: float
    call_s: float


@polyml.kernel(cache=False)
def add(A, B, C):
    for i in range(A.shape[0]):
        C[i] = A[i] + B[i]


def call_seconds() -> float:
    """Returns the time of one call of `add` on arrays of one element, the least over five series."""
    A, B, C = np.ones(1), np.ones(1), np.empty(1)
    add(A, B, C)
    calls = 20_000
    return min(timeit.repeat(lambda: add(A, B, C), number=calls, repeat=5)) / calls - _empty_call_seconds(calls)


def _empty_call_seconds(calls: int) -> float:
    """Returns the time that timeit's own lambda takes."""
    return min(timeit.repeat(lambda: None, number=calls, repeat=5)) / calls


def measure(name: str, repeat: int, preset: str) -> Row:
    try:
        found = sorted((compile_times(name, preset=preset) for _ in range(repeat)), key=lambda t: t.compile_s)
    except PolymlError as error:
        return Row(name, None, str(error))
    return Row(name, found[len(found) // 2])


def summarise(rows: Sequence[Row]) -> Summary:
    times = [r.times for r in rows if r.times is not None]
    return Summary(
        compiled=len(times),
        of=len(rows),
        given_up=sum(bool(t.given_up) for t in times),
        compile_median_s=statistics.median(t.compile_s for t in times),
        compile_slowest_s=max(t.compile_s for t in times),
        cached_median_s=statistics.median(t.cached_s for t in times),
        cached_slowest_s=max(t.cached_s for t in times),
        import_s=statistics.median(t.import_s for t in times),
        peak_mb=max(t.peak_mb for t in times),
        call_s=call_seconds(),
    )


def show(rows: Sequence[Row], summary: Summary) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    shown = Table(title="milliseconds")
    for heading in ("kernel", "compile", "slowest stage", "from cache", "peak MB"):
        shown.add_column(heading, justify="left" if heading == "kernel" else "right", no_wrap=True)
    for row in rows:
        shown.add_row(row.kernel, *(["failed"] if row.times is None else _cells(row.times)))
    console.print(shown)
    for row in rows:
        if row.failure:
            console.print(f"{row.kernel}: {row.failure}", markup=False)
        for note in () if row.times is None else row.times.given_up:
            console.print(f"{row.kernel}: {note}", markup=False)
    console.print(
        f"{summary.compiled} of {summary.of} kernels compiled, {summary.given_up} past a budget of isl\n"
        f"cold compile: median {summary.compile_median_s * 1e3:.0f} ms, "
        f"slowest {summary.compile_slowest_s * 1e3:.0f} ms\n"
        f"from the disk cache in a new process: median {summary.cached_median_s * 1e3:.1f} ms, "
        f"slowest {summary.cached_slowest_s * 1e3:.1f} ms\n"
        f"import polyml: {summary.import_s * 1e3:.0f} ms\n"
        f"peak memory of a compiling process: {summary.peak_mb:.0f} MB\n"
        f"a call with three arrays: {summary.call_s * 1e9:.0f} ns",
        highlight=False,
    )


def _cells(times: CompileTimes) -> tuple[str, ...]:
    stage, seconds = max(times.stages.items(), key=lambda item: item[1])
    return (
        f"{times.compile_s * 1e3:.0f}",
        f"{stage} {seconds * 1e3:.0f}",
        f"{times.cached_s * 1e3:.1f}",
        f"{times.peak_mb:.0f}",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 1 when a kernel does not compile."""
    parser = argparse.ArgumentParser(description="Time compiling the kernels of PolyBench.")
    parser.add_argument("--kernels", nargs="+", default=list(kernels.NAMES), metavar="NAME", help="default: all 30")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="processes for each kernel (default: 3)")
    parser.add_argument("--preset", default="LARGE", choices=kernels.PRESETS, help="sizes to compile for (default: LARGE)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args(arguments)
    rows = []
    for name in map(kernels.canonical, options.kernels):
        print(name, file=sys.stderr, flush=True)
        rows.append(measure(name, options.repeat, options.preset))
    if all(r.times is None for r in rows):
        for row in rows:
            print(f"{row.kernel}: {row.failure}", file=sys.stderr)
        return 1
    summary = summarise(rows)
    show(rows, summary)
    if options.json:
        found = {"machine": machine(), "summary": asdict(summary), "rows": [asdict(r) for r in rows]}
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(any(r.failure for r in rows))


if __name__ == "__main__":
    sys.exit(main())
