"""Whole functions whose control is decided by data, by polyml beside numba and Pythran:  python -m benchmarks.irregular [NAMES]

Each peer has a process of its own, which compiles every form it has of the function, compares its results with the reference
and times the fastest right form; the processes take turns. numba's forms are njit, njit(fastmath=True) and, on several threads,
both with parallel=True and prange in the one loop whose iterations are independent. A function that polyml does not compile
whole has no time of polyml, but the reason.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import pickle
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType

from benchmarks.interleaved_processes import Failed, Process, Turn, rounds, serve_turns, with_job
from benchmarks.numba_source import numba_source
from benchmarks.peer import Call, PeerUnavailable, built
from benchmarks.pythran import compiled, pythran_source
from benchmarks.results import geometric_mean, write_rows
from polyml.kernels.irregular import Irregular, functions

PEERS = ("numba", "pythran")
SEED = 0
_TURN_S, _TURN_CALLS = 0.05, 9  # of calls in a row, of which the median counts
_TRIAL_CALLS = 3  # that find out which form is fastest


class NotWhole(PeerUnavailable):
    """This is raised where polyml runs the function as plain Python or in parts; the text says why."""


@dataclass(frozen=True)
class Job:
    """A Job is one peer on one function. expected: a file with what the reference makes of the arguments."""

    peer: str
    name: str
    threads: int
    preset: str
    expected: str


@dataclass(frozen=True)
class Ready:
    """A Ready says that a peer has computed a right result. form: the fastest right one; excluded: why others do not count."""

    form: str
    excluded: str = ""


@dataclass(frozen=True)
class Row:
    """A Row is one function.

    whole: whether polyml compiled it whole.
    seconds, forms: of each peer that ran, polyml's too, and which form was its fastest.
    ratios: the median over the rounds of each peer's time / polyml's.
    notes: why a peer has no time, or forms of it do not count.
    """

    name: str
    whole: bool
    seconds: Mapping[str, float] = field(default_factory=dict)
    forms: Mapping[str, str] = field(default_factory=dict)
    ratios: Mapping[str, float] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


def forms(case: Irregular, job: Job) -> Iterator[tuple[str, Call]]:
    """Yields each form that the peer has of a function. Raises PeerUnavailable where it has none."""
    if job.peer == "polyml":
        yield "", polyml_form(case, job.threads)
    elif job.peer == "numba":
        yield from numba_forms(case, job.threads)
    else:
        yield from pythran_forms(case, job.threads)


def polyml_form(case: Irregular, threads: int) -> Call:
    """Returns the kernel. Raises NotWhole where it is not compiled whole, and ValueError where a small result is wrong."""
    import polyml

    kernel = polyml.kernel(case.function, cache=False, threads=threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", polyml.PolymlPerformanceWarning)
        problem = outcome(case, kernel, "SMALL")
    if problem:
        raise ValueError(f"SMALL: {problem}")
    reason = reason_of_plain(kernel.explain())
    if reason:
        raise NotWhole(reason)
    return kernel


def reason_of_plain(explained: str) -> str:
    """Returns why a call did not run compiled as a whole, from `explain()`, or "" where it did.

    >>> reason_of_plain("f (a.py:3): compiled\\n  x: f64[:]")
    ''
    >>> reason_of_plain("f (a.py:3): runs as plain Python for (int)\\n  a.py:4:5: error: no loop\\n    while x:")
    'no loop'
    """
    first, _, rest = explained.partition("\n")
    if first.endswith(": compiled"):
        return ""
    return next((line.partition(" error: ")[2] for line in rest.splitlines() if " error: " in line), first.rpartition(": ")[2])


def outcome(case: Irregular, call: Call, preset: str) -> str:
    """Calls a form on fresh arguments, and returns in words what is wrong with what it does, or ""."""
    wanted = case.reference(*case.arguments(preset, SEED))
    arguments = case.arguments(preset, SEED)
    return case.problem(wanted, arguments, call(*arguments))


def numba_forms(case: Irregular, threads: int) -> Iterator[tuple[str, Call]]:
    try:
        import numba
    except ImportError:
        raise PeerUnavailable("numba is not installed (pip install 'polyml[bench]')") from None
    numba.set_num_threads(threads)
    loops = (case.parallel,) if case.parallel and threads > 1 else ()
    for parallel, fastmath in itertools.product(((), loops) if loops else ((),), (False, True)):
        label = ("prange" if parallel else "njit") + ", fastmath" * fastmath
        function = function_for_numba(case, parallel, f"# numba {numba.__version__}: {label}")
        yield label, numba.njit(cache=True, parallel=bool(parallel), fastmath=fastmath)(function)


def function_for_numba(case: Irregular, parallel: tuple[str, ...], remark: str) -> Callable:
    """Returns the function, with `prange` in these loops, as one of a file beside which numba keeps what it compiles.

    remark: a line of the file, so that each version and each choice of options has a file: numba keeps one form of each.
    """
    text = f"{remark}\nimport math\nimport numpy as np\nfrom numba import prange\n\n\n"
    text += numba_source(case.function, parallel, "float64")

    def write(folder: Path) -> None:
        folder.joinpath("irregular.py").write_text(text)

    folder = built(write, text)
    module = ModuleType(f"numba_{folder.name}")
    sys.modules[module.__name__] = module  # where numba looks for the names of what it kept
    exec(compile(text, str(folder / "irregular.py"), "exec"), module.__dict__)
    return getattr(module, case.name)


def pythran_forms(case: Irregular, threads: int) -> Iterator[tuple[str, Call]]:
    code = case.function.__code__
    arguments = dict(zip(code.co_varnames[: code.co_argcount], case.arguments("SMALL", SEED)))
    yield "serial", compiled(pythran_source(case.function, arguments, (), "float64"), case.name)
    if case.parallel and threads > 1:
        yield "openmp", compiled(pythran_source(case.function, arguments, (case.parallel,), "float64"), case.name)


class Runner:
    """A Runner calls one form on copies of its arguments, which are made outside what is timed.

    arguments: as they are before a call.
    changed: the places of those that a call changes; the others are not copied again.
    """

    def __init__(self, case: Irregular, call: Call, arguments: tuple, changed: Sequence[int]):
        self.case, self.call, self.arguments, self.changed = case, call, arguments, changed
        self.used = list(copy.deepcopy(arguments))

    def run(self) -> tuple[float, object]:
        """Returns the seconds of a call, and what it returned."""
        for place in self.changed:
            self.used[place][...] = self.arguments[place]
        begin = time.perf_counter()
        result = self.call(*self.used)
        return time.perf_counter() - begin, result

    def turn(self) -> float:
        """Returns the median time of some calls in a row."""
        times: list[float] = []
        while not times or (sum(times) < _TURN_S and len(times) < _TURN_CALLS):
            times.append(self.run()[0])
        return statistics.median(times)


def prepare(job: Job) -> tuple[Ready, Turn] | Failed:
    """Returns the turn of the fastest form whose result is right, and which one it is."""
    case = functions()[job.name]
    wanted = pickle.loads(Path(job.expected).read_bytes())
    arguments = case.arguments(job.preset, SEED)
    names = case.function.__code__.co_varnames
    changed = [place for place in range(len(arguments)) if names[place] in wanted]
    best: tuple[float, Runner, str] | None = None
    problems = []
    try:
        for label, call in forms(case, job):
            try:
                call(*case.arguments("SMALL", SEED))  # compiles
                runner = Runner(case, call, arguments, changed)
                problem = case.problem(wanted, tuple(runner.used), runner.run()[1])
                seconds = min(runner.run()[0] for _ in range(_TRIAL_CALLS))
            except Exception as error:
                problem, seconds = Failed.of("error", error).reason, 0.0
            if problem:
                problems.append(f"{label}: {problem}" if label else problem)
            elif best is None or seconds < best[0]:
                best = seconds, runner, label
    except NotWhole as reason:
        return Failed("plain", str(reason))
    except PeerUnavailable as reason:
        return Failed("unavailable", str(reason))
    except Exception as error:  # whatever a peer's compiler raises becomes a line of the table
        return Failed.of("error", error)
    excluded = "; ".join(problems)
    return (Ready(best[2], excluded), best[1].turn) if best else Failed("wrong", excluded)


def serve(connection: Connection, job: Job) -> None:
    """Sends Ready or Failed, then seconds of a call for each "run" received; after a Job the same for that one."""
    serve_turns(connection, job, prepare)


def measure(names: Sequence[str], peers: Sequence[str], options: argparse.Namespace) -> Iterator[Row]:
    """Yields the row of each function. The processes of the peers stay from one function to the next."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        processes: dict[str, Process] = {}
        for name in names:
            case, expected = functions()[name], folder / f"{name}.pickle"
            expected.write_bytes(pickle.dumps(case.reference(*case.arguments(options.preset, SEED))))
            for peer in ("polyml", *peers):
                job = Job(peer, name, options.threads, options.preset, str(expected))
                processes[peer] = with_job(processes.get(peer), job, serve, stack)
                processes[peer].prepare()
            rounds(list(processes.values()), options.repeat, options.budget)
            yield row_of(name, processes)
            expected.unlink()


def row_of(name: str, processes: Mapping[str, Process]) -> Row:
    """Returns what the processes found out about a function."""
    seconds, forms_used, notes = {}, {}, {}
    for peer, process in processes.items():
        outcome_of: object = process.failure or process.ready
        if isinstance(outcome_of, Failed):
            notes[peer] = f"{outcome_of.kind}: {outcome_of.reason}"
        elif isinstance(outcome_of, Ready):
            seconds[peer], forms_used[peer] = process.seconds, outcome_of.form
            if outcome_of.excluded:
                notes[peer] = f"not counted: {outcome_of.excluded}"
    own = seconds.get("polyml", [])
    return Row(
        name=name,
        whole=bool(own),
        seconds={peer: statistics.median(times) for peer, times in seconds.items()},
        forms=forms_used,
        ratios={
            peer: statistics.median(a / b for a, b in zip(times, own))
            for peer, times in seconds.items()
            if own and peer != "polyml"
        },
        notes=notes,
    )


def heading(peers: Sequence[str]) -> str:
    """Returns the line above the rows, in which each peer has its time in milliseconds, its form, and its time / polyml's."""
    return " ".join([f"{'function':30} whole {'polyml':>9}", *(f"{peer:>9} {'form':16} {'ratio':>6}" for peer in peers), "notes"])


def line(row: Row, peers: Sequence[str]) -> str:
    """Returns a row as text."""
    cells = [f"{row.name:30} {'yes' if row.whole else 'no':5}", _milliseconds(row, "polyml")]
    for peer in peers:
        ratio = f"{row.ratios[peer]:6.2f}" if peer in row.ratios else " " * 6
        cells.append(f"{_milliseconds(row, peer)} {row.forms.get(peer, ''):16} {ratio}")
    return " ".join([*cells, "; ".join(f"{peer} {note}" for peer, note in row.notes.items())]).rstrip()


def _milliseconds(row: Row, peer: str) -> str:
    return f"{row.seconds[peer] * 1e3:9.3f}" if peer in row.seconds else " " * 9


def summary(rows: Sequence[Row], peers: Sequence[str]) -> list[str]:
    """Returns how many functions are compiled whole, and of each peer the mean ratio and the least one."""
    lines = [f"{sum(row.whole for row in rows)} of {len(rows)} functions are compiled whole"]
    for peer in peers:
        measured = {row.name: row.ratios[peer] for row in rows if peer in row.ratios}
        if measured:
            least = min(measured, key=measured.__getitem__)
            mean = geometric_mean(measured.values())
            lines.append(f"{peer} / polyml: geometric mean {mean:.2f} of {len(measured)}, least {measured[least]:.2f} ({least})")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 1 when a result is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAMES", help="functions (default: all)")
    parser.add_argument("--threads", type=int, default=1, help="of every peer (default: 1)")
    parser.add_argument("--peers", default="numba", help=f"some of {','.join(PEERS)} (default: numba)")
    parser.add_argument("--preset", default="LARGE", choices=("SMALL", "LARGE"))
    parser.add_argument("--repeat", type=int, default=7, help="rounds (default: 7)")
    parser.add_argument("--budget", type=float, default=3.0, metavar="SECONDS", help="for the rounds of one function")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there")
    options = parser.parse_args(arguments)
    peers = [peer for peer in options.peers.split(",") if peer]
    known = functions()
    unknown = [*(set(peers) - set(PEERS)), *(set(options.names) - set(known))]
    if unknown:
        parser.error(f"not known: {', '.join(sorted(unknown))}")
    rows: list[Row] = []
    print(heading(peers))
    for row in measure(options.names or list(known), peers, options):
        print(line(row, peers), flush=True)
        rows.append(row)
        write_rows(options.json, rows)
    print(*summary(rows, peers), sep="\n")
    return int(any(note.startswith(("wrong", "error")) for row in rows for note in row.notes.values()))


if __name__ == "__main__":
    sys.exit(main())
