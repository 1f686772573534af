"""Arrays with wires along rows and columns, in both engines: bit for bit what Python gives, cycle by cycle what a trace has."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

import polyml
from polyml.systolic.mapping.dataflows import kung_design
from polyml.systolic.program.events import Events, UnitsByCycle
from polyml.systolic.program.fold_program import Broadcast, FoldProgram, Link, Operand
from polyml.systolic.program.program import NestProgram
from polyml.systolic.program.text import listing
from polyml.systolic.recurrences.value_sources import RESULT
from polyml.systolic.simulate import ENGINES
from polyml.systolic.simulate.activity import activity
from polyml.systolic.simulate.llvm.engine import CompiledEngine
from polyml.systolic.simulate.numpy_engine import NumpyEngine
from tests.systolic.designs import (  # fmt: skip
    CALLS,
    NestRun,
    batched,
    channels,
    dot,
    fir,
    layer,
    matmul,
    matvec,
    picture,
    strided,
    syrk,
    triangular,
    zeros,
)
from tests.systolic.joint import fdtd, lu, trisolv, trmm, trsm
from tests.systolic.simulate.simulating import Simulated, filled
from tests.systolic.simulate.sweep import check

SUMS = (matmul, batched, matvec, triangular, syrk, fir, strided, channels, dot)
LARGE = (layer, channels, picture)  # of many mappings
RUNS = [(f, s) for f in CALLS for s in ((1, 1), (3, 2), (4, 4), (16, 16), (5,)) if f not in LARGE or s == (4, 4)]


def wired(plan):
    """Arrays whose elements go along a wire: in no time."""
    return [s.use.array for s in plan.recurrence.streams for d in s.directions if plan.mapping.displacement(d)[0] == 0]


@pytest.mark.sweep("function", long=("layer-(4, 4)", "syrk-(3, 2)", "batched-(3, 2)", "channels-(4, 4)"))
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("function, shape", RUNS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_integers_are_exact(function, shape, engine):
    """Of every mapping, with the closed forms' cycles and traffic."""
    runs, problem = check(function, shape, "broadcast", engine)
    assert runs and not problem


@pytest.mark.sweep()
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("function", [trmm, lu, trsm, trisolv, fdtd], ids=lambda f: f.__name__)
def test_several_statements_are_exact(function, engine):
    runs, problem = check(function, (3, 2), "broadcast", engine)
    assert runs and not problem


@pytest.mark.sweep("function", long=("channels-(3, 2)", "syrk-(3, 2)"))
@pytest.mark.parametrize("shape", [(3, 2), (4, 4), (5,)], ids=str)
@pytest.mark.parametrize("function", SUMS, ids=lambda f: f.__name__)
def test_units_at_work_are_those_of_a_trace(function, shape):
    """In each cycle as many as the closed form of the first fold says, and the programs of all."""
    simulated, links = Simulated(function, CALLS[function]), 0
    for plan, *_ in simulated.plans(shape, "broadcast"):
        run, links = NestRun(function, CALLS[function], plan), links + len(wired(plan))
        every = []
        for fold in sorted(run.folds):
            times = Counter(t for t, _, _ in run.folds[fold])
            every.append([times[t] for t in range(min(times), max(times) + 1)])
        found = list(NestProgram(simulated.interface, plan.folds))
        assert [fold.active.tolist() for fold in found] == every
        assert plan.folds.active == tuple(every[0])
        assert activity(plan).active.sum() == plan.recurrence.instances
    assert links


def test_a_sum_over_a_line_takes_no_time():
    """16 products of a dot product in each cycle, added up from unit to unit."""
    x, y = np.arange(40, dtype=np.int64), np.arange(40, 0, -1, dtype=np.int64)
    simulated = Simulated(dot, (x, y))
    plans = next(p for p in simulated.plans((16,), "broadcast") if wired(p[0]) == ["s"])
    for engine in ENGINES:
        simulation, _ = simulated.run((x, y), plans, engine)
        (run,) = simulation.runs
        assert simulation.result == float(x @ y) and run.cycles == 3
        assert run.active.tolist() == [16, 16, 8] and run.writes == 3


@pytest.mark.parametrize("function", [matmul, fir, triangular, channels], ids=lambda f: f.__name__)
@pytest.mark.sweep(long=("triangular", "channels"))
def test_engines_agree_bit_for_bit_on_floats(function):
    args = [np.random.default_rng(3).standard_normal(a.shape).astype(np.float32) for a in CALLS[function]]
    simulated = Simulated(function, args)
    for shape in ((3, 5), (5,)):
        for plans in simulated.plans(shape, "broadcast"):
            (_, first), (_, second) = (simulated.run(args, plans, engine) for engine in ENGINES)
            for a, b in zip(first, second):
                assert a.tobytes() == b.tobytes()


def test_terms_are_added_up_in_the_order_of_the_source():
    """float32 sums of a line, bit for bit Python's."""
    rng = np.random.default_rng(5)
    A, x, y = (rng.standard_normal(shape).astype(np.float32) for shape in ((6, 13), 13, 6))
    simulated = Simulated(matvec, (A, x, y))
    plans = next(p for p in simulated.plans((16,), "broadcast") if wired(p[0]) == ["y"] and p[0].mapping.space[0][1] > 0)
    wanted = y.copy()
    matvec(A, x, wanted)
    for engine in ENGINES:
        _, (_, _, found) = simulated.run((A, x, y), plans, engine)
        assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.sweep()
def test_an_element_goes_along_a_line_at_once_and_over_links_to_the_next(engine):
    def spread(A, B, C):
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                for k in range(A.shape[1]):
                    C[i, j] += A[i, k] * B[k]

    args = filled((zeros(7, 9), zeros(9), zeros(7, 6)))
    simulated, both = Simulated(spread, args), 0
    for plans in simulated.plans((3, 4), "broadcast"):
        _, (_, _, C) = simulated.run(args, plans, engine)
        np.testing.assert_array_equal(C, args[2] + (args[0] @ args[1])[:, None])
        (stream,) = (s for s in plans[0].recurrence.streams if s.use.array == "B")
        moves = [plans[0].mapping.displacement(d) for d in stream.directions]
        both += any(c == 0 for c, *_ in moves) and any(c and any(links) for c, *links in moves)
    assert both


@pytest.mark.parametrize("engine", [NumpyEngine, CompiledEngine])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (7, 4), (16, 16), (6,)], ids=str)
def test_any_unit_of_a_line_drives_its_wire(shape, engine):
    """Which one changes from cycle to cycle: C[u, v] += a[t, u] * b[t, v], a from some unit of the row, b from one of the column."""
    rows, columns = shape if len(shape) == 2 else (1, *shape)
    cycles, units, chance = 9, rows * columns, np.random.default_rng(7)
    a, b = chance.integers(-9, 10, (cycles, rows)), chance.integers(-9, 10, (cycles, columns))
    across = np.arange(rows) * columns + chance.integers(0, columns, (cycles, rows))
    down = np.arange(columns) + columns * chance.integers(0, rows, (cycles, columns))

    def driven(name, along, drivers):
        places = UnitsByCycle(np.arange(cycles + 1) * drivers.shape[1], drivers.reshape(-1))
        return Operand(None, (), (Events(("initial", name), places, np.arange(drivers.size)),), (Broadcast(along, places),))

    simulated = Simulated(matmul, filled(CALLS[matmul]))
    cells = NestProgram(simulated.interface, next(simulated.plans((3, 2)))[0].folds).datapaths
    program = SimpleNamespace(datapaths=cells, units=units, grid=(rows, columns))
    (name,) = cells
    everywhere = np.arange(units)
    begin, end = (UnitsByCycle(np.where(np.arange(cycles + 1) > t, units, 0), everywhere) for t in (0, cycles - 1))
    sums = Operand(Link((name, RESULT), 1, (0,) * len(shape), 0), (), (Events(("array", "C"), begin, everywhere),))
    operands = {(name, 0): sums, (name, 1): driven("A", 1, across), (name, 2): driven("B", 0, down)}
    stores, used = ((name, Events(("array", "C"), end, everywhere)),), ((0, rows - 1), (0, columns - 1))[-len(shape) :]
    fold = FoldProgram((0, 0), cycles, 0, operands, stores, used, np.full(cycles, units))
    C = np.zeros(units, np.int64)
    memories = {("array", "C"): C, ("initial", "A"): a.reshape(-1), ("initial", "B"): b.reshape(-1)}
    engine(program, {}).run(fold, memories)
    np.testing.assert_array_equal(C.reshape(rows, columns), a.T @ b)


def test_a_listing_names_drivers_and_lines():
    args = filled((zeros(2, 3), zeros(3, 2), zeros(2, 2)))
    simulated = Simulated(matmul, args)
    plan = next(p[0] for p in simulated.plans((2, 2), "broadcast") if p[0].dataflow == "os")
    program = NestProgram(simulated.interface, plan.folds)
    assert plan.recurrence.text(plan.mapping) == "t = k, x = i, y = j"
    lines = listing(program, next(iter(program)), [(0, 1), (1, 1)]).splitlines()
    assert lines == [
        "fold [0, 0]: 3 cycles on 2 x 2 units",
        "every unit, every cycle:",
        "  C[i, j] <- C[i, j] of here, 1 cycle before",
        "  A[i, k] <- what is on the wire of its row",
        "  B[k, j] <- what is on the wire of its column",
        "  C[i, j] <- S0(C[i, j], A[i, k], B[k, j])",
        "unit [0, 1]:",
        "  t = 0: load C[i, j] = C[0, 1]; load B[k, j] = B[0, 1]; put B[k, j] on the wire of its column",
        "  t = 1: load B[k, j] = B[1, 1]; put B[k, j] on the wire of its column",
        "  t = 2: load B[k, j] = B[2, 1]; put B[k, j] on the wire of its column; drain C[0, 1] = S0",
        "unit [1, 1]:",
        "  t = 0: load C[i, j] = C[1, 1]",
        "  t = 2: drain C[1, 1] = S0",
    ]


def test_a_listing_names_sums_along_a_line():
    simulated = Simulated(fir, filled(CALLS[fir]))
    for plans in simulated.plans((4,), "broadcast"):
        plan = plans[0]
        if kung_design(plan.recurrence, plan.mapping) == "F":
            program = NestProgram(simulated.interface, plan.folds)
            lines = listing(program, next(iter(program)), [(0,)]).splitlines()
            assert any(line.startswith("  y[i] <- y[i] of unit [") and line.endswith("], of the same cycle") for line in lines)
            return
    raise AssertionError("no design F")


def test_a_kernel_runs_on_such_an_array():
    def product(A, B):
        C = np.zeros((A.shape[0], B.shape[1]), dtype=A.dtype)
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                for k in range(A.shape[1]):
                    C[i, j] += A[i, k] * B[k, j]
        return C

    A, B = (np.random.default_rng(n).integers(-9, 10, shape) for n, shape in enumerate(((9, 11), (11, 7))))
    kernel = polyml.kernel(product, target=polyml.Target.systolic(4, 4, links="broadcast"), cache=False)
    np.testing.assert_array_equal(kernel(A, B), A @ B)
    for engine in ENGINES:
        found = kernel.simulate(A, B, dataflow="os", engine=engine)
        np.testing.assert_array_equal(found.result, A @ B)
        assert found.cycles == 6 * 11 and wired(found.runs[0].plan)  # blocks of 4 x 4 results, a term of each in a cycle
    compared = kernel.compare(A, B, dataflow="all")
    assert compared.ok and len(compared.trials) > 3
