"""Values that wires bring on both sides of where they are made: both engines, bit for bit what Python gives."""

import numpy as np
import pytest

from polyml.simulate import ENGINES
from tests.schedule.wired import WIRED, closure
from tests.simulate.simulating import Simulated, expected, filled


def check(function, args, shape, engine):
    simulated = Simulated(function, args, "broadcast")
    _, changed = expected(function, args)
    for chosen in simulated.plans(shape, "broadcast"):
        simulation, own = simulated.run(args, chosen, engine)
        for array, right in zip(own, changed):
            np.testing.assert_array_equal(array, right, err_msg=chosen[0].recurrence.text(chosen[0].mapping))
        for run, plan in zip(simulation.runs, chosen):
            assert run.cycles == plan.folds.cycles
            recurrence, traffic = plan.recurrence, plan.folds.traffic
            assert dict(run.reads) == {recurrence.label(t.stream.use): t.reads for t in traffic if t.stream in recurrence.streams}
            assert run.writes == sum(t.writes for t in traffic)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", [(8, 8), (3, 4), (2, 7), (1, 1)], ids=str)
@pytest.mark.parametrize("function", WIRED, ids=lambda f: f.__name__)
def test_values_are_exact(function, shape, engine):
    check(function, filled(WIRED[function]), shape, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_closures_of_booleans(engine):
    check(closure, [np.random.default_rng(1).random((7, 7)) < 0.2], (7, 7), engine)
