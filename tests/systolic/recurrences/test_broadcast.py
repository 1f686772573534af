"""Wires along rows and columns: what is legal, with a witness where it is not; all mappings; the designs that Kung names."""

from collections import defaultdict
from itertools import combinations, product

import islpy as isl
import numpy as np
import pytest

from polyml.errors import IllegalSchedule
from polyml.systolic.folding.fold_counts import is_stationary
from polyml.systolic.mapping.dataflows import kung_design, plans
from polyml.systolic.mapping.legality import check
from polyml.systolic.mapping.proof import prove
from polyml.systolic.mapping.ranking import stream_ports
from polyml.systolic.mapping.search import MappingSearch, mappings
from polyml.systolic.recurrences.layouts import layouts
from polyml.systolic.recurrences.spacetime import Direction, SpaceTime
from tests.systolic.designs import (  # fmt: skip
    CALLS,
    NestRun,
    batched,
    dot,
    fir,
    layer,
    matmul,
    matvec,
    nests_of,
    picture,
    seidel,
    strided,
    subsequence,
    syrk,
    triangular,
    zeros,
)
from tests.systolic.mapping.test_ranking import unit
from tests.systolic.report.test_report import gemm, reported

SUMS = (matmul, batched, matvec, triangular, syrk, fir, strided, picture, layer, dot)
DOMAIN = "[K] -> { S[i, j, k] : 0 <= i, j < 4 and 0 <= k < K }"


def order(places):
    return isl.UnionMap(f"{{ S[i, j, k] -> [{places}] }}").intersect_domain(isl.UnionSet(DOMAIN))


def along(step, links="broadcast", places="k, i, j"):
    pairs = (
        isl.UnionMap(f"{{ S[i, j, k] -> S[{step}] }}").intersect_domain(isl.UnionSet(DOMAIN)).intersect_range(isl.UnionSet(DOMAIN))
    )
    check(order(places), pairs, links, what="A[i, k]")


def refused(*args):
    with pytest.raises(IllegalSchedule) as problem:
        along(*args)
    return problem.value.message, problem.value.notes[0]


def test_an_operand_reaches_a_row_at_once():
    along("i, j + 1, k")
    along("i, j + 3, k")
    along("i + 1, j, k")
    assert refused("i, j + 1, k", "manhattan")[0] == "S[0, 1, 0] must run after S[0, 0, 0], with K = 1"


def test_no_wire_goes_to_another_row_and_column():
    message, note = refused("i + 1, j + 1, k")
    assert message == "no wire goes from S[0, 0, 0] to S[1, 1, 0], which run in one cycle in no row or column, with K = 1"
    assert note == "dependence through A[i, k], broadcast links"


def test_nothing_comes_before_it_is_there():
    assert refused("i, j, k - 1")[0] == "S[0, 0, 0] must not run before S[0, 0, 1], with K = 2"


def test_what_takes_time_takes_links():
    along("i, j + 1, k + 1")
    assert refused("i, j + 2, k + 1")[0] == "a value cannot come from S[0, 0, 0] to S[0, 2, 1] in time, with K = 2"


def test_an_array_of_one_dimension_is_a_row():
    points = isl.UnionSet("{ S[i, k] : 0 <= i < 4 and 0 <= k < 5 }")
    pairs = isl.UnionMap("{ S[i, k] -> S[i + 1, k - 1] }").intersect_domain(points).intersect_range(points)
    check(isl.UnionMap("{ S[i, k] -> [i + k, k] }").intersect_domain(points), pairs, "broadcast")


def test_an_element_goes_along_a_row_or_a_column_but_not_both():
    """B[k] of every C[i, j] reaches a row in a cycle, or a column."""

    def spread(A, B, C):
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                for k in range(A.shape[1]):
                    C[i, j] += A[i, k] * B[k]

    (nest,), sizes = nests_of(spread, (zeros(3, 4), zeros(4), zeros(3, 5)))
    recurrence = next(r for r in layouts(nest, sizes, 2) if len(r.axes) == 3)
    with pytest.raises(IllegalSchedule) as problem:
        prove(recurrence, SpaceTime((0, 0, 1), ((1, 0, 0), (0, 1, 0))), "broadcast")
    assert problem.value.message == "no wire goes from S0[1, 1, 0] to S0[0, 0, 0], which run in one cycle in no row or column"
    assert problem.value.notes[0] == "dependence through B[k], broadcast links"
    prove(recurrence, SpaceTime((1, 0, 1), ((1, 0, 0), (0, 1, 0))), "broadcast")


def test_values_of_the_nest_take_their_time():
    for function in (subsequence, seidel):
        (nest,), sizes = nests_of(function)
        found = {(p.recurrence.text(p.mapping), p.folds.cycles) for p in plans(nest, sizes, (16, 16), "broadcast")}
        plain = {(p.recurrence.text(p.mapping), p.folds.cycles) for p in plans(nest, sizes, (16, 16))}
        assert found and (function is seidel or found == plain)
        for plan in plans(nest, sizes, (16, 16), "broadcast"):
            NestRun(function, CALLS[function], plan).check()


@pytest.mark.parametrize("function", SUMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(3, 2), (5,)], ids=str)
@pytest.mark.sweep(keep=4)
def test_every_plan_is_what_its_instances_do(function, shape):
    """In one cycle an element is used along one row or column; from one such cycle to a later one it comes over links."""
    (nest,), sizes = nests_of(function)
    for plan in plans(nest, sizes, shape, "broadcast"):
        run = NestRun(function, CALLS[function], plan)
        classes = [(c.instances, c.units, c.compute_cycles) for c in plan.folds.classes for _ in range(c.number)]
        assert sorted(classes) == run.classes()
        if any(len(axis.loops) > 1 for axis in plan.recurrence.axes):
            continue
        cells = {
            number: (lambda n, number=number: run.trace[n][1][number])
            for number, use in enumerate(nest.uses)
            if use.kind == "operand" and use.rows
        }
        cells["result"] = lambda n: run.trace[n][2]
        for instances in run.folds.values():
            assert len({(t, place) for t, place, _ in instances}) == len(instances)
            for cell in cells.values():
                check_walks(instances, cell)


def check_walks(instances, cell):
    walks = defaultdict(lambda: defaultdict(set))
    for t, place, number in instances:
        walks[cell(number)][t].add(place)
    for walk in walks.values():
        for units in walk.values():
            assert sum(len(set(coordinates)) > 1 for coordinates in zip(*units)) <= 1
        times = sorted(walk)
        for t, later in zip(times, times[1:]):
            apart = (sum(abs(a - b) for a, b in zip(here, there)) for here, there in product(walk[t], walk[later]))
            assert min(apart) <= later - t


PRODUCT = tuple(Direction(v, True) for v in ((0, 1, 0), (1, 0, 0), (0, 0, 1)))


def test_products_are_all_mappings_one_by_one():
    """Of every time and place with coefficients up to one: legal, dense, and of the least cycles along all three directions."""

    def canonical(time, space):
        ways = []
        for flips in product((1, -1), repeat=3):
            rows = [tuple(f * v for f, v in zip(flips, row)) for row in (time, *space)]
            for sign in (1, -1):
                t = tuple(sign * v for v in rows[0])
                ways.append((t, *sorted(max(row, tuple(-v for v in row)) for row in rows[1:])))
        return max(ways)

    vectors = list(product((-1, 0, 1), repeat=3))
    legal = defaultdict(set)
    for time in vectors:
        for space in combinations(vectors, 2):
            if abs(round(np.linalg.det([time, *space]))) != 1:
                continue
            steps = [(abs(c), abs(x), abs(y)) for c, x, y in zip(time, *space)]
            if all(x + y <= c if c else bool(x) != bool(y) for c, x, y in steps):
                legal[tuple(c for c, _, _ in steps)].add(canonical(time, space))
    least = [c for c in legal if not any(o != c and all(a <= b for a, b in zip(o, c)) for o in legal)]
    assert sorted(least) == [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    found = mappings(MappingSearch(3, PRODUCT, 2, "broadcast", reversible_axes=(0, 1, 2)))
    assert {canonical(m.time, m.space) for m in found} == {each for c in least for each in legal[c]}
    assert len(found) == len({canonical(m.time, m.space) for m in found})


def test_convolutions_are_kung_s_semi_systolic_designs():
    """B1: inputs broadcast, results move, weights stay; B2: inputs broadcast, weights move, results stay; F: results fanned in, inputs
    move, weights stay.
    """
    (nest,), sizes = nests_of(fir)
    found = {kung_design(p.recurrence, p.mapping): p for p in plans(nest, sizes, (5,), "broadcast")}
    assert {"B1", "B2", "F"} <= found.keys()
    moves = {}
    for name in ("B1", "B2", "F"):
        recurrence, mapping = found[name].recurrence, found[name].mapping
        by_array = {s.use.array: (is_stationary(mapping, s), mapping.displacement(s.directions[0])) for s in recurrence.streams}
        moves[name] = {a: "stays" if still else "broadcast" if way[0] == 0 else "moves" for a, (still, way) in by_array.items()}
    assert moves["B1"] == {"x": "broadcast", "y": "moves", "h": "stays"}
    assert moves["B2"] == {"x": "broadcast", "h": "moves", "y": "stays"}
    assert moves["F"] == {"y": "broadcast", "x": "moves", "h": "stays"}


@pytest.mark.parametrize("shape", [(3, 2), (5,)], ids=str)
@pytest.mark.parametrize("function", (matmul, fir, triangular, matvec), ids=lambda f: f.__name__)
@pytest.mark.sweep(keep=3)
def test_a_wire_has_one_port(function, shape):
    """As many for an operand as there are rows, or columns, in use."""
    (nest,), sizes = nests_of(function)
    wired = 0
    for plan in plans(nest, sizes, shape, "broadcast"):
        run = NestRun(function, CALLS[function], plan)
        units = {unit(run, f, place) for f, instances in run.folds.items() for _, place, _ in instances}
        for found in stream_ports(plan.folds):
            steps = [plan.mapping.steps(d.vector) for d in found.stream.directions]
            if found.stream.use.kind == "operand" and len(steps) == 1 and steps[0][0] == 0:
                (along,) = (k for k, step in enumerate(steps[0][1:]) if step)
                assert found.into == len({place[:along] + place[along + 1 :] for place in units})
                wired += 1
    assert wired


def test_wires_need_no_registers():
    (nest,), sizes = nests_of(fir)
    plan = next(p for p in plans(nest, sizes, (5,), "broadcast") if kung_design(p.recurrence, p.mapping) == "B1")
    assert {w.stream.use.array: w.registers for w in stream_ports(plan.folds)} == {"x": 0, "h": 2, "y": 1}


def test_the_report_names_wires():
    found = reported(gemm, zeros(16, 24), zeros(24, 16), zeros(16, 16), array=(16, 16), links="broadcast", dataflow="os")
    assert "16 x 16 units, broadcast links" in str(found) and "reaches all along x at once" in str(found)
    assert found.cycles == 24  # a term of every result in each
    found = reported(gemm, zeros(16, 24), zeros(24, 16), zeros(16, 16), array=(16, 24), links="broadcast", dataflow="ws")
    assert "added up along" in str(found) and found.cycles == 16 + 16  # rows of what stays, then a row of A in each
