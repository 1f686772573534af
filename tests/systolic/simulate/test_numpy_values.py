"""Values of kernels on arrays: every mapping, on arrays of many shapes, in every engine, bit for bit what Python gives."""

import numpy as np
import pytest

from polyml.systolic.simulate import ENGINES
from tests.systolic.designs import CALLS, seidel
from tests.systolic.simulate.simulating import Simulated, expected, filled

SHAPES = ((1, 1), (3, 2), (4, 4), (16, 16), (5,))


@pytest.mark.sweep("function", long=("layer-(1, 1)", "picture-(4, 4)"))
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_integers_are_exact(function, shape, engine):
    args = filled(CALLS[function], np.float64 if function is seidel else np.int64)
    simulated = Simulated(function, args)
    result, changed = expected(function, args)
    for plans in simulated.plans(shape):
        simulation, own = simulated.run(args, plans, engine)
        for array, right in zip(own, changed):
            np.testing.assert_array_equal(array, right, err_msg=plans[0].recurrence.text(plans[0].mapping))
        assert simulation.result == result or result is None
        for run, plan in zip(simulation.runs, plans):
            assert run.cycles == plan.folds.cycles
            traffic = plan.folds.traffic
            assert dict(run.reads) == {t.stream.use.text: t.reads for t in traffic if t.stream in plan.recurrence.streams}
            assert run.writes == sum(t.writes for t in traffic)
