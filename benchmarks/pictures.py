"""How long pictures and the page of a kernel take:  python -m benchmarks.pictures [--kernels NAME ...] [--pages NAME ...] [--json FILE]

Pictures of instances are drawn for the largest equal sizes with which the kernel has at most 2,000 of them, others for the sizes that `polyml.plot`
takes by itself; the median counts. Each is drawn once before it is timed, so that importing isl and what isl and the schedule keep are not among
the times; neither is making the schedule. Where Chromium is installed, pages are opened and clicked on in it (`benchmarks.page_times`).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import polyml
from benchmarks.page_times import PageTimes, page_times
from benchmarks.results import machine
from polyml import kernels
from polyml.api.plotting.plot import DRAWN_BY
from polyml.explorer.placing import instances
from polyml.pictures.nests import MOST, parameters
from polyml.schedule.script.schedule import Schedule

ASKED_MS, ASKED_PAGE_MS = 200.0, 100.0
KERNELS = ("prefix", "jacobi_1d", "gemm", "jacobi_2d", "seidel_2d", "doitgen")  # of one to four loops
PAGES = ("gemm", "jacobi_2d")
_OF_SOURCE = ("domain", "dependences")
_USUAL_SIZES = ("gpu", "misses", "fusion", "tree", "compilation")  # pictures without a point for each instance
_FILMS = ("comparison", "replay")  # which have a picture of each order


def prefix(A):
    for i in range(1, A.shape[0]):
        A[i] += A[i - 1]


@dataclass(frozen=True)
class Row:
    """A Row is one picture.

    size: of the kernel, all of them the same; 0: those that `polyml.plot` takes by itself.
    points, arrows: how many circles and cells, and how many arrows there are, of a film in all its frames.
    frames: how many pictures stand one after the other or side by side.
    ms, least_ms, greatest_ms: milliseconds for a frame, the median of the runs, the least and the greatest.
    """

    kernel: str
    subject: str
    size: int
    points: int
    arrows: int
    frames: int
    ms: float
    least_ms: float
    greatest_ms: float


@dataclass(frozen=True)
class Subjects:
    """What pictures of one kernel are drawn of. size: for which, of each of its sizes."""

    kernel: str
    source: Schedule
    automatic: Schedule
    on_gpu: Schedule
    compiled: object
    size: int

    def of(self, subject: str) -> object:
        named = {"gpu": self.on_gpu, "compilation": self.compiled, **dict.fromkeys(_OF_SOURCE, self.source)}
        return named.get(subject, self.automatic)


def subjects(name: str, most: int = MOST) -> Subjects:
    """Returns what pictures of a kernel of PolyBench, or of `prefix`, are drawn of. most: how many instances it has."""
    if name == "prefix":
        function, given = prefix, (np.ones(9),)
    else:
        found = kernels.load(name)
        function = found.kernel.py_func
        given = tuple(found.inputs(found.sizes["MINI"], np.random.default_rng(0), found.dtype).values())
    kernel, on_gpu = polyml.kernel(function, cache=False), polyml.kernel(function, cache=False, target="cuda")
    source = kernel.schedule("source", *given)
    return Subjects(
        name,
        source,
        kernel.schedule("auto", *given),
        on_gpu.schedule("auto", *given),
        kernel.lower(*given),
        _largest_size(source, most),
    )


def _largest_size(schedule: Schedule, most: int) -> int:
    """Returns the largest value of all sizes with which there are at most so many instances."""
    scop, size = schedule.problem.scop, 1
    with schedule.problem.alone():
        names = parameters(scop)
        while size < most and sum(map(len, instances(scop, dict.fromkeys(names, size + 1)).values())) <= most:
            size += 1
    return size


def measured(found: Subjects, subject: str, repeat: int) -> Row:
    """Returns the row of one picture."""
    size = 0 if subject in _USUAL_SIZES else found.size
    sizes = dict.fromkeys(parameters(found.source.problem.scop), size) if size else None
    drawn = polyml.plot(found.of(subject), subject, sizes)
    frames = drawn.count("<svg ") if subject in _FILMS else 1
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        polyml.plot(found.of(subject), subject, sizes)
        times.append(1e3 * (time.perf_counter() - start) / frames)
    points = sum(drawn.count(f"<{each}") for each in ('circle class="point', 'polygon class="point', 'rect class="cell'))
    arrows = drawn.count(' data-kind="')
    return Row(found.kernel, subject, size, points, arrows, frames, statistics.median(times), min(times), max(times))


def show(rows: Sequence[Row], pages: Sequence[PageTimes]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 110)
    table = Table(title="milliseconds for a picture: median (least to greatest)")
    for heading in ("kernel", "subject", "size", "points", "arrows", "frames", "milliseconds"):
        table.add_column(heading, justify="left" if heading in ("kernel", "subject") else "right", no_wrap=True)
    for row in rows:
        counts = (str(row.size or "usual"), f"{row.points:,}", f"{row.arrows:,}", str(row.frames))
        table.add_row(row.kernel, row.subject, *counts, _spread(row.ms, row.least_ms, row.greatest_ms))
    console.print(table)
    slow = [row for row in rows if row.ms > ASKED_MS]
    told = "; ".join(f"{row.kernel} {row.subject} {row.ms:.0f} ms" for row in slow)
    console.print(
        f"{len(slow)} of {len(rows)} pictures take more than {ASKED_MS:.0f} ms{f': {told}' if told else ''}", highlight=False
    )
    if not pages:
        return
    table = Table(title=f"milliseconds in the browser: median (least to greatest); asked {ASKED_PAGE_MS:.0f}")
    for heading in ("page", "what", "milliseconds"):
        table.add_column(heading, justify="right" if heading == "milliseconds" else "left", no_wrap=True)
    for page in pages:
        for what, found in page.times_ms.items():
            table.add_row(page.kernel, what, _spread(statistics.median(found), min(found), max(found)))
    console.print(table)


def _spread(median: float, least: float, greatest: float) -> str:
    return f"{median:.1f} ({least:.1f} to {greatest:.1f})"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pictures", description=__doc__)
    parser.add_argument("--kernels", nargs="*", default=list(KERNELS), metavar="NAME", help=f"default: {', '.join(KERNELS)}")
    parser.add_argument(
        "--subjects", nargs="+", default=list(DRAWN_BY), choices=list(DRAWN_BY), metavar="SUBJECT", help="default: all"
    )
    parser.add_argument(
        "--pages", nargs="*", default=list(PAGES), metavar="NAME", help=f"default: {', '.join(PAGES)}; without a name: none"
    )
    parser.add_argument("--points", type=int, default=MOST, metavar="N", help=f"instances of a kernel at most (default: {MOST:,})")
    parser.add_argument(
        "--repeat", type=int, default=7, metavar="N", help="runs of each picture, and openings of a page (default: 7)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args(arguments)
    rows = []
    for name in options.kernels:
        print(name, file=sys.stderr, flush=True)
        found = subjects(name, options.points)
        rows += [measured(found, subject, options.repeat) for subject in options.subjects]
    pages = page_times(options.pages, options.repeat) if options.pages else []
    show(rows, pages)
    if options.json:
        told = {"machine": machine(), "rows": [asdict(row) for row in rows], "pages": [asdict(page) for page in pages]}
        options.json.write_text(json.dumps(told, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
