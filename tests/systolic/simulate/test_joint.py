"""Values of nests of several statements: every mapping, in every engine, bit for bit what Python gives in the order of the sums."""

from collections import defaultdict

import numpy as np
import pytest

from polyml.systolic.mapping.dataflows import plans
from polyml.systolic.simulate import ENGINES
from polyml.systolic.simulate.activity import activity, of_frames
from polyml.systolic.simulate.snapshots import frames
from tests.systolic.designs import nests_of
from tests.systolic.joint import JOINT, REORDERED, Arrivals, cholesky, cholesky_by_columns, fdtd, lu, trsv
from tests.systolic.simulate.simulating import Simulated, expected, filled

RUNS = [(shape, engine) for engine in ENGINES for shape in ((1, 1), (3, 2), (4,)) if engine == "numpy" or shape == (3, 2)]


def arguments(function):
    """Matrices that solves and factorisations keep small numbers of."""
    args = [
        a + 12 * np.eye(*a.shape) if isinstance(a, np.ndarray) and a.ndim == 2 else a for a in filled(JOINT[function], np.float64)
    ]
    if function in (cholesky, cholesky_by_columns):
        return [args[0] @ args[0].T]
    return args


@pytest.mark.sweep(keep=22, long=("fdtd-(3, 2)", "jacobi_3d-(3, 2)"))
@pytest.mark.parametrize("shape, engine", RUNS, ids=str)
@pytest.mark.parametrize("function", JOINT, ids=lambda f: f.__name__)
def test_values_are_exact(function, shape, engine):
    args = arguments(function)
    simulated = Simulated(function, args)
    _, changed = expected(REORDERED.get(function, function), args)
    for chosen in simulated.plans(shape):
        simulation, own = simulated.run(args, chosen, engine)
        for array, right in zip(own, changed):
            np.testing.assert_array_equal(array, right, err_msg=chosen[0].recurrence.text(chosen[0].mapping))
        for run, plan in zip(simulation.runs, chosen):
            assert run.cycles == plan.folds.cycles
            recurrence, traffic = plan.recurrence, plan.folds.traffic
            assert dict(run.reads) == {recurrence.label(t.stream.use): t.reads for t in traffic if t.stream in recurrence.streams}
            assert run.writes == sum(t.writes for t in traffic)


@pytest.mark.sweep(keep=2, long=("fdtd",))
@pytest.mark.parametrize("shape", [(3, 2), (4,)], ids=str)
@pytest.mark.parametrize("function", [cholesky, fdtd, lu, trsv], ids=lambda f: f.__name__)
def test_frames_show_every_statement_with_its_elements(function, shape):
    (*_, nest), sizes = nests_of(function, JOINT[function])
    for plan in plans(nest, sizes, shape)[:3]:
        arrivals, shown = Arrivals(function, JOINT[function], plan), frames(plan)
        assert len(shown.frames) == plan.folds.cycles + plan.folds.drain_cycles
        assert activity(plan).active.tolist() == of_frames(shown).active.tolist()
        expected = defaultdict(dict)
        for number, point in arrivals.points.items():
            (_, values), reads, write = arrivals.trace[number]
            unit = tuple((x - start) % length for x, start, length in zip(arrivals.unit[number], arrivals.starts, shape))
            cells = {f"{name}[{','.join(map(str, index))}]" for name, index in (*reads, write)}
            expected[arrivals.fold[number], arrivals.t[number]][unit] = arrivals.names[number], values, cells
        found = {}
        for frame in (frame for frame in shown.frames if frame.phase == "compute"):
            ran = {unit: cell for unit, cell in frame.pe_states.items() if cell.instance is not None}
            used = {unit: {r.element for r in cell.registers if r.used} for unit, cell in ran.items()}
            if ran:
                found[frame.number, frame.t] = {u: (c.instance.statement, c.instance.values, used[u]) for u, c in ran.items()}
        assert found == expected
        entering = sum(r.enters for frame in shown.frames for cell in frame.pe_states.values() for r in cell.registers)
        assert entering == plan.folds.reads
