"""Time polyml against other ways to run the same kernels:  python -m benchmarks.compare --kernels gemm lu

Every peer runs in a process of its own, so that thread pools never meet. The processes take turns: a round runs each
once, and a peer's figure is the median over the rounds of its time divided by polyml's time in the same round, which
cancels what the machine does meanwhile. A result that is not within the rounding bound of the reference does not count.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import kernels
from benchmarks.peers import PEERS
from benchmarks.worker import Failed, Job, serve

_PREPARE_LIMIT_S = 1800.0
_RUN_LIMIT_S = 600.0
_PAUSE_S = 0.06  # for threads that wait for more work to go to sleep: OpenBLAS lets them spin for 2**26 cycles


@dataclass(frozen=True)
class Row:
    """One peer on one kernel.

    seconds: median time of a run. ratio: median of peer time / polyml time of the same round (above 1: polyml is
    faster), None where either is missing. rate: in `unit`. error: |result - reference| / bound.
    variant: which form of the peer was fastest. note: why there are no figures.
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
    note: str = ""


class Process:
    """A worker, as the rounds see it. `failure` is set once it cannot run any more."""

    def __init__(self, job: Job, serve: Callable[..., None] = serve):
        self.job, self.failure, self.ready = job, None, None
        self.seconds: list[float] = []
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        with thread_environment(job.threads):
            self.process = context.Process(target=serve, args=(other, job), daemon=True)
            self.process.start()
        other.close()

    def prepare(self) -> None:
        answer = self._receive(_PREPARE_LIMIT_S)
        if isinstance(answer, Failed):
            self.failure = answer
        else:
            self.ready = answer

    def take(self, job: object) -> None:
        """The next job of a worker whose `serve` takes several; `prepare` follows."""
        self.job, self.failure, self.ready, self.seconds = job, None, None, []
        self.connection.send(job)

    def run(self) -> float | None:
        if self.failure is not None:
            return None
        self.connection.send("run")
        answer = self._receive(_RUN_LIMIT_S)
        if isinstance(answer, Failed):
            self.failure = answer
            return None
        return answer

    def _receive(self, limit_s: float) -> object:
        try:
            if self.connection.poll(limit_s):
                return self.connection.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            return Failed("error", f"the process ended with {self.process.exitcode}")
        return Failed("error", f"no answer after {limit_s:.0f} s")

    def close(self) -> None:
        self.process.terminate()
        self.process.join()
        self.connection.close()


@contextmanager
def thread_environment(threads: int) -> Iterator[None]:
    """Processes started inside see this many threads in every library's own variable."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def compare(name: str, size: Mapping[str, int], preset: str, threads: int, peers: Sequence[str], repeat: int,
            budget_s: float, expected: str, seed: int) -> list[Row]:  # fmt: skip
    """The rows of one kernel, polyml's first. Rounds end after `repeat`, or once `budget_s` is spent, but not
    before the first."""
    benchmark = kernels.load(name)
    jobs = [Job(peer, benchmark.name, size, threads, seed, expected) for peer in peers]
    processes = taking_turns(jobs, repeat, budget_s)
    own = next((p for p in processes if p.job.peer == "polyml"), None)
    return [_row(benchmark, p, own, preset) for p in processes]


def taking_turns(
    jobs: Sequence[Job], repeat: int, budget_s: float, serve: Callable[..., None] = serve
) -> list[Process]:
    """A process for each job, closed again, with the seconds of its turns."""
    processes: list[Process] = []
    with ExitStack() as stack:
        for job in jobs:
            process = Process(job, serve)
            stack.callback(process.close)
            process.prepare()
            processes.append(process)
        rounds(processes, repeat, budget_s)
    return processes


def rounds(processes: Sequence[Process], repeat: int, budget_s: float) -> None:
    """Each process runs once in a round. Rounds end after `repeat`, or once `budget_s` is spent, but not before the first."""
    start = time.monotonic()
    for _ in range(repeat):
        for process in processes:
            seconds = process.run()
            if seconds is not None:
                process.seconds.append(seconds)
            time.sleep(_PAUSE_S)
        if time.monotonic() - start > budget_s:
            return


def _row(benchmark: kernels.Benchmark, process: Process, own: Process | None, preset: str) -> Row:
    job = process.job
    common = {"kernel": benchmark.name, "preset": preset, "threads": job.threads, "peer": job.peer}
    if process.failure is not None:
        return Row(**common, note=f"{process.failure.kind}: {process.failure.reason}")
    median = statistics.median(process.seconds)
    both = own is not None and own.failure is None
    return Row(
        **common,
        seconds=median,
        ratio=statistics.median(p / o for p, o in zip(process.seconds, own.seconds)) if both else None,
        rate=benchmark.rate(job.size, median, np.dtype(benchmark.dtype).itemsize),
        unit=benchmark.unit,
        error=process.ready.accuracy.ratio,
        variant=process.ready.variant,
    )


def geometric_mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return statistics.geometric_mean(found) if found else None


def print_geometric_mean(ratios: Iterable[float | None]) -> None:
    mean = geometric_mean(ratio for ratio in ratios if ratio is not None)
    print(f"geometric mean {mean:.2f}" if mean else "nothing was measured")


def write_rows(path: Path | None, rows: Sequence) -> None:
    """The machine and the rows as JSON; nothing without a path."""
    if path:
        path.write_text(json.dumps({"machine": machine(), "rows": [asdict(row) for row in rows]}, indent=1) + "\n")


def machine() -> dict[str, object]:
    """What the figures depend on beside the program."""
    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = (line.partition(":") for line in info.read_text().splitlines())
        model = next((text.strip() for key, _, text in lines if key.strip() == "model name"), model)
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def show(rows: Sequence[Row], peers: Sequence[str]) -> None:
    """One table for each number of threads: polyml's time and rate, and how many times longer each peer takes."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 120)
    others = [p for p in peers if p != "polyml"]
    for threads in dict.fromkeys(r.threads for r in rows):
        table = Table(title=f"{rows[0].preset}, {threads} thread{'s' * (threads > 1)}; peer time / polyml time")
        for heading in ("kernel", "polyml", "rate", *others):
            table.add_column(heading, justify="left" if heading == "kernel" else "right", no_wrap=True)
        mine = [r for r in rows if r.threads == threads]
        for kernel in dict.fromkeys(r.kernel for r in mine):
            by_peer = {r.peer: r for r in mine if r.kernel == kernel}
            own = by_peer.get("polyml")
            table.add_row(kernel, _seconds(own), _rate(own), *(_ratio(by_peer[p]) for p in others))
        means = [geometric_mean(r.ratio for r in mine if r.peer == p and r.ratio) for p in others]
        table.add_section()
        table.add_row("geomean", "", "", *("" if m is None else f"{m:.2f}x" for m in means))
        console.print(table)
        for row in mine:
            if row.note and not row.note.startswith("unavailable"):
                console.print(f"{row.kernel}, {row.peer}: {row.note}", markup=False)


def _seconds(row: Row | None) -> str:
    return "" if row is None or row.seconds is None else f"{row.seconds * 1e3:.3g} ms"


def _rate(row: Row | None) -> str:
    return "" if row is None or row.rate is None else f"{row.rate:.3g} {row.unit}"


def _ratio(row: Row) -> str:
    if row.ratio is not None:
        return f"{row.ratio:.2f}x"
    if row.seconds is not None:
        return _seconds(row)
    kind = row.note.split(":")[0]
    return "-" if kind == "unavailable" else kind


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0].split(":")[0])
    parser.add_argument("--kernels", nargs="+", default=list(kernels.NAMES), metavar="NAME", help="default: all 30")
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS), help="default: all")
    parser.add_argument("--preset", default="LARGE", choices=kernels.PRESETS)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], metavar="N", help="default: 1 2")
    parser.add_argument("--repeat", type=int, default=7, help="rounds (default: 7)")
    parser.add_argument("--budget", type=float, default=60.0, metavar="SECONDS", help="for the rounds of one kernel")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 1 when polyml fails on a kernel, or is wrong."""
    options = _parser().parse_args(arguments)
    names = [kernels.canonical(n) for n in options.kernels]
    peers = ["polyml", *(p for p in options.peers if p != "polyml")] if "polyml" in options.peers else options.peers
    rows: list[Row] = []
    for name in names:
        rows += _all_threads(name, peers, options)
        write_rows(options.json, rows)
    rows.sort(key=lambda r: r.threads)
    show(rows, peers)
    return int(any(r.peer == "polyml" and r.note for r in rows))


def _all_threads(name: str, peers: Sequence[str], options: argparse.Namespace) -> list[Row]:
    """The reference runs once for all peers and numbers of threads."""
    benchmark = kernels.load(name)
    size = benchmark.sizes[options.preset]
    arguments = benchmark.inputs(size, np.random.default_rng(options.seed), np.dtype(benchmark.dtype))
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="polyml-compare-") as folder:
        expected = os.path.join(folder, "expected.npz")
        np.savez(expected, **benchmark.reference(*arguments.values()))
        for threads in options.threads:
            print(f"{name}, {threads} thread{'s' * (threads > 1)}", file=sys.stderr, flush=True)
            rows += compare(
                name, size, options.preset, threads, peers, options.repeat, options.budget, expected, options.seed
            )
    return rows


if __name__ == "__main__":
    sys.exit(main())
