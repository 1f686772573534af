"""What a nest says of its loops is true of every iteration that runs: compared with enumeration for small sizes."""

from itertools import chain, combinations

import pytest
from hypothesis import given, settings

from polyml.codegen.analysis.loop_nest import chain_of, guard_names
from polyml.codegen.ir.program import Guard, Instance, Loop
from polyml.model.core.reductions import Reduction
from polyml.quasi_affine.affine import Affine, Compare, variable
from tests.codegen.nests import SIZES, N, Text, meetings, sample, samples, touched

I, J, K = variable("i"), variable("j"), variable("k")


def subsets(indices):
    indices = list(indices)
    return chain.from_iterable(combinations(indices, n) for n in range(len(indices) + 1))


def meets(pairs, moving, fixed, reorder=False):
    """Whether a pair has `moving` different and all of `fixed` equal."""
    return any(
        a.iteration[moving] != b.iteration[moving] and all(a.iteration[f] == b.iteration[f] for f in fixed)
        for a, b in pairs
        if not (reorder and a.accumulates and a.accumulates == b.accumulates)
    )


@settings(max_examples=120, deadline=None)
@given(samples())
def test_a_loop_called_free_has_no_two_iterations_that_meet(case):
    pairs = [pair for size in SIZES for found in touched(case, size) for pair in meetings(found)]
    for moving in range(len(case.nest.chain)):
        for fixed in subsets(v for v in range(len(case.nest.chain)) if v != moving):
            for reorder in (False, True):
                if case.nest.is_independent(moving, fixed, reorder):
                    assert not meets(pairs, moving, fixed, reorder), (moving, fixed, reorder)


@settings(max_examples=80, deadline=None)
@given(samples())
def test_what_is_alone_is_touched_by_accumulators_only(case):
    pairs = [pair for size in SIZES for found in touched(case, size) for pair in meetings(found)]
    for array in "AB":
        for fixed in subsets(range(len(case.nest.chain))):
            if case.nest.only_reductions_meet(array, fixed):
                assert not any(
                    a.place[0] == array
                    and not (a.accumulates and a.accumulates == b.accumulates)
                    and all(a.iteration[f] == b.iteration[f] for f in fixed)
                    for a, b in pairs
                )


@settings(max_examples=150, deadline=None)
@given(samples())
def test_no_iterations_within_reach_break_a_dependence_by_running_together(case):
    """Oracle: all pairs of accesses, enumerated, that lanes or blocks would exchange."""
    if not all(isinstance(node, Instance) for node in case.nest.body):
        return
    instance_of = [number for number, (statement, _, _) in enumerate(case.nest.statements()) for _ in (*statement.reads, 0)]
    reach, last = case.nest.lane_reach, len(case.nest.chain) - 1
    for size in SIZES:
        for found in touched(case, size):
            for a, b in meetings(found):
                if a.accumulates and a.accumulates == b.accumulates or a.iteration[:last] != b.iteration[:last]:
                    continue
                first, second = sorted((a, b), key=lambda each: each.iteration[last])
                distance = second.iteration[last] - first.iteration[last]
                one, other = instance_of[first.which], instance_of[second.which]
                if distance and one == other and first.writes:
                    assert reach.vector <= distance
                if distance and one > other:
                    assert reach.block <= distance


# answers that must be exact


def nest_of(iterators, write, reads, loops, shared=(), reduces=False):
    """A perfect nest around one statement S. loops: (name, lower, upper), outermost first."""
    statement = Text("S", tuple(iterators), write, reads)
    made = [Loop(name, low, high, 1, ()) for name, low, high in loops]
    instance = Instance("S", tuple(variable(name) for name in iterators))
    reductions = {"S": Reduction("S", write[0], "+", 0)} if reduces else {}
    return sample([statement], shared, made, [instance], reductions).nest


ZERO, LAST = (Affine(0),), (N - 1,)
SQUARE = [("i", ZERO, LAST), ("j", ZERO, LAST)]
CUBE = [*SQUARE, ("k", ZERO, LAST)]


@pytest.mark.parametrize(
    ("nest", "free"),
    [
        (nest_of("ij", ("A", ["i", "j"]), [], SQUARE), {0, 1}),
        (nest_of("ij", ("A", ["i", "j"]), [("A", ["i", "j - 1"])], SQUARE), {0}),
        (nest_of("ij", ("A", ["i", "j"]), [("A", ["i - 1", "j + 1"])], SQUARE), set()),
        (nest_of("ij", ("B", ["i"]), [("A", ["i", "j"])], SQUARE), {0}),
        (nest_of("ij", ("B", ["2i"]), [("B", ["2i + 1"])], SQUARE), {0}),
        (nest_of("ij", ("A", ["i", "j"]), [("A", ["j", "i"])], SQUARE), set()),
        (nest_of("ij", ("A", ["i", "j"]), [("A", ["j", "i"])], [SQUARE[0], ("j", ZERO, (I - 1,))]), {0, 1}),
        (nest_of("ijk", ("A", ["i", "j"]), [("A", ["i", "k"]), ("A", ["k", "j"])], CUBE), set()),
        (
            nest_of(
                "ijk",
                ("A", ["i", "j"]),
                [("A", ["i", "k"]), ("A", ["k", "j"])],
                [("i", (Affine(8),), (Affine(15),)), ("j", (Affine(8),), (Affine(15),)), ("k", ZERO, (Affine(7),))],
            ),
            {0, 1},
        ),
    ],
)
def test_free_loops_of_a_nest(nest, free):
    assert {v for v in range(len(nest.chain)) if nest.is_independent(v, ())} == free


def test_a_loop_may_be_free_only_once_those_around_it_are_fixed():
    nest = nest_of("ij", ("A", ["i", "j"]), [("A", ["i - 1", "j + 1"])], SQUARE)
    assert not nest.is_independent(1, ()) and nest.is_independent(1, (0,))
    assert not nest.is_independent(0, ()) and nest.is_independent(0, (1,))


FAR = 512  # no dependence


@pytest.mark.parametrize(
    ("nest", "vector", "flows"),
    [
        (nest_of("i", ("B", ["i"]), [("B", ["i - 9"])], SQUARE[:1]), 9, (9,)),
        (nest_of("i", ("B", ["i"]), [("B", ["i - 9"]), ("B", ["i - 4"]), ("B", ["i + 1"])], SQUARE[:1]), 4, (4, 9)),
        (nest_of("i", ("B", ["i"]), [("B", ["i + 1"])], SQUARE[:1]), FAR, ()),
        (nest_of("i", ("B", ["2i"]), [("B", ["2i - 6"])], SQUARE[:1]), 3, (3,)),
        (nest_of("i", ("B", ["2i"]), [("B", ["2i - 7"])], SQUARE[:1]), FAR, ()),
        (nest_of("i", ("B", ["0"]), [], SQUARE[:1]), 1, ()),
        (nest_of("i", ("B", ["i"]), [("B", ["i - N"])], SQUARE[:1]), FAR, ()),
        (nest_of("i", ("B", ["i"]), [("B", ["N - i"])], SQUARE[:1]), 1, (1,)),
        (nest_of("ij", ("A", ["i", "j"]), [("A", ["i - 1", "j - 3"])], SQUARE), FAR, ()),
        (nest_of("ij", ("A", ["i", "j"]), [("A", ["i", "j - 3"])], SQUARE), 3, (3,)),
    ],
)
def test_the_shortest_distance_of_a_dependence_is_how_many_iterations_are_lanes(nest, vector, flows):
    reach = nest.lane_reach
    assert (reach.vector, reach.block, reach.flows) == (vector, FAR, flows)
    assert reach.allows(vector, 1) and not reach.allows(vector + 1, 1)


@pytest.mark.parametrize(("offset", "block"), [(3, FAR), (-3, 3)])
def test_instances_keep_their_order_within_a_block_and_no_other(offset, block):
    """S writes B[i], T reads B[i + offset] before or after S of that iteration."""
    first, second = Text("S", ("i",), ("B", ["i"]), []), Text("T", ("i",), ("A", ["i", "0"]), [("B", [f"i + {offset}"])])
    loop = Loop("i", ZERO, LAST, 1, ())
    body = [Instance("T", (I,)), Instance("S", (I,))]
    assert sample([first, second], [], [loop], body).nest.lane_reach.block == block
    assert sample([first, second], [], [loop], body[::-1]).nest.lane_reach.block == (3 if block == FAR else FAR)


def test_what_a_guard_around_says_makes_loops_free():
    loops = [("i", ZERO, LAST), ("k", ZERO, (variable("m") - 1,))]
    reads, write = [("B", ["i1"])], ("B", ["i0"])
    statement = Text("S", ("i0", "i1"), write, reads)
    made = [Loop(name, low, high, 1, ()) for name, low, high in loops]
    below = Loop("m", ZERO, LAST, 1, ())
    for shared, free in (((below,), set()), ((below, Guard(Compare(">=", variable("m") * -1), ())), {0})):
        nest = sample([statement], shared, made, [Instance("S", (I, K))]).nest
        assert {v for v in range(2) if nest.is_independent(v, ())} == free


def test_updates_of_a_reduction_may_be_reordered_and_nothing_else():
    update = nest_of("ik", ("B", ["i"]), [("B", ["i"]), ("A", ["i", "k"])], [CUBE[0], CUBE[2]], reduces=True)
    assert update.is_independent(0, ()) and not update.is_independent(1, ())
    assert update.is_independent(1, (), reorder=True) and update.only_reductions_meet("B", (0,))
    other = nest_of("ik", ("B", ["i"]), [("B", ["i"]), ("B", ["k"])], [CUBE[0], CUBE[2]], reduces=True)
    assert not other.is_independent(1, (), reorder=True) and not other.only_reductions_meet("B", (0,))
    plain = nest_of("ik", ("B", ["i"]), [("A", ["i", "k"])], [CUBE[0], CUBE[2]])
    assert not plain.only_reductions_meet("B", (0,)) and plain.only_reductions_meet("A", ())


# the shape of the loops


def test_a_chain_ends_where_a_body_is_not_one_sequential_loop():
    leaf = Instance("S", (I, J))
    inner = Loop("j", ZERO, LAST, 1, (leaf,))
    parallel = Loop("j", ZERO, LAST, 1, (leaf,), parallel=True)
    assert chain_of(Loop("i", ZERO, LAST, 1, (inner,)))[1] == (leaf,)
    for body in ((inner, inner), (leaf, inner), (parallel,), (Guard(Compare(">=", I), (inner,)),)):
        outer = Loop("i", ZERO, LAST, 1, body)
        assert chain_of(outer) == ((outer,), body)


def test_names_that_guards_test_are_found_at_any_depth():
    guard = Guard(Compare(">=", I - J), (Loop("k", ZERO, LAST, 1, (Guard(Compare("==", K - N), ()),)),))
    assert guard_names((Instance("S", (I,)), guard)) == {"i", "j", "k", "N"}
    assert guard_names((Instance("S", (I,)),)) == frozenset()
