"""How many units run an instance in each cycle, against the drawn cycles and the simulations' programs."""

import numpy as np
import pytest

from polyml.systolic.mapping.dataflows import plans
from polyml.systolic.program.program import NestProgram
from polyml.systolic.simulate.activity import activity, of_frames
from polyml.systolic.simulate.snapshots import frames
from tests.systolic.designs import CALLS, matmul, nests_of, zeros
from tests.systolic.simulate.simulating import Simulated

SHAPES = ((3, 2), (4, 4), (5,))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
@pytest.mark.sweep(keep=17)
def test_every_fold_s_units_are_counted(function, shape):
    simulated = Simulated(function, CALLS[function])
    for (plan,) in list(simulated.plans(shape))[::3]:
        found, drawn = activity(plan), of_frames(frames(plan))
        assert found.active.tolist() == drawn.active.tolist() and found.scope_text == drawn.scope_text
        assert [p for p in found.phases if p[1] < p[2]] == [p for p in drawn.phases if p[1] < p[2]]
        assert found.starts == drawn.starts
        every = [
            np.concatenate([np.zeros(fold.preload_cycles), fold.active]) for fold in NestProgram(simulated.interface, plan.folds)
        ]
        assert found.active.tolist() == np.concatenate([*every, np.zeros(plan.folds.drain_cycles)]).tolist()


def test_of_many_instances_the_first_fold_is_counted():
    nests, sizes = nests_of(matmul, (zeros(600, 600),) * 3)
    plan = plans(nests[0], sizes, (256, 256), dataflow="os")[0]
    found = activity(plan)
    assert found.active.max() == 256 * 256 and found.active.sum() == 256 * 256 * 600
    assert len(found.active) == 600 + 255 + 255 and found.scope_text == "the first of 9 folds, from its first instance to its last"
