"""Writes what the polyml that is imported makes of each program:  python -m tests.replay.capture FOLDER --random 500 --jobs 2"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context
from pathlib import Path

from tests.replay.subjects import Sections, subjects

STAGES = ("kernel", "domain", "deps", "schedule", "ast", "llvm")
BATCH = 40  # programs for which a process lives: what LLVM and isl keep does not pile up
TICK_S = 0.002  # by which the clock goes on whenever it is read
_PAIR = re.compile(r"(\w+)\[[^\]]*\] -> (\w+)\[")
_TIMES = re.compile(r" +\d+\.\d\d ms")


def main() -> int:
    """0: each program is written, also where polyml refuses it."""
    parser = argparse.ArgumentParser(prog="python -m tests.replay.capture", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the files go, one for each program")
    parser.add_argument("--random", type=int, default=500, help="how many random programs")
    parser.add_argument("--only", default="", help="the programs whose names contain this text")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    names = [subject.name for subject in subjects(options.random) if options.only in subject.name]
    with ProcessPoolExecutor(options.jobs, get_context("spawn"), max_tasks_per_child=1) as pool:
        count = -(-len(names) // BATCH)
        batches = [names[first::count] for first in range(count)]  # reports, which take longest, in each
        for _ in pool.map(_capture_all, batches, [options] * len(batches)):
            pass
    return 0


def _capture_all(names: list[str], options: argparse.Namespace) -> None:
    _count_readings()
    named = {subject.name: subject for subject in subjects(options.random)}
    for name in names:
        text = "\n".join(f"== {section}\n{content}" for section, content in _captured(named[name].run).items())
        (options.folder / f"{name}.txt").write_text(_anonymous(text) + "\n")


def _count_readings() -> None:
    """Clocks that go on by one tick when they are read: what reports leave out for lack of time is then the same in each run.

    For a process that has not yet imported polyml.
    """
    if "polyml" in sys.modules:
        raise RuntimeError("polyml was imported before its clock was replaced")
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        readings = count()
        setattr(time, name, lambda readings=readings: next(readings) * TICK_S)


def _captured(run) -> Sections:
    """The program's own sections, the warnings, and each stage of each compilation in order."""
    import polyml

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with polyml.config.scope(cache=False, threads=2, debug=STAGES, debug_dir=folder):
            made = dict(run())
        made["warnings"] = "\n".join(f"{each.category.__name__}: {each.message}" for each in seen)
        for path in sorted(Path(folder).iterdir()):
            number, _, stage = path.name.removesuffix(".txt").partition("-")
            made[f"{number} {stage}"] = _pairs(path.read_text()) if stage.endswith(".deps") else path.read_text()
    numbers = {old: new for new, old in enumerate(dict.fromkeys(key.split()[0] for key in made if key[0].isdigit()))}
    return {f"{numbers[key.split()[0]]} {key.partition(' ')[2]}" if key[0].isdigit() else key: text for key, text in made.items()}


def _pairs(text: str) -> str:
    """Which pairs of statements depend on one another, by kind: isl writes one relation in several ways, from one run to the next."""
    lines = (", ".join(sorted({f"{a} -> {b}" for a, b in _PAIR.findall(line)})) or line for line in text.splitlines())
    return "\n".join(lines)


def _anonymous(text: str) -> str:
    """Without times, and without the folder in which this polyml stands."""
    import polyml

    root = str(Path(polyml.__file__).parent.parent)
    tests = str(Path(__file__).parent.parent.parent)
    for folder in sorted({root, tests}, key=len, reverse=True):
        text = text.replace(f"{folder}/polyml/kernels/", "kernels/").replace(f"{folder}/", "")  # polyml/kernels is a link
    return _TIMES.sub(" # ms", text)


if __name__ == "__main__":
    sys.exit(main())
