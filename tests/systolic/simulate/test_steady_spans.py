"""Spans of cycles in blocks: the same values, bit for bit; and which cycles they are, from events listed one by one."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from polyml import config
from polyml.systolic.program.events import Events
from polyml.systolic.program.program import NestProgram
from polyml.systolic.simulate.llvm import engine as llvm_engine
from polyml.systolic.simulate.llvm import time_blocks
from polyml.systolic.simulate.steady_spans import as_pair, grid_of, spans
from tests.systolic.designs import CALLS, batched, channels, matmul, seidel
from tests.systolic.simulate.simulating import Simulated, expected, filled
from tests.systolic.simulate.test_types import of_bytes, of_halves, product


@pytest.fixture(params=[4], ids="blocks of {}".format)
def in_blocks(request, monkeypatch):
    """Spans of any length, in blocks of so many cycles, which a test may set; gives the spans that ran."""
    ran, run = [], time_blocks.TimeBlocks.run

    def counted(self, fold, shape, memories, span, planes):
        ran.append(span)
        run(self, fold, shape, memories, span, planes)

    monkeypatch.setattr(llvm_engine, "LEAST_WORK", 0)
    monkeypatch.setattr(llvm_engine, "LEAST_SPAN", 1)
    monkeypatch.setattr(time_blocks, "LEAST_CYCLES", request.param)
    monkeypatch.setattr(time_blocks, "MOST_CYCLES", request.param)
    monkeypatch.setattr(time_blocks.TimeBlocks, "run", counted)
    return ran


@pytest.mark.sweep(keep=6)
@pytest.mark.parametrize("shape", [(3, 2), (5,)], ids=str)
@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_values_are_exact(function, shape, in_blocks):
    args = filled(CALLS[function], np.float64 if function is seidel else np.int64)
    simulated = Simulated(function, args)
    result, changed = expected(function, args)
    for plans in simulated.plans(shape):
        simulation, register = simulated.run(args, plans, "compiled")
        for array, right in zip(register, changed):
            np.testing.assert_array_equal(array, right, err_msg=plans[0].recurrence.text(plans[0].mapping))
        assert simulation.result == result or result is None


def arrays(kind, total, shape=(23, 41, 19)):
    rng = np.random.default_rng(3)
    rows, depth, columns = shape
    A, B = (rng.integers(-99, 100, size) for size in ((rows, depth), (depth, columns)))
    if kind != np.int8:
        A, B = A / 7, B / 11
    return [A.astype(kind), B.astype(kind), np.zeros((rows, columns), total)]


KINDS = [(of_bytes, np.int8, np.int32), (of_halves, ml_dtypes.bfloat16, np.float32), (product, np.float32, np.float32)]


@pytest.mark.sweep(keep=2)
@pytest.mark.parametrize("threads, in_blocks", [(1, 1), (1, 16), (3, 4)], indirect=["in_blocks"])
@pytest.mark.parametrize("shape", [(4, 6), (9, 70)], ids=str)
@pytest.mark.parametrize("function, kind, total", KINDS, ids=["i8", "bf16", "f32"])
def test_engines_agree_bit_for_bit(function, kind, total, shape, threads, in_blocks, monkeypatch):
    """Also on parts of the array, in folds that go on with sums of others, in strips of several vectors and on threads."""
    monkeypatch.setattr(time_blocks, "PARALLEL_WORK", 0)
    args = arrays(kind, total)
    simulated = Simulated(function, args)
    with config.scope(threads=threads):
        for plans in simulated.plans(shape):
            found = [simulated.run(args, plans, engine)[1][2] for engine in ("compiled", "numpy")]
            np.testing.assert_array_equal(*found, err_msg=plans[0].recurrence.text(plans[0].mapping))
    assert in_blocks


def test_values_that_move_diagonally_agree(in_blocks):
    args = arrays(np.int8, np.int32, (7, 30, 8))
    simulated = Simulated(of_bytes, args)
    for plans in list(simulated.plans((4, 6), links="diagonal"))[::4]:
        _, (_, _, C) = simulated.run(args, plans, "compiled")
        np.testing.assert_array_equal(C, args[0].astype(np.int64) @ args[1], err_msg=plans[0].recurrence.text(plans[0].mapping))
    assert in_blocks


@pytest.mark.sweep(keep=0)
def test_sums_that_share_no_element_with_those_of_the_next_row_agree(in_blocks):
    """All of a sum's operands move along other lines than the sums beside it: rows run one by one."""
    args = filled(CALLS[channels], np.int64)
    simulated = Simulated(channels, args)
    mapping = "t = o + i + 3*c + k, x = i + 3*c + k, y = o - i"
    (plans,) = (p for p in simulated.plans((3, 8), "diagonal") if p[0].recurrence.text(p[0].mapping) == mapping)
    _, register = simulated.run(args, plans, "compiled")
    for array, right in zip(register, expected(channels, args)[1]):
        np.testing.assert_array_equal(array, right)
    assert in_blocks


def test_arrays_with_wires_run_cycle_by_cycle(in_blocks):
    args = arrays(np.int8, np.int32, (5, 30, 7))
    simulated, wired = Simulated(of_bytes, args), 0
    for plans in simulated.plans((4, 6), links="broadcast"):
        in_blocks.clear()
        _, (_, _, C) = simulated.run(args, plans, "compiled")
        np.testing.assert_array_equal(C, args[0].astype(np.int64) @ args[1], err_msg=plans[0].recurrence.text(plans[0].mapping))
        operands = next(iter(NestProgram(simulated.interface, plans[0].folds))).operands.values()
        if any(operand.broadcasts or any(link.cycles == 0 for link in operand.links) for operand in operands):
            wired += 1
            assert not in_blocks
    assert wired


@pytest.mark.parametrize("dataflow", ["os", "ws", "is"])
def test_products_run_in_blocks_but_for_the_ends(dataflow, in_blocks):
    """What stays in the units comes, and goes, unit by unit: of rows + columns - 1 cycles each."""
    args = arrays(np.int8, np.int32, (40, 40, 40))
    simulated = Simulated(of_bytes, args)
    plans = next(p for p in simulated.plans((5, 4), dataflow=dataflow) if len(p[0].folds.shape) == 2)
    simulation, _ = simulated.run(args, plans, "compiled")
    ends = 5 + 4 - 1
    folds = plans[0].folds.number
    inside = sum(end - first for first, end in in_blocks)
    assert inside >= simulation.cycles - folds * (2 * ends + 5)  # rows into which what stays is shifted


def fold_programs(function, shape, links):
    args = filled(CALLS[function], np.int64)
    simulated = Simulated(function, args)
    for plan, *_ in simulated.plans(shape, links):
        yield from NestProgram(simulated.interface, plan.folds)


@pytest.mark.sweep(long=("batched",))
@pytest.mark.parametrize("shape", [(3, 2), (4, 4)], ids=str)
@pytest.mark.parametrize("function", [matmul, batched], ids=lambda f: f.__name__)
def test_in_spans_elements_come_and_go_at_the_edge(function, shape):
    """As events listed one by one say; and where all events are runs, such cycles are in spans."""
    found = 0
    for program in itertools.islice(fold_programs(function, shape, "diagonal"), 0, None, 3):
        if grid_of(program, shape, {name for name, _ in program.operands}) is None:
            continue
        quiet = [_is_quiet(program, shape, cycle) for cycle in range(program.cycles)]
        inside = [False] * program.cycles
        for first, end in spans(program, shape, 1):
            inside[first:end] = [True] * (end - first)
            found += 1
        assert all(itertools.compress(quiet, inside))
        uniform = all(not isinstance(e, Events) for o in program.operands.values() for e in o.loads)
        assert not uniform or inside == quiet
    assert found or function is not matmul


def _is_quiet(program, shape, cycle):
    """Whether units that get elements have them from outside of the used ones, and those that give them away hand them on there."""
    used = as_pair(program.used, (0, 0))
    _, columns = as_pair(shape, 1)

    def outside(events, steps, sign):
        places = events.listed().units_by_cycle
        units = places.units[places.starts[cycle] : places.starts[cycle + 1]].tolist()
        beyond = [
            {axis for axis, x in enumerate(divmod(unit, columns)) if _is_beyond(x, sign * steps[axis], used[axis])}
            for unit in units
        ]
        return not units or bool(set.intersection(*beyond))

    links = {register: as_pair(operand.link.steps, 0) for register, operand in program.operands.items()}
    loads = all(outside(load, links[register], -1) for register, operand in program.operands.items() for load in operand.loads)
    sums = {register[0]: links[register] for register, operand in program.operands.items() if operand.link.source != register}
    return loads and all(outside(store, sums[name], 1) for name, store in program.stores)


def _is_beyond(x, step, bounds):
    return step != 0 and not bounds[0] <= x + step <= bounds[1]
