"""Every mapping of every kernel of the tests on random arrays:  python -m tests.systolic.simulate.sweep --seconds 600 --seed 0

Units 1 x 1 to 32 x 32 or a row of up to 32, every kind of links, both engines, spans of cycles in blocks of several sizes; values
as Python has them, cycles and traffic as the closed forms. Exit status 1 when one differs.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

import numpy as np

from polyml.machines.descriptions import LINKS
from polyml.systolic.simulate import ENGINES
from polyml.systolic.simulate.llvm import engine as llvm_engine
from polyml.systolic.simulate.llvm import time_blocks
from tests.systolic.designs import CALLS, seidel
from tests.systolic.joint import JOINT, REORDERED
from tests.systolic.simulate.simulating import Simulated, expected, filled
from tests.systolic.simulate.test_joint import arguments


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0].split(":")[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance, end = random.Random(options.seed), time.monotonic() + options.seconds
    calls = runs = wrong = 0
    llvm_engine.LEAST_WORK, llvm_engine.LEAST_SPAN = 0, 1
    while time.monotonic() < end:
        function = chance.choice([*CALLS, *JOINT])
        side = chance.choice((2, 4, 8, 16, 32))
        shape = (chance.randint(1, side), chance.randint(1, side)) if chance.random() < 0.8 else (chance.randint(1, side),)
        links = chance.choice(LINKS)
        time_blocks.LEAST_CYCLES = time_blocks.MOST_CYCLES = chance.choice((1, 3, 8, 64))
        found, message = check(function, shape, links, chance.choice(ENGINES))
        calls, runs = calls + 1, runs + found
        if message:
            wrong += 1
            print(f"{function.__name__} on {shape}, {links} links: {message}", flush=True)
    print(f"{runs} mappings simulated in {calls} calls, {wrong} calls wrong")
    return int(wrong > 0)


def check(function, shape, links: str, engine: str) -> tuple[int, str]:
    """How many mappings ran, and what is wrong with the first one that is, else ""."""
    args = arguments(function) if function in JOINT else filled(CALLS[function], np.float64 if function is seidel else np.int64)
    simulated, runs = Simulated(function, args), 0
    result, changed = expected(REORDERED.get(function, function), args)
    for plans in simulated.plans(shape, links):
        simulation, own = simulated.run(args, plans, engine)
        runs += 1
        mapping = plans[0].recurrence.text(plans[0].mapping)
        if not all(map(np.array_equal, own, changed)) or result is not None and simulation.result != result:
            return runs, f"{mapping}, {engine}: other values"
        for run, plan in zip(simulation.runs, plans):
            recurrence, traffic = plan.recurrence, plan.folds.traffic
            reads = {recurrence.label(t.stream.use): t.reads for t in traffic if t.stream in recurrence.streams}
            if (run.cycles, dict(run.reads), run.writes) != (plan.folds.cycles, reads, sum(t.writes for t in traffic)):
                return runs, f"{mapping}, {engine}: other cycles or traffic"
    return runs, ""


if __name__ == "__main__":
    sys.exit(main())
