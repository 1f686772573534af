"""Bad moments: a process that is killed, interrupted or forked at any time, and systems that give few threads and little memory."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from polyml.runtime.storage.disk_cache import Cache
from tests.faults import children
from tests.faults.campaign import Fault, Tally

_PROGRAMS = Path(__file__).parent / "programs"
_FIRST_CALL = str(_PROGRAMS / "first_call.py")
_ENDS = str(_PROGRAMS / "ends_in_a_pass.py")
_MOMENTS = "tests.faults.programs.moments"
_KILLS_OF_A_FOLDER = 5  # after so many, processes find everything in the cache
_TIMES_OF_A_PROCESS = 20
_MB = 1 << 20


def _killed(count: int, seed: int, folder: Path) -> Tally:
    """SIGKILL at any moment of a first call; what it left in the cache serves the next process."""
    tally, draw = Tally(), random.Random(seed)
    longest = _usual_seconds(folder / "usual")
    for number in range(count):
        cache = folder / f"cache{number // _KILLS_OF_A_FOLDER}"
        variables = children.environment(cache)
        at = draw.uniform(0.0, longest)
        child = subprocess.Popen(
            [sys.executable, _FIRST_CALL], env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        time.sleep(at)
        child.kill()
        ended = "killed" if child.wait() < 0 else "ended before"
        damaged = Cache(str(cache), 10**9).verify().damaged
        after = children.run([_FIRST_CALL], variables)
        problem = f"damaged: {damaged}" if damaged else after.problem or ("" if "right" in after.out else f"says {after.out!r}")
        _told(tally, ended, problem, f"killed after {at:.3f} s, number {number} of seed {seed}")
    return tally


def _ended_in_a_pass(count: int, seed: int, folder: Path) -> Tally:
    """SIGSEGV in each pass of a first call, in the first form or in all that processes try one after another: the process after them
    has a simpler form, which is right and says why.
    """
    tally, passes = Tally(), _passes(folder / "usual")
    for number in range(count):
        name, forms = passes[number % len(passes)], ("0", "01", "0123")[number // len(passes) % 3]
        variables = children.environment(folder / f"cache{number}", POLYML_ON_DEFECT="simpler")
        ends = []
        while not ends or ends[-1].status == -signal.SIGSEGV and len(ends) <= len(forms):
            ends.append(children.run([_ENDS, name, forms], variables))
        last, where = ends[-1], f"ended in pass {name} of forms {forms}, number {number} of seed {seed}"
        if len(ends) == 1:
            tally.fail(f"{where}: the first process did not end")
        elif last.status != 0 or not last.out.startswith("right ") or "an earlier process ended" not in last.out:
            tally.fail(f"{where}: {last.problem or f'says {last.out!r}'}")
        else:
            tally.add("as plain Python" if "as plain Python" in last.out else "in a simpler form")
    return tally


def _passes(cache: Path) -> list[str]:
    """Of a compilation."""
    end = children.run([_ENDS, "none", "", "passes"], children.environment(cache, POLYML_ON_DEFECT="simpler"))
    assert end.status == 0, end.error
    return end.out.split()


def _interrupted(count: int, seed: int, folder: Path) -> Tally:
    """SIGINT at any moment from the start of a process, which tries again, to the end of its first call."""
    tally, draw = Tally(), random.Random(seed)
    longest = _usual_seconds(folder / "usual")
    for number in range(count):
        at, again = draw.uniform(0.0, longest), draw.choice([0.0, draw.uniform(0.0, longest / 4)])
        end = children.run(
            [_FIRST_CALL], children.environment(folder / f"cache{number}"), interrupts=(at, again) if again else (at,)
        )
        where = f"interrupted after {at:.3f} s{f' and {again:.3f} s' if again else ''}, number {number} of seed {seed}"
        if "begun" not in end.out:  # Python's own start, or NumPy's import
            tally.add("before polyml")
        elif end.error.rstrip().endswith("KeyboardInterrupt") and "polyml" not in end.error:
            tally.add("between two attempts")
        elif end.problem or "right" not in end.out:
            tally.fail(f"{where}: {end.problem or f'says {end.out!r}'}")
        else:
            tally.add("as Python" if end.out.split()[-1] == "0" else "interrupted, then as Python")
    return tally


def _moments(what: tuple[str, ...], count: int, seed: int, folder: Path) -> Tally:
    """Of a process, many times; a line for each tells how it ended. what: the program and its first arguments."""
    tally = Tally()
    for number, start in enumerate(range(0, count, _TIMES_OF_A_PROCESS)):
        times, own = min(_TIMES_OF_A_PROCESS, count - start), seed * 1000 + number
        arguments = ["-m", *what, str(times), str(own)]
        end = children.run(arguments, children.environment(folder / "cache", POLYML_CACHE="0"), seconds=30 + 25 * times)
        lines = end.out.splitlines()
        for line in lines:
            _told(tally, line, line.removeprefix("wrong: ") if line.startswith("wrong: ") else "", " ".join(arguments[1:]))
        if end.problem or len(lines) != times:
            tally.fail(f"{' '.join(arguments[1:])}: {end.problem or f'{len(lines)} of {times} lines'}")
    return tally


def _while_importing(count: int, seed: int, folder: Path) -> Tally:
    return _moments(("tests.faults.programs.importing",), count, seed, folder)


def _while_compiling(count: int, seed: int, folder: Path) -> Tally:
    return _moments((_MOMENTS, "compiling"), count, seed, folder)


def _while_running(count: int, seed: int, folder: Path) -> Tally:
    return _moments((_MOMENTS, "running"), count, seed, folder)


def _forked(count: int, seed: int, folder: Path) -> Tally:
    return _moments((_MOMENTS, "forking"), count, seed, folder)


def _few_threads(count: int, seed: int, folder: Path) -> Tally:
    """RLIMIT_NPROC of 1 to 4: a thread that cannot be created leaves its work to others."""
    tally, draw = Tally(), random.Random(seed)
    for number in range(count):
        _limited(tally, folder / f"cache{number}", draw.choice([1, 1, 2, 3, 4]), 0, number)
    return tally


def _little_memory(count: int, seed: int, folder: Path) -> Tally:
    """RLIMIT_AS from what NumPy takes to what a compilation does."""
    tally, draw = Tally(), random.Random(seed)
    for number in range(count):
        megabytes = 300 if number == 0 else draw.randrange(200, 900)
        _limited(tally, folder / f"cache{number // 2}", 0, megabytes * _MB, number)
    return tally


def _limited(tally: Tally, cache: Path, threads: int, bytes_: int, number: int) -> None:
    variables = children.environment(cache, OPENBLAS_NUM_THREADS="1", PYTHONWARNINGS="ignore", POLYML_THREADS="3")
    arguments = ["-m", "tests.faults.programs.limited", str(threads), str(bytes_), str(number)]
    end = children.run(arguments, variables)
    said = end.out.split()[0] if end.out else "nothing"
    ended = {"right": "as Python", "refused:": "refused"}.get(said)
    _told(tally, ended or "", end.problem or ("" if ended else f"says {end.out!r}"), " ".join(arguments[1:]))


def _usual_seconds(cache: Path) -> float:
    """Of a first call, with the start of its process."""
    seconds = []
    for number in range(2):
        start = time.monotonic()
        end = children.run([_FIRST_CALL], children.environment(cache / str(number)))
        seconds.append(time.monotonic() - start)
        assert "right" in end.out, end.error
    return seconds[-1]


def _told(tally: Tally, ended: str, problem: str, where: str) -> None:
    if problem:
        tally.fail(f"{where}: {problem}")
    else:
        tally.add(ended)


FAULTS = (
    Fault("ended in a pass of a compilation", 60, 3, _ended_in_a_pass),
    Fault("processes killed in a first call", 150, 2, _killed),
    Fault("processes interrupted in a first call", 300, 2, _interrupted),
    Fault("interrupts while the compiler is imported", 70, 7, _while_importing),
    Fault("interrupts while a kernel is compiled", 300, 5, _while_compiling),
    Fault("interrupts while a kernel runs", 100, 4, _while_running),
    Fault("forks while another thread compiles", 100, 4, _forked),
    Fault("threads that cannot be created", 30, 2, _few_threads),
    Fault("limits of address space", 60, 3, _little_memory),
)
