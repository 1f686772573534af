"""Values that wires bring on both sides of where they are made: both engines, bit for bit what Python gives."""

from itertools import islice

import numpy as np
import pytest

import polyml
from polyml import polyhedra
from polyml.systolic.mapping.dataflows import plans
from polyml.systolic.simulate import ENGINES
from polyml.systolic.simulate.snapshots import frames
from tests.systolic.designs import nests_of
from tests.systolic.joint import Arrivals, lu
from tests.systolic.simulate.simulating import Simulated, expected, filled
from tests.systolic.wired import WIRED, closure, floyd_warshall, reduced, scaled, spread

MOST_PLANS = 2
RUNS = [(function, (8, 8), "numpy") for function in WIRED]
RUNS += [(function, (3, 4), engine) for engine in ENGINES for function in (floyd_warshall, reduced, spread)]
RUNS += [(floyd_warshall, (2, 7), "numpy"), (floyd_warshall, (5,), "compiled")]
RUNS += [(closure, (32, 32), "compiled"), (scaled, (5, 5), "compiled")]


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


@pytest.mark.sweep("function", long=("floyd_warshall-(3, 4)", "with_weights-(8, 8)"))
@pytest.mark.parametrize("function, shape, engine", RUNS, ids=lambda each: getattr(each, "__name__", str(each)))
def test_values_are_exact(function, shape, engine):
    check(function, filled(WIRED[function]), shape, engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.sweep()
def test_closures_of_booleans(engine):
    check(closure, [np.random.default_rng(1).random((7, 7)) < 0.2], (7, 7), engine)


def test_plans_of_a_report_are_simulated():
    kernel, (P,) = polyml.kernel(floyd_warshall), filled((WIRED[floyd_warshall][0],))
    best = [nest.best for nest in kernel.report(P, target="systolic", array=(6, 6), links="broadcast").nests]
    _, (wanted,) = expected(floyd_warshall, [P])
    assert kernel.simulate(P, plans=best, links="broadcast").cycles == 16
    np.testing.assert_array_equal(P, wanted)


@pytest.mark.parametrize("length", [0, 1, 2])
@pytest.mark.parametrize("function", [closure, lu], ids=lambda f: f.__name__)
def test_nests_without_instances_run(function, length):
    args = [np.ones((length, length), np.int64 if function is closure else np.float64)]
    simulated = Simulated(function, args, "broadcast")
    inside = [nest for nest in simulated.nests if not polyhedra.fix(nest.domain, simulated.sizes).is_empty()]
    chosen = [plans(nest, simulated.sizes, (2, 2), "broadcast")[0] for nest in inside]
    for engine in ENGINES:
        simulation, own = simulated.run(args, chosen, engine)
        np.testing.assert_array_equal(own[0], expected(function, args)[1][0])
        assert simulation.cycles == sum(plan.folds.cycles for plan in chosen)


@pytest.mark.parametrize("shape", [(6, 6), (3, 4)], ids=str)
@pytest.mark.sweep(keep=2, long=("(3, 4)",))
def test_frames_show_wires(shape):
    """Each instance with its elements; on each line at most one element of a read in a cycle, from one unit."""
    (nest,), sizes = nests_of(floyd_warshall, WIRED[floyd_warshall], "broadcast")
    plan = plans(nest, sizes, shape, "broadcast")[0]
    arrivals, shown = Arrivals(floyd_warshall, WIRED[floyd_warshall], plan), frames(plan)
    assert len(shown.frames) == plan.folds.cycles + plan.folds.drain_cycles
    at = {(arrivals.fold[n], arrivals.t[n]): [] for n in arrivals.points}
    for n in arrivals.points:
        unit = tuple((x - start) % length for x, start, length in zip(arrivals.unit[n], arrivals.starts, shape))
        (_, values), reads, _ = arrivals.trace[n]
        at[arrivals.fold[n], arrivals.t[n]].append((unit, values, {f"P[{i},{j}]" for _, (i, j) in reads}))
    wires = 0
    for frame in (frame for frame in shown.frames if frame.phase == "compute"):
        ran = {unit: cell for unit, cell in frame.pe_states.items() if cell.instance is not None}
        found = [(u, c.instance.values, {r.element for r in c.registers if r.used}) for u, c in ran.items()]
        assert sorted(found, key=str) == sorted(at[frame.number, frame.t], key=str)
        driven = {}
        for move in (move for move in frame.moves if move.cycles == 0):
            (along,) = (k for k in (0, 1) if move.source[k] != move.target[k])
            assert driven.setdefault((move.lane, along, move.source[1 - along]), (move.element, move.source))[0] == move.element
            wires += 1
    assert wires
    assert sum(r.enters for frame in shown.frames for cell in frame.pe_states.values() for r in cell.registers) == plan.folds.reads
