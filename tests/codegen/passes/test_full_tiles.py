"""Full tiles apart from partial ones: the same instances in the same order, and constant lengths in the full ones."""

import pytest

from polyml.codegen.interpreter.order import sequence
from polyml.codegen.ir.program import Guard, Instance, Loop, Program, instances, loops, with_body
from polyml.codegen.passes import full_tiles
from polyml.codegen.passes.full_tiles import separate_full_tiles
from polyml.quasi_affine.affine import Affine, variable
from tests.codegen.forms import check, programs
from tests.codegen.loop_nests import KERNELS, five_points, lower_update, lu, matmul

SIZES = ((0, 0, 0), (1, 1, 1), (8, 14, 6), (9, 16, 7), (3, 20, 2))
DEEP = (lower_update, lu)


def versions(nodes):
    """The pairs of guards around full and partial tiles: in one body, the second one rare."""
    for node, following in zip(nodes, (*nodes[1:], None)):
        if isinstance(following, Guard) and following.rare:
            yield node, following
        elif not isinstance(node, Instance):
            yield from versions(node.body)


def only(nodes, kept):
    """The nodes with the bodies of full (0) or partial (1) tiles alone."""
    dropped = {id(pair[1 - kept]) for pair in versions(nodes)}

    def without(nodes):
        return tuple(n if isinstance(n, Instance) else with_body(n, without(n.body)) for n in nodes if id(n) not in dropped)

    return without(nodes)


def run(program, kept, **sizes):
    return sequence(Program(program.scop, only(program.body, kept)), sizes)


FULL, PARTIAL = 0, 1


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_the_order_of_instances_stays_exactly_as_it_was(kernel):
    before, after = programs(kernel)["tiled"], programs(kernel)["apart"]
    for sizes in SIZES:
        values = {p.name: sizes[k % 3] for k, p in enumerate(before.scop.parameters)}
        assert sequence(after, values) == sequence(before, values)
        check(kernel, after, sizes)


@pytest.mark.parametrize("kernel", DEEP, ids=lambda k: k.__name__)
def test_loops_of_a_full_tile_have_one_constant_length_each_but_for_where_an_array_ends(kernel):
    pairs = list(versions(programs(kernel)["apart"].body))
    assert pairs
    for full, partial in pairs:
        *outer, innermost = loops(full.body)
        assert all(len(loop.lower) == len(loop.upper) == 1 for loop in outer)
        assert all((loop.upper[0] - loop.lower[0]).is_constant for loop in (*outer, innermost))
        assert all(e.names.isdisjoint({loop.var for loop in outer}) for e in (*innermost.lower, *innermost.upper))
        assert [i.statement for i in instances(full.body)] == [i.statement for i in instances(partial.body)]


def test_nests_whose_tiles_are_boxes_are_left_alone():
    """Only the ends of their loops differ from tile to tile, which remainders deal with."""
    assert programs(matmul)["apart"] == programs(matmul)["tiled"]


def test_a_loop_that_is_not_tiled_keeps_its_range_in_full_tiles():
    """Sums of k over a triangle in tiles of 4 x 8: the full ones have all of k. No test may ask about k."""
    i0, j0, i, j, m = (variable(name) for name in ("i0", "j0", "i", "j", "m"))
    program = programs(lower_update)["source"]
    (name,) = {instance.statement for instance in instances(program.body)}

    def tiled(last_column):
        body = (Instance(name, (i, variable("k"), j)),)
        inside = Loop("j", (j0,), (j0 + 7, last_column), 1, (Loop("k", (Affine(0),), (m - 1,), 1, body),))
        rows = Loop("i", (i0,), (i0 + 3, variable("C_0") - 1), 1, (inside,))
        columns = Loop("j0", (Affine(0),), (i0 + 3,), 8, (rows,), role="tile")
        return Program(program.scop, (Loop("i0", (Affine(0),), (variable("C_0") - 1,), 4, (columns,), role="tile"),))

    sizes = {"C_0": 18, "C_1": 18, "A_0": 18, "A_1": 5, "m": 5}
    before, after = tiled(i), separate_full_tiles(tiled(i))
    ((full, _),) = versions(after.body)
    assert [(loop.lower, loop.upper) for loop in loops(full.body)][2] == ((Affine(0),), (m - 1,))
    assert sequence(after, sizes) == sequence(before, sizes) and 0 < len(run(after, FULL, **sizes)) < len(sequence(after, sizes))
    assert not [*versions(separate_full_tiles(tiled(variable("j0") + 7)).body)]


def test_tiles_that_the_diagonal_or_an_edge_cuts_are_partial():
    """C[i, j] += A[i, k] * A[j, k] for j <= i: tiles of 4 rows i, 7 columns j and 3 steps k."""
    n, m = 18, 7
    sizes = {"C_0": n, "C_1": n, "A_0": n, "A_1": m, "m": m}
    expected = {
        ("S0", (i, k, j)) for i in range(n) for k in range(m) for j in range(i + 1)
        if j // 7 * 7 + 6 <= i // 4 * 4 and i // 4 * 4 + 3 < n
    }  # fmt: skip
    program = programs(lower_update)["apart"]
    assert expected and set(run(program, FULL, **sizes)) == expected
    assert len(run(program, PARTIAL, **sizes)) == m * n * (n + 1) // 2 - len(expected)


def test_shallow_nests_and_loops_outside_tiles_are_left_alone():
    for form in ("source", "tiled"):
        program = programs(five_points)[form]
        assert separate_full_tiles(program) == program
    program = programs(matmul)["source"]
    assert separate_full_tiles(program) == program


# nests by hand

I, J, K, IT, N = (variable(name) for name in ("i", "j", "k", "it", "N"))
WHOLE = ((Affine(0),), (Affine(3),))


def tile(rows, columns, depth, *, body=(Instance("S", (I, J, K)),), step=1):
    """for it step 4: for i, j, k from their bounds: S"""
    for name, (low, high) in (("k", depth), ("j", columns), ("i", rows)):
        body = (Loop(name, low, high, step, body),)
    return Program(None, (Loop("it", (Affine(0),), (N - 1,), 4, body, role="tile"),))


ROWS = ((Affine(0), IT), (IT + 3, N - 1))


def test_of_two_tiles_around_a_loop_the_shorter_one_may_be_full():
    rows = ((IT - 4, IT), (IT + 7, IT + 3, N - 1))
    program = tile(rows, WHOLE, ((Affine(0),), (Affine(3), I + J - 1)))
    changed = separate_full_tiles(program)
    assert run(changed, FULL, N=12) and run(changed, PARTIAL, N=12)
    for size in range(12):
        assert sequence(changed, {"N": size}) == sequence(program, {"N": size})


@pytest.mark.parametrize(
    ("program", "is_separated"),
    [
        (tile(ROWS, WHOLE, WHOLE), False),  # a box
        (tile(ROWS, WHOLE, ((Affine(0),), (Affine(3), I + J - 1))), True),
        (tile(ROWS, ((Affine(0),), (Affine(3), I * 2)), ((Affine(-2), J - I), (Affine(1),))), True),
        (tile(((IT,), (IT + 3,)), WHOLE, WHOLE), False),  # always full
        (tile(ROWS, WHOLE, ((I,), (N,))), False),  # no bounds at a constant distance
        (tile(ROWS, WHOLE, ((I,), (I + 2,))), False),  # a box that moves with i
        (tile(ROWS, WHOLE, WHOLE, step=2), False),
        (tile(ROWS, WHOLE, WHOLE, body=(Loop("l", *WHOLE, 1, (Instance("S", (I, J, K)),)),) * 2), False),
    ],
)
def test_a_nest_by_hand_runs_the_same_with_its_full_tiles_apart(program, is_separated):
    changed = separate_full_tiles(program)
    assert (changed != program) == is_separated
    for size in range(12):
        assert sequence(changed, {"N": size}) == sequence(program, {"N": size})


def test_tests_around_a_loop_do_not_know_where_its_threads_shares_end():
    """An isolated loop around a parallel one of tiles: how far a thread goes is not known outside."""
    i = variable("i")
    points = Loop("i", (Affine(0),), (Affine(31), variable("last")), 1, (Instance("S", (i,)),))
    shared = Loop("t", (Affine(0),), (variable("N") - 1,), 32, (points,), parallel=True, role="tile", last="last")
    around = Loop("r", (Affine(0),), (Affine(3),), 1, (shared,))
    made = full_tiles._full_version(around, {}, {"r"}, tests := [])
    assert all("last" not in test.names for test in tests)
    assert any("last" in e.names for loop in loops((made,)) for e in loop.upper)
