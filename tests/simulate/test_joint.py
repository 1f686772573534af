"""Values of nests of several statements: every mapping, in every engine, bit for bit what Python gives in the order of the sums."""

import numpy as np
import pytest

from polyml.simulate import ENGINES
from tests.schedule.joint import JOINT, REORDERED, cholesky, cholesky_by_columns
from tests.simulate.simulating import Simulated, expected, filled

RUNS = [(shape, engine) for engine in ENGINES for shape in ((1, 1), (3, 2), (4,)) if engine == "numpy" or shape == (3, 2)]


def arguments(function):
    """Matrices that solves and factorisations keep small numbers of."""
    args = [a + 12 * np.eye(*a.shape) if isinstance(a, np.ndarray) and a.ndim == 2 else a for a in filled(JOINT[function], np.float64)]
    if function in (cholesky, cholesky_by_columns):
        return [args[0] @ args[0].T]
    return args


@pytest.mark.parametrize("shape, engine", RUNS, ids=str)
@pytest.mark.parametrize("function", JOINT, ids=lambda f: f.__name__)
def test_values_are_exact(function, shape, engine):
    args = arguments(function)
    simulated = Simulated(function, args)
    _, changed = expected(REORDERED.get(function, function), args)
    for plans in simulated.plans(shape):
        simulation, own = simulated.run(args, plans, engine)
        for array, right in zip(own, changed):
            np.testing.assert_array_equal(array, right, err_msg=plans[0].recurrence.text(plans[0].mapping))
        for run, plan in zip(simulation.runs, plans):
            assert run.cycles == plan.folds.cycles
            recurrence, traffic = plan.recurrence, plan.folds.traffic
            assert dict(run.reads) == {recurrence.label(t.stream.use): t.reads for t in traffic if t.stream in recurrence.streams}
            assert run.writes == sum(t.writes for t in traffic)
