"""One register tiling is applied to a nest: what runs together, which loops are left, and which tilings do not fit the bounds."""

import pytest

from polyml.codegen.analysis.register_tiling import RegisterTiling
from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Program, Unroll, every
from polyml.codegen.register_tiles.register_tile import CannotTile, register_tile
from polyml.model.core.reductions import Reduction
from polyml.quasi_affine.affine import Affine, Compare, floor_div, variable
from tests.codegen.histories import History
from tests.codegen.nests import Text, sample, steps

I, J, K, N = (variable(name) for name in "ijkN")
ZERO, LAST = (Affine(0),), (N - 1,)
SQUARE = {"i": (ZERO, LAST), "j": (ZERO, LAST)}


def nest_of(write, reads=(), loops=SQUARE, body=None, reduces=False):
    """S around `loops`, given as name -> (lower, upper); body: of the innermost loop, by default S alone."""
    names = tuple(loops)
    text = Text("S", names, write, [write, *reads] if reduces else list(reads))
    chain = [Loop(name, low, high, 1, ()) for name, (low, high) in loops.items()]
    leaf = Instance("S", tuple(map(variable, names)))
    free = {"S": Reduction("S", write[0], "+", 0)} if reduces else {}
    return sample([text], [], chain, body or [leaf], free)


def check(case, shape, sizes=range(20)):
    """Returns what the nest becomes in that tiling, after comparing it with the plain loops."""
    nodes = register_tile(case.nest, shape)
    program = Program(case.program.scop, nodes, case.program.reductions)
    for size in sizes:
        wanted = History({"N": size}, steps(case, size), program.reductions)
        for order in ("source", "reversed"):
            wanted.check(program, order=order)
    return nodes


def loops_of(nodes):
    """The loops and what runs together, as nested lists: ["i step 4", [...]]."""
    shown = []
    for node in nodes:
        if isinstance(node, Instance):
            shown.append(node.statement)
            continue
        name = f"{node.var[0]} step {node.step}" if isinstance(node, Loop) else f"{node.var} x {node.count}"
        if isinstance(node, Jam) and node.lanes > 1:
            name += f" x {node.lanes}" + (" masked" if node.limit is not None else "")
        shown.append([name, *loops_of(node.body)])
    return shown


ELEMENT = ("A", ["i", "j"])


def resumed(nodes, values):
    """How many loops begin where the loop before them ended; those that say so and do not are an error."""
    count, before, end = 0, "", None
    for node in nodes:
        if isinstance(node, Loop):
            first, last = max(e.evaluate(values) for e in node.lower), min(e.evaluate(values) for e in node.upper)
            assert not node.resumes or (node.resumes, first) == (before, end)
            count += bool(node.resumes)
            turns = range(first, last + 1, node.step)
            count += sum(resumed(node.body, {**values, node.var: value}) for value in turns)
            before, end = node.var, first + len(turns) * node.step
        else:
            before = ""
    return count


TILED = [
    RegisterTiling(0, 1, 1, 2, 4, jams=((0, 3),)),
    RegisterTiling(0, 1, 1, 1, 4, jams=((0, 4),), remainders=((0, 2),)),
    RegisterTiling(0, 1, 1, 2, 4, line=N),
]


@pytest.mark.parametrize("shape", TILED, ids=["rows", "remainders", "lines"])
@pytest.mark.parametrize("low, high", [(ZERO, LAST), ((I,), LAST), (ZERO, (I, N - 3))], ids=["square", "upper", "lower"])
def test_a_loop_over_what_is_left_begins_where_the_one_before_it_ended(low, high, shape):
    nodes = check(nest_of(ELEMENT, loops={"i": (ZERO, LAST), "j": (low, high)}), shape)
    assert all(resumed(nodes, {"N": size}) for size in range(1, 20))


def test_vectors_of_the_innermost_loop_leave_a_masked_remainder():
    nodes = check(nest_of(ELEMENT), RegisterTiling(0, 1, 1, 2, 4))
    whole, rest = ["j step 8", ["j x 2 x 4", "S"]], ["j step 4", ["j x 1 x 4 masked", "S"]]
    assert loops_of(nodes) == [["i step 1", whole, rest]]


def test_rows_run_together_around_vectors_and_the_last_rows_alone():
    nodes = check(nest_of(ELEMENT), RegisterTiling(0, 1, 1, 1, 4, jams=((0, 3),)))
    together = [["j step 4", ["i x 3", ["j x 1 x 4", "S"]]], ["j step 4", ["i x 3", ["j x 1 x 4 masked", "S"]]]]
    alone = [["j step 4", ["j x 1 x 4", "S"]], ["j step 4", ["j x 1 x 4 masked", "S"]]]
    assert loops_of(nodes) == [["i step 3", *together], ["i step 1", *alone]]


def test_a_register_tile_has_its_reduction_innermost_and_its_lanes_outside_of_the_rows():
    loops = {**SQUARE, "k": (ZERO, LAST)}
    case = nest_of(ELEMENT, [("A", ["i", "k"])], loops)
    nodes = register_tile(case.nest, RegisterTiling(0, 2, 1, 1, 4, jams=((0, 2),)))
    jam = ["k step 1", ["i x 2", ["j x 1 x 4", "S"]]]
    assert loops_of(nodes)[0][:2] == ["j step 4", ["i step 2", jam]]


@pytest.mark.parametrize(
    ("vectors", "rows", "jams"),
    [(4, 6, ["i x 6", ["j x 4 x 4", "S"]]), (4, 2, ["j x 4 x 4", ["i x 2", "S"]]), (2, 2, ["j x 2 x 4", ["i x 2", "S"]])],
)
def test_what_has_the_most_copies_is_outside_in_a_register_tile(vectors, rows, jams):
    case = nest_of(ELEMENT, [("A", ["i", "k"])], {**SQUARE, "k": (ZERO, LAST)})
    nodes = register_tile(case.nest, RegisterTiling(0, 2, 1, vectors, 4, jams=((0, rows),)))
    assert loops_of(nodes)[0][1][1] == ["k step 1", jams]


def test_lanes_of_partial_sums_finish_with_a_masked_vector_in_a_loop():
    nodes = check(nest_of(("B", ["i"]), [ELEMENT], reduces=True), RegisterTiling(0, 1, 1, 2, 4))
    assert loops_of(nodes) == [["i step 1", ["j step 8", ["j x 2 x 4", "S"]], ["j step 4", ["j x 1 x 4 masked", "S"]]]]


def test_lanes_of_partial_sums_finish_with_plain_iterations_where_masks_cost_more():
    nodes = check(nest_of(("B", ["i"]), [ELEMENT], reduces=True), RegisterTiling(0, 1, 1, 2, 4, scalar_remainder=True))
    assert loops_of(nodes) == [["i step 1", ["j step 8", ["j x 2 x 4", "S"]], ["j step 4", ["j x 1 x 4", "S"]], ["j step 1", "S"]]]


@pytest.mark.parametrize("length, lanes", [(1, 1), (2, 2), (3, 4), (4, 4), (9, 1), (11, 4), (12, 4), (8, None)])
def test_a_known_rest_of_partial_sums_has_the_narrowest_vector(length, lanes):
    columns = {"i": (ZERO, LAST), "j": (ZERO, (Affine(length - 1),))}
    nodes = check(nest_of(("B", ["i"]), [ELEMENT], columns, reduces=True), RegisterTiling(0, 1, 1, 2, 4))
    remainders = [node for node in every(nodes) if isinstance(node, Jam) and node.count == 1]
    assert [jam.lanes for jam in remainders] == ([] if lanes is None else [lanes])


def test_iterations_that_keep_their_order_are_unrolled_inside_the_lanes():
    case = nest_of(ELEMENT, [("A", ["i - 1", "j"])])
    nodes = check(case, RegisterTiling(0, 1, 1, 1, 4, jams=((0, 2),), unrolled=frozenset({0})))
    assert loops_of(nodes)[0][1] == ["j step 4", ["j x 1 x 4", ["i x 2", "S"]]]
    (lanes,) = nodes[0].body[0].body
    assert isinstance(lanes, Jam) and isinstance(lanes.body[0], Unroll)


def test_lanes_of_an_outer_loop_run_together_through_the_inner_one():
    case = nest_of(("A", ["j", "i"]), [("A", ["j - 1", "i"])])
    nodes = check(case, RegisterTiling(0, 1, 0, 1, 4))
    assert loops_of(nodes) == [
        ["i step 4", ["j step 1", ["i x 1 x 4", "S"]]],
        ["i step 4", ["j step 1", ["i x 1 x 4 masked", "S"]]],
    ]


def test_loops_outside_the_shape_stay():
    nodes = check(nest_of(ELEMENT, [("A", ["i - 1", "j + 1"])]), RegisterTiling(1, 1, 1, 1, 4))
    assert loops_of(nodes)[0][0] == "i step 1"


@pytest.mark.parametrize("jams", [(), ((0, 2),), ((0, 3),)])
@pytest.mark.parametrize("vectors", [1, 2])
@pytest.mark.parametrize(
    "columns",
    [
        (ZERO, (I,)),
        ((I,), LAST),
        ((I - 2, Affine(0)), (I + 2, N - 1)),
        ((I * -2 + N,), (I * -1 + N + 3,)),
        ((Affine(1), I), (N - 2, I * 2)),
    ],
    ids=["lower", "upper", "band", "slanted", "fan"],
)
def test_a_triangle_shares_what_all_its_rows_have(columns, jams, vectors):
    case = nest_of(ELEMENT, loops={"i": (ZERO, LAST), "j": columns})
    check(case, RegisterTiling(0, 1, 1, vectors, 4, jams))
    check(case, RegisterTiling(0, 1, 0, vectors, 4), sizes=(0, 1, 5, 9, 16))


def test_a_remainder_row_by_row_surrounds_the_part_that_rows_share():
    case = nest_of(ELEMENT, loops={"i": (ZERO, LAST), "j": ((I - 1, Affine(0)), (I + 9, N - 1))})
    (rows, _) = check(case, RegisterTiling(0, 1, 1, 1, 2, jams=((0, 4),)))
    before, *shared, after = loops_of(rows.body)
    assert before[0] == after[0] == "i step 1" and all(part[0] == "j step 2" for part in shared)


@pytest.mark.parametrize("length", range(11))
def test_a_loop_of_constant_length_has_no_parts_that_never_run(length):
    case = nest_of(ELEMENT, loops={"i": (ZERO, LAST), "j": ((I,), (I + length - 1,))})
    (rows,) = check(case, RegisterTiling(0, 1, 1, 1, 4), sizes=(0, 1, 6))
    parts = [node for node in every(rows.body) if isinstance(node, Jam)]
    left = length % 4
    narrow = [] if left == 0 else [(left, False)] if left != 3 else [(4, True)]  # the narrowest vector that holds them
    assert [(jam.lanes, jam.limit is not None) for jam in parts] == [(4, False)] * (length >= 4) + narrow
    assert any(isinstance(node, Loop) for node in rows.body) == (length >= 8)  # for several times only


def inner(*body, low=ZERO, high=LAST, step=1):
    return Loop("k", low, high, step, body)


S = Instance("S", (I, J, K))
CUBE_TEXT = ("A", ["i", "3*j + k"])


def with_inner(*body):
    text = Text("S", ("i", "j", "k"), CUBE_TEXT, [])
    chain = [Loop(name, *SQUARE[name], 1, ()) for name in "ij"]
    return sample([text], [], chain, list(body))


def test_loops_of_the_body_stay_inside_what_runs_together():
    nodes = check(with_inner(inner(S, high=(Affine(2),))), RegisterTiling(0, None, 0, 1, 4))
    assert loops_of(nodes)[0] == ["i step 4", ["j step 1", ["k step 1", ["i x 1 x 4", "S"]]]]


def test_a_loop_of_the_body_with_other_bounds_per_iteration_is_split():
    nodes = check(with_inner(inner(S, low=(I,), high=(I + J, N))), RegisterTiling(0, None, 0, 1, 4), sizes=range(9))
    assert [part[0] for part in loops_of(nodes)[0][1][1:]] == ["i step 1", "k step 1", "i step 1"]


def test_a_guard_on_other_variables_stays():
    guard = Guard(Compare(">=", J - 2), (inner(S, high=(Affine(2),)),))
    nodes = register_tile(with_inner(guard).nest, RegisterTiling(0, None, 0, 1, 4))
    assert isinstance(nodes[0].body[0].body[0], Guard)


@pytest.mark.parametrize(
    ("case", "shape", "reason"),
    [
        (
            nest_of(ELEMENT, loops={"i": (ZERO, LAST), "j": (ZERO, (I,))}),
            RegisterTiling(0, 0, 0, 1, 4),
            "the bounds of a loop need one inside it",
        ),
        (
            nest_of(ELEMENT, loops={"i": (ZERO, LAST), "j": (ZERO, (floor_div(I, 2),))}),
            RegisterTiling(0, 1, 1, 1, 4, jams=((0, 2),)),
            "a bound is not linear in i",
        ),
        (
            nest_of(ELEMENT, loops={"i": (ZERO, LAST), "j": (ZERO, (I,))}),
            RegisterTiling(0, 1, 1, 1, 4, jams=((0, 2),), unrolled=frozenset({0})),
            "iterations that keep their order have different bounds",
        ),
        (
            nest_of(ELEMENT, body=[S, Guard(Compare(">=", J - 2), (S,))]),
            RegisterTiling(0, 1, 1, 1, 4, jams=((0, 2),), unrolled=frozenset({0})),
            "iterations that keep their order run the whole body, of which a guard or a loop is a part",
        ),
        (
            with_inner(Guard(Compare(">=", I), (inner(S),))),
            RegisterTiling(0, None, 0, 1, 4),
            "a guard depends on a variable that runs together",
        ),
        (
            with_inner(inner(S, low=(I,), step=2)),
            RegisterTiling(0, None, 0, 1, 4),
            "the steps of a strided loop start elsewhere in iterations that run together",
        ),
    ],
)
def test_a_shape_that_does_not_fit_the_bounds_is_refused(case, shape, reason):
    with pytest.raises(CannotTile) as caught:
        register_tile(case.nest, shape)
    assert str(caught.value) == reason
