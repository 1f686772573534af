"""All programs in the emulator, each compared with an oracle that shares no code with it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import chain

from polyml import kernels
from polyml.kernels.arrays import workloads
from tests.cuda.emulator.driver import Emulator, emulated
from tests.cuda.emulator.faults import FaultsFound
from tests.cuda.emulator.launches import Run
from tests.fuzz.check import check
from tests.fuzz.generate import program
from tests.opencl.programs import Outcome, array_programs, polybench


def emulate(only: str, seeds: Iterable[int], run: Run, template: str = "") -> int:
    """Prints the programs that are wrong or not run, and returns 1 where one is wrong.

    only: a part of the names of the kernels and array programs. seeds: of random programs, of this template where one is given.
    """
    start, wrong, refused, total = time.monotonic(), 0, 0, 0
    for outcome in outcomes(only, seeds, run, template):
        total += 1
        wrong += bool(outcome.problem)
        refused += bool(outcome.refused)
        if outcome.problem or outcome.refused:
            print(f"{outcome.name}: {outcome.problem or f'not run: {outcome.refused}'}", flush=True)
    print(f"{total} programs in the emulator in {time.monotonic() - start:.0f} s: {wrong} wrong, {refused} not run")
    return 1 if wrong else 0


def outcomes(only: str = "", seeds: Iterable[int] = (), run: Run = Run(), template: str = "") -> Iterator[Outcome]:
    """Yields the outcomes of PolyBench's kernels in loops, of array programs and of random programs."""
    loops = ((name, polybench, name) for name in kernels.NAMES if only in name)
    arrays = ((f"arrays {name}", array_programs, name) for name in workloads() if only in name)
    for shown, programs, name in chain(loops, arrays):
        with emulated(Emulator(run)):
            try:
                (outcome,) = programs((name,), target="cuda")
                yield Outcome(shown, outcome.problem, outcome.refused)
            except FaultsFound as found:
                yield Outcome(shown, str(found))
    for seed in seeds:
        with emulated(Emulator(run)):
            yield _random(seed, template)


def _random(seed: int, template: str) -> Outcome:
    try:
        outcome = check(program(seed, template), ["interpret", *(["cuda-teams"] if template else ["cuda", "cuda-tf32"])])
    except FaultsFound as found:
        return Outcome(f"random {seed}", str(found))
    reason = outcome.detail or outcome.reason
    return Outcome(f"random {seed}", reason if outcome.kind == "failed" else "", reason if outcome.kind == "refused" else "")
