"""Time array programs against NumPy, numba and Pythran:  python -m benchmarks.arrays --programs softmax

As in `benchmarks.polybench`, each peer has a process of its own and the processes take turns. numba gets the program as it
is written, the functions that it calls compiled too; Pythran its text.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import FunctionType

import numpy as np

from benchmarks import chosen, pythran
from benchmarks.interleaved_processes import Failed, Process, taking_turns
from benchmarks.peer import PeerUnavailable
from benchmarks.results import geometric_mean, write_rows
from polyml.kernels.arrays import Workload, workloads

_TURN_S = 0.1  # of calls in a row, of which the median counts
_TURN_CALLS = 15

PEERS = ("polyml", "numpy", "numba", "pythran")


@dataclass(frozen=True)
class Job:
    peer: str
    program: str
    preset: str
    threads: int


@dataclass(frozen=True)
class Ready:
    """A Ready says that a peer has computed a right result.

    compile_s: all stages of polyml's first call.
    """

    compile_s: float | None
    compiled: bool


@dataclass(frozen=True)
class Row:
    """A Row is one peer on one program.

    ratio: the median of the peer's time / polyml's of the same round; above 1, polyml is faster.
    """

    program: str
    peer: str
    threads: int
    seconds: float | None = None
    ratio: float | None = None
    compile_s: float | None = None
    note: str = ""


def _numpy(workload: Workload, threads: int) -> Callable:
    return workload.function


def _polyml(workload: Workload, threads: int) -> Callable:
    import warnings

    import polyml

    warnings.simplefilter("ignore", polyml.PolymlPerformanceWarning)
    return polyml.kernel(cache=False, threads=threads)(workload.function)


def _numba(workload: Workload, threads: int) -> Callable:
    try:
        import numba
    except ImportError:
        raise PeerUnavailable("numba is not installed") from None
    numba.set_num_threads(threads)
    compiler = numba.njit(parallel=threads > 1, fastmath=True, error_model="numpy")
    return _with_compiled_helpers(workload.function, compiler)


def _with_compiled_helpers(function: FunctionType, compiler: Callable) -> Callable:
    """Returns the function compiled, together with those of its module that it calls."""
    names = dict(function.__globals__)
    for name in function.__code__.co_names:
        value = names.get(name)
        if isinstance(value, FunctionType) and value.__module__ == function.__module__:
            names[name] = _with_compiled_helpers(value, compiler)
    return compiler(FunctionType(function.__code__, names, function.__name__, function.__defaults__))


def _pythran(workload: Workload, threads: int) -> Callable:
    import inspect

    kinds = ", ".join(pythran.type_name(argument) for argument in workload.arguments("SMALL"))
    text = f"import numpy as np\n#pythran export {workload.name}({kinds})\n"
    text += "".join(inspect.getsource(f) for f in _called(workload.function)) + _undecorated(workload.function)
    return pythran.compiled(text, workload.name)


def _called(function: FunctionType) -> list[FunctionType]:
    found: list[FunctionType] = []
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType) and value.__module__ == function.__module__:
            found += [f for f in (*_called(value), value) if f not in found]
    return found


def _undecorated(function: FunctionType) -> str:
    import inspect

    text = inspect.getsource(function)
    return text[text.index(f"def {function.__name__}(") :]


_MAKE = {"polyml": _polyml, "numpy": _numpy, "numba": _numba, "pythran": _pythran}


def serve(connection: Connection, job: Job) -> None:
    """Sends Ready or Failed, then seconds for each "run" received, until anything else arrives."""
    workload = workloads()[job.program]
    try:
        call = _MAKE[job.peer](workload, job.threads)
        with np.errstate(all="ignore"):
            call(*workload.arguments(job.preset))
            stages = dict(getattr(call, "timings", {}))
            problem = workload.problem(job.preset, call)
    except PeerUnavailable as reason:
        connection.send(Failed("unavailable", str(reason)))
        return
    except Exception as error:  # whatever a peer's compiler raises becomes a line of the table
        connection.send(Failed.of("refused", error))
        return
    if problem:
        connection.send(Failed("wrong", problem))
        return
    connection.send(Ready(sum(stages.values()) or None, getattr(call, "compiled", None) is not False))
    fresh = workload.arguments(job.preset)
    used = copy.deepcopy(fresh)
    while connection.recv() == "run":
        times: list[float] = []
        # cores and clocks rest while the other processes run, and take some milliseconds of work to wake
        while sum(times) < _TURN_S and len(times) < _TURN_CALLS:
            for own, original in zip(used, fresh):
                if isinstance(own, np.ndarray):
                    own[...] = original
            with np.errstate(all="ignore"):
                start = time.perf_counter()
                call(*used)
                times.append(time.perf_counter() - start)
        connection.send(statistics.median(times))


def compare(name: str, preset: str, threads: int, peers: Sequence[str], repeat: int, budget_s: float) -> list[Row]:
    """Returns the rows of one program, polyml's first."""
    processes = taking_turns([Job(peer, name, preset, threads) for peer in peers], repeat, budget_s, serve)
    own = next((p for p in processes if p.job.peer == "polyml"), None)
    return [_row(p, own) for p in processes]


def _row(process: Process, own: Process | None) -> Row:
    common = {"program": process.job.program, "peer": process.job.peer, "threads": process.job.threads}
    if process.failure is not None:
        return Row(**common, note=f"{process.failure.kind}: {process.failure.reason}")
    both = own is not None and own.failure is None
    return Row(
        **common,
        seconds=statistics.median(process.seconds),
        ratio=statistics.median(p / o for p, o in zip(process.seconds, own.seconds)) if both else None,
        compile_s=process.ready.compile_s,
        note="" if process.ready.compiled else "plain Python",
    )


def show(rows: Sequence[Row], peers: Sequence[str]) -> None:
    """Prints polyml's time and compile time, how many times longer each peer takes, and figures over all programs."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 120)
    others = [p for p in peers if p != "polyml"]
    table = Table(title=f"array programs, {rows[0].threads} threads; peer time / polyml time")
    for heading in ("program", "polyml", "compiled in", *others):
        table.add_column(heading, justify="left" if heading == "program" else "right", no_wrap=True)
    by_program: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_program.setdefault(row.program, {})[row.peer] = row
    better: list[float] = []
    for program, found in by_program.items():
        own = found["polyml"]
        compiled = "" if own.compile_s is None else f"{own.compile_s * 1e3:.0f} ms"
        table.add_row(program, _time(own), own.note or compiled, *(_cell(found[p]) for p in others))
        compilers = [found[p].ratio for p in others if p != "numpy" and found[p].ratio]
        if compilers:
            better.append(min(compilers))
    table.add_section()
    means = [geometric_mean(r.ratio for r in rows if r.peer == p and r.ratio) for p in others]
    table.add_row("geomean", "", "", *("" if m is None else f"{m:.2f}x" for m in means))
    console.print(table)
    if better:
        console.print(f"the better compiler, where one compiles it ({len(better)}): {geometric_mean(better):.2f}x")
    times = [r.compile_s for r in rows if r.peer == "polyml" and r.compile_s]
    if times:
        console.print(f"cold compile: median {statistics.median(times) * 1e3:.0f} ms, slowest {max(times) * 1e3:.0f} ms")
    for row in rows:
        if row.note and row.peer == "polyml" and row.note != "plain Python":
            console.print(f"{row.program}: {row.note}", markup=False)


def _time(row: Row) -> str:
    return row.note.split(":")[0] if row.seconds is None else f"{row.seconds * 1e3:.3g} ms"


def _cell(row: Row) -> str:
    if row.ratio is not None:
        return f"{row.ratio:.2f}x"
    return "-" if row.note.startswith("unavailable") else _time(row)


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 1 when polyml fails on a program, or is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0].split(":")[0])
    parser.add_argument("--programs", nargs="+", default=list(workloads()), metavar="NAME", help="default: all")
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=PEERS, help="default: all")
    parser.add_argument("--preset", default="LARGE", choices=("SMALL", "LARGE"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=9, help="rounds (default: 9)")
    parser.add_argument("--budget", type=float, default=8.0, metavar="SECONDS", help="for the rounds of one program")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    options = parser.parse_args(arguments)
    peers = ["polyml", *(p for p in options.peers if p != "polyml")]
    rows: list[Row] = []
    for name in options.programs:
        print(name, file=sys.stderr, flush=True)
        rows += compare(name, options.preset, options.threads, peers, options.repeat, options.budget)
        write_rows(options.json, rows)
    show(rows, peers)
    print(*chosen.lines(peers), sep="\n")
    return int(any(r.peer == "polyml" and r.seconds is None for r in rows))


if __name__ == "__main__":
    sys.exit(main())
