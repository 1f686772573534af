"""Frames: what each unit runs and has in each cycle, against the source's instances traced one by one, and isl's counts."""

from collections import Counter, defaultdict
from functools import cache

import pytest

from polyml.errors import ConfigError
from polyml.systolic.folding.fold_counts import is_stationary, preloaded
from polyml.systolic.mapping.dataflows import plans
from polyml.systolic.program.program import NestProgram
from polyml.systolic.simulate.snapshots import frames
from tests.systolic.designs import (  # fmt: skip
    CALLS,
    NestRun,
    batched,
    dot,
    fir,
    matmul,
    matvec,
    nests_of,
    strided,
    subsequence,
    syrk,
    triangular,
    zeros,
)
from tests.systolic.joint import JOINT, Arrivals
from tests.systolic.simulate.simulating import Simulated

SHAPES = ((3, 2), (4, 4), (5,))
ARGUMENTS = {**CALLS, **JOINT}
WIRED = (matmul, batched, matvec, triangular, syrk, fir, strided, dot)  # with wires along rows and columns too
CASES = [*((function, "manhattan") for function in ARGUMENTS), *((function, "broadcast") for function in WIRED)]


def named(value):
    return value if isinstance(value, str) else value.__name__


@cache
def drawn(function, shape, links="manhattan"):
    """Of each nest the best mapping of each dataflow, and the last one of all."""
    nests, sizes = nests_of(function, ARGUMENTS[function])
    every = [plans(nest, sizes, shape, links) for nest in nests]
    return [frames(plan) for found in every for plan in (*{p.dataflow: p for p in reversed(found)}.values(), found[-1])]


def best(function, shape, args=None, dataflow="auto"):
    (nest,), sizes = nests_of(function, args)
    return plans(nest, sizes, shape, dataflow=dataflow)[0]


def text(cell):
    name, index = cell
    return f"{name}[{','.join(map(str, index))}]" if index else name


@pytest.mark.sweep(keep=9)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function, links", [*((f, "manhattan") for f in CALLS), *((f, "broadcast") for f in WIRED)], ids=named)
def test_units_run_the_source_s_instances_with_its_elements(function, links, shape):
    for shown in drawn(function, shape, links):
        plan = shown.plan
        run = NestRun(function, CALLS[function], plan)
        assert shown.is_whole
        operands = [number for number, use in enumerate(plan.recurrence.nest.uses) if use.rows or use.kind != "operand"]
        written = len(shown.lanes) > len(plan.recurrence.streams)
        for index, fold in enumerate(sorted(run.folds)):
            cycles = [f for f in shown.frames if f.fold == index and f.phase == "compute"]
            first = min(t for t, _, _ in run.folds[fold])
            expected = {}
            for t, place, number in run.folds[fold]:
                unit = tuple((x - start) % length for x, start, length in zip(place, run.starts, run.shape))
                (_, point), reads, write = run.trace[number]
                cells = {text(reads[k]) for k in operands} | ({text(write)} if written else set())
                expected[t - first, unit] = point, cells
            found = {}
            for step, frame in enumerate(cycles):
                assert frame.t == first + step and frame.number == fold
                for unit, cell in frame.pe_states.items():
                    if cell.instance is not None:
                        found[step, unit] = cell.instance.values, {r.element for r in cell.registers if r.used}
            assert found == expected


@pytest.mark.sweep(keep=6)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function", JOINT, ids=lambda f: f.__name__)
def test_units_run_the_instances_of_several_statements(function, shape):
    for shown in drawn(function, shape):
        run = Arrivals(function, JOINT[function], shown.plan)
        folds = sorted(set(run.fold.values()))
        starts = [min(x) for x in zip(*run.unit.values())]
        expected = {}
        for number, unit in run.unit.items():
            at = tuple((x - start) % length for x, start, length in zip(unit, starts, shown.shape))
            (_, loops), reads, write = run.trace[number]
            wanted = {text(reads[read]) for name, read in run.sources if name == run.names[number]}
            written = {text(write)} if len(shown.lanes) > len(shown.plan.recurrence.streams) else set()
            expected[folds.index(run.fold[number]), run.t[number], at] = run.names[number], loops, wanted | written
        found = {}
        for frame in (f for f in shown.frames if f.phase == "compute"):
            for unit, cell in frame.pe_states.items():
                if cell.instance is not None:
                    used = {r.element for r in cell.registers if r.used}
                    found[frame.fold, frame.t, unit] = cell.instance.statement, cell.instance.values, used
        assert found == expected


@pytest.mark.sweep(keep=9, long=("fdtd",))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function, links", CASES, ids=named)
def test_cycles_and_traffic_are_those_that_isl_counts(function, links, shape):
    for shown in drawn(function, shape, links):
        plan = shown.plan
        assert [f.cycle for f in shown.frames] == list(range(plan.folds.cycles + plan.folds.drain_cycles))
        active = tuple(f.active for f in shown.frames if f.fold == 0 and f.phase == "compute")
        assert active == plan.folds.active
        reads, writes = Counter(), 0
        for frame in (f for f in shown.frames if f.phase != "drain"):
            registers = [r for cell in frame.pe_states.values() for r in cell.registers]
            reads.update(r.lane for r in registers if r.enters)
            writes += sum(r.leaves for r in registers)
        lanes = {id(stream): number for number, stream in enumerate(shown.lanes)}
        for traffic in plan.folds.traffic:
            assert reads[lanes[id(traffic.stream)]] == traffic.reads, traffic
        assert writes == plan.folds.writes


@pytest.mark.sweep(keep=8, long=("triangular-broadcast-(3, 2)",))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function, links", CASES, ids=named)
def test_no_element_appears_from_nowhere(function, links, shape):
    """It entered, stayed, came over links, a link a cycle at most, or along the wire of a line, or is a sum that starts."""
    for shown in drawn(function, shape, links):
        for before, frame in zip((None, *shown.frames), shown.frames):
            arrived, had = defaultdict(set), {}
            if before is not None and before.fold == frame.fold:
                for move in before.moves:
                    if move.step == move.cycles - 1:
                        arrived[move.target].add(move.element)
                    assert move.cycles == 0 or sum(abs(a - b) for a, b in zip(move.source, move.target)) <= move.cycles
                had = {unit: {r.element for r in cell.registers} for unit, cell in before.pe_states.items()}
            entering = {(unit, r.element) for unit, cell in frame.pe_states.items() for r in cell.registers if r.enters}
            for move in wired_from(
                entering | {(unit, e) for where in (arrived, had) for unit, held in where.items() for e in held}, frame
            ):
                assert sum(a != b for a, b in zip(move.source, move.target)) == 1
                arrived[move.target].add(move.element)
            for unit, cell in frame.pe_states.items():
                for register in cell.registers:
                    known = register.element in arrived[unit] | had.get(unit, set())
                    made = shown.lanes[register.lane].use.kind == "result"
                    assert known or register.enters or made, (frame.cycle, unit, register)


def wired_from(held, frame):
    """Moves that take no time, each after the one that brings its element."""
    waiting = [move for move in frame.moves if not move.cycles]
    while ready := [move for move in waiting if (move.source, move.element) in held]:
        held |= {(move.target, move.element) for move in ready}
        waiting = [move for move in waiting if move not in ready]
        yield from ready


@pytest.mark.sweep(keep=9)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function, links", CASES, ids=named)
def test_moves_begin_with_the_element_and_end_with_it(function, links, shape):
    for shown in drawn(function, shape, links):
        at = {(f.fold, f.t): f for f in shown.frames if f.phase == "compute"}
        for (fold, t), frame in at.items():
            for move in frame.moves:
                start, end = at[fold, t - move.step], at[fold, t - move.step + move.cycles]
                assert move.element in {r.element for r in start.pe_states[move.source].registers if r.used}
                assert used_by(end, move) == move.element


def used_by(frame, move):
    (found,) = (r.element for r in frame.pe_states[move.target].registers if r.lane == move.lane and r.used)
    return found


@pytest.mark.sweep("function")
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_units_run_and_load_what_the_simulated_ones_do(function, shape):
    """By cycle how many; by fold and lane what comes from memory."""
    simulated = Simulated(function, CALLS[function])
    for plan in next(simulated.plans(shape)):
        shown, program = frames(plan), NestProgram(simulated.interface, plan.folds)
        for index, fold in enumerate(program):
            mine = [f for f in shown.frames if f.fold == index and f.phase == "compute"]
            assert len(mine) == fold.cycles
            assert [frame.active for frame in mine] == list(fold.active)
            cells = [cell for f in shown.frames if f.fold == index for cell in f.pe_states.values()]
            entered = Counter(r.lane for cell in cells for r in cell.registers if r.enters)
            for lane, register in enumerate(program.streams):
                if not program.is_sum(register) or plan.recurrence.nest.starts_from_arrays:
                    assert entered[lane] == fold.loaded(register)


def test_a_product_s_operands_wait_skewed():
    """A[i, k] enters at t = i + k, B[k, j] at t = j + k."""
    plan = best(matmul, (3, 3), (zeros(3, 3), zeros(3, 3), zeros(3, 3)), "os")
    assert plan.recurrence.text(plan.mapping) == "t = i + j + k, x = i, y = j"
    for frame in (f for f in frames(plan).frames if f.phase == "compute"):
        rows = {(o.element, o.unit, o.cycles) for o in frame.outside if o.signs == (0, 1)}
        assert rows == {(f"A[{i},{k}]", (i, 0), frame.t - i - k) for i in range(3) for k in range(3) if i + k > frame.t}
        columns = {(o.element, o.unit, o.cycles) for o in frame.outside if o.signs == (1, 0)}
        assert columns == {(f"B[{k},{j}]", (0, j), frame.t - j - k) for j in range(3) for k in range(3) if j + k > frame.t}


def test_weights_are_shifted_in_by_rows_before_a_fold():
    plan = best(matmul, (3, 2), (zeros(4, 3), zeros(3, 2), zeros(4, 2)), "ws")
    assert plan.recurrence.text(plan.mapping).endswith("x = k, y = j")
    first, second, third, *others = frames(plan).frames

    def has(frame):
        return {unit: [r.element for r in cell.registers] for unit, cell in frame.pe_states.items()}

    assert has(first) == {(0, 0): ["B[2,0]"], (0, 1): ["B[2,1]"]}
    assert has(second) == {(0, 0): ["B[1,0]"], (0, 1): ["B[1,1]"], (1, 0): ["B[2,0]"], (1, 1): ["B[2,1]"]}
    assert has(third) == {(k, j): [f"B[{k},{j}]"] for k in range(3) for j in range(2)}
    assert [f.phase for f in (first, second, third, others[0])] == ["preload"] * 3 + ["compute"]
    for frame in others:
        for (k, j), cell in frame.pe_states.items():
            assert f"B[{k},{j}]" in {r.element for r in cell.registers}
        assert len(frame.pe_states) == 6


def test_results_that_stay_are_shifted_out_after_the_last_fold():
    plan = best(matmul, (2, 2), (zeros(2, 3), zeros(3, 2), zeros(2, 2)), "os")
    drained = [f for f in frames(plan).frames if f.phase == "drain"]
    left = [{r.element for cell in f.pe_states.values() for r in cell.registers if r.leaves} for f in drained]
    assert left == [{"C[1,0]", "C[1,1]"}, {"C[0,0]", "C[0,1]"}]


def test_an_element_of_two_cycles_is_between_units_for_one():
    """Kung's W2: x moves a unit in two cycles."""
    plan = best(fir, (4,), dataflow="ws")
    slow = [m for f in frames(plan).frames for m in f.moves if m.cycles == 2]
    assert slow and Counter(m.step for m in slow)[0] == Counter(m.step for m in slow)[1]
    assert {m.element[0] for m in slow} == {"x"}


def test_elements_that_are_used_once_come_to_each_unit_of_a_row():
    plan = best(matvec, (4,), (zeros(4, 3), zeros(3), zeros(4)))
    frame = frames(plan).frames[0]
    assert {(o.element, o.unit) for o in frame.outside if o.signs == (0,) and o.cycles < 0} >= {("A[0,1]", (0,)), ("A[1,0]", (1,))}


def test_values_enter_at_the_border_alone():
    plan = best(subsequence, (8, 8), (zeros(6, 6), zeros(6), zeros(6)))
    registers = [r for f in frames(plan).frames for cell in f.pe_states.values() for r in cell.registers if r.enters]
    border = {f"D[{i},{j}]" for i in range(6) for j in range(6) if 0 in (i, j)}
    assert {r.element for r in registers if r.element[0] == "D"} == border


def test_folds_that_are_not_asked_for_are_left_out():
    plan = best(triangular, (3, 2))
    assert plan.folds.number > 2
    shown = frames(plan, 2)
    assert not shown.is_whole and {f.fold for f in shown.frames} == {0, 1} and {f.phase for f in shown.frames} == {"compute"}
    assert shown.frames == frames(plan).frames[: len(shown.frames)]


def test_what_is_large_is_refused_with_the_numbers():
    plan = best(matmul, (64, 64), (zeros(64, 64), zeros(64, 64), zeros(64, 64)), "os")
    with pytest.raises(ConfigError) as refused:
        frames(plan)
    assert str(refused.value) == (
        "error: S0 is too large to draw: 64 x 64 units with 3 elements each in 190 cycles are 2,334,720, of 65,536 at most\n"
        "  note: expected smaller sizes of the arrays, or a smaller array of units"
    )


def test_stationary_lanes_stay():
    plan = best(matmul, (4, 4), dataflow="is")
    (stationary,) = preloaded(plan.recurrence, plan.mapping)
    assert is_stationary(plan.mapping, stationary)
    lane = frames(plan).lanes.index(stationary)
    assert not any(m.lane == lane for f in frames(plan).frames for m in f.moves if f.phase == "compute")
