"""Values that wires bring on both sides of where they are made: both engines, bit for bit what Python gives."""

from itertools import islice

import numpy as np
import pytest

from polyml.simulate import ENGINES
from tests.schedule.wired import WIRED, closure, floyd_warshall
from tests.simulate.simulating import Simulated, expected, filled

MOST_PLANS = 2
RUNS = [(function, shape, engine) for engine in ENGINES for function in WIRED for shape in ((8, 8), (3, 4))]
RUNS += [(floyd_warshall, shape, "numpy") for shape in ((1, 1), (2, 7), (5,), (32, 32))]


def check(function, args, shape, engine):
    simulated = Simulated(function, args, "broadcast")
    _, changed = expected(function, args)
    for chosen in islice(simulated.plans(shape, "broadcast"), MOST_PLANS):
        simulation, own = simulated.run(args, chosen, engine)
        for array, right in zip(own, changed):
            np.testing.assert_array_equal(array, right, err_msg=chosen[0].recurrence.text(chosen[0].mapping))
        for run, plan in zip(simulation.runs, chosen):
            assert run.cycles == plan.folds.cycles
            recurrence, traffic = plan.recurrence, plan.folds.traffic
            assert dict(run.reads) == {recurrence.label(t.stream.use): t.reads for t in traffic if t.stream in recurrence.streams}
            assert run.writes == sum(t.writes for t in traffic)


@pytest.mark.parametrize("function, shape, engine", RUNS, ids=lambda each: getattr(each, "__name__", str(each)))
def test_values_are_exact(function, shape, engine):
    check(function, filled(WIRED[function]), shape, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_closures_of_booleans(engine):
    check(closure, [np.random.default_rng(1).random((7, 7)) < 0.2], (7, 7), engine)
