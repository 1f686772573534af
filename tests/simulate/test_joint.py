"""Values of nests of several statements: triangular solves, factorisations, stencils, tables of dynamic programming."""

import numpy as np
import pytest

from polyml.simulate import ENGINES
from tests.schedule.joint import JOINT
from tests.simulate.simulating import Simulated, expected

SHAPES = ((1, 1), (3, 2), (4, 4), (16, 16), (5,))


def arguments(function):
    """Symmetric matrices with great diagonals, so that solves and roots exist."""
    rng, found = np.random.default_rng(2), []
    for arg in JOINT[function]:
        if isinstance(arg, np.ndarray):
            arg = rng.random(arg.shape) + 0.5
            if arg.ndim == 2 and arg.shape[0] == arg.shape[1]:
                arg = arg + arg.T + 4 * len(arg) * np.eye(len(arg))
        found.append(arg)
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function", JOINT, ids=lambda f: f.__name__)
def test_values_are_python_s(function, shape, engine):
    args = arguments(function)
    simulated = Simulated(function, args)
    _, changed = expected(function, args)
    for plans in simulated.plans(shape):
        simulation, own = simulated.run(args, plans, engine)
        for array, right in zip(own, changed):
            np.testing.assert_allclose(array, right, rtol=1e-12, err_msg=plans[0].recurrence.text(plans[0].mapping))
        for run, plan in zip(simulation.runs, plans):
            assert run.cycles == plan.folds.cycles
            traffic = plan.folds.traffic
            label = plan.recurrence.label
            assert dict(run.reads) == {label(t.stream.use): t.reads for t in traffic if t.stream in plan.recurrence.streams}
            assert run.writes == sum(t.writes for t in traffic)
