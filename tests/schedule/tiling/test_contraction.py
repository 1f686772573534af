"""Which nests are contractions, what each of their loops is, and where the statements around them end up."""

from itertools import permutations

import numpy as np
import pytest

import polyml
from polyml.machines import catalogue
from polyml.model.core.dependence import dependences
from polyml.schedule.analysis.contraction_roles import contraction_roles, has_contraction
from polyml.schedule.analysis.loop_roles import LoopRole
from polyml.schedule.compute import ScheduleRequest, compute
from polyml.schedule.legality.check import check_legal, check_parallel
from polyml.schedule.tree.bands import PARALLEL, TILE
from tests.codegen.samples import scop_of
from tests.codegen.test_contractions import convolution_nchw, convolution_nhwc
from tests.frontend.define import define
from tests.schedule.scheduling import path_to

B, R, D, P, C = LoopRole.BATCH, LoopRole.ROWS, LoopRole.DEPTH, LoopRole.PANEL, LoopRole.COLUMNS
STOPS = {"i": "C.shape[0]", "j": "C.shape[1]", "k": "n"}


def nest(loops, body):
    """The body in the loops, each a name and where it stops."""
    lines = [f"{'    ' * d}for {name} in range({stop}):" for d, (name, stop) in enumerate(loops, 1)]
    return define("\n".join(["def kernel(C, A, B, n):", *lines, f"{'    ' * (len(loops) + 1)}{body}\n"]), "kernel")


def scop(kernel, **ranks):
    """The kernel's SCoP for arrays of these ranks, and a number n if it takes one."""
    names = kernel.__code__.co_varnames[: kernel.__code__.co_argcount]
    return scop_of(kernel, {name: 3 if name == "n" else np.zeros([3] * ranks.get(name, 2)) for name in names})


def roles(kernel, **ranks):
    (statement,) = scop(kernel, **ranks).statements.values()
    return contraction_roles(statement, statement.iterators)


@pytest.mark.parametrize("b", ["B[k, j]", "B[j, k]"])
@pytest.mark.parametrize("a", ["A[i, k]", "A[k, i]"])
def test_a_product_of_matrices_in_all_transpositions_and_orders_of_loops(a, b):
    for order in permutations("ijk"):
        loops = [(name, STOPS[name]) for name in order]
        assert roles(nest(loops, f"C[i, j] += {a}*{b}")) == {"i": R, "j": P, "k": D}


def test_the_panel_runs_along_the_rows_of_what_is_written():
    loops = [("i", "C.shape[1]"), ("j", "C.shape[0]"), ("k", "n")]
    assert roles(nest(loops, "C[j, i] += A[i, k]*B[k, j]")) == {"i": P, "j": R, "k": D}


def test_batches_and_further_rows_columns_and_depths():
    loops = [(name, "n") for name in "abcdef"]
    kernel = nest(loops, "C[a, b, c, d] += A[a, b, e, f]*B[f, e, d, c, a]")
    assert roles(kernel, C=4, A=4, B=5) == {"a": B, "b": R, "c": C, "d": P, "e": D, "f": D}


def test_convolutions_by_their_layouts():
    kinds = {"Y": 4, "X": 4, "W": 4}
    assert roles(convolution_nhwc, **kinds) == {"n": R, "h": R, "w": R, "o": P, "r": D, "s": D, "c": D}
    assert roles(convolution_nchw, **kinds) == {"n": C, "o": R, "h": C, "w": P, "c": D, "r": D, "s": D}


@pytest.mark.parametrize(
    ("body", "ranks"),
    [
        ("C[i, j] += A[i, j]", {}),  # no operand is the same along the panel
        ("C[i, j, k] += A[i, k]*B[k, j]", {"C": 3}),  # nothing is summed
        ("C[i, k] += A[i, k]*B[k, j]", {}),  # a sum of one operand, scaled
        ("C[i, 2*j] += A[i, k]*B[k, j]", {}),  # no loop goes from element to element
        ("C[i, i] += A[i, k]*B[k, j]", {}),
        ("C[0, j] += A[0, k]*B[k, j]", {}),  # a row: no rows
        ("C[i, 0] += A[i, k]*B[k, 0]", {}),  # a column
        ("C[i, j] = C[i, j - 1] + C[i - 1, j]", {}),
    ],
)
def test_what_is_no_contraction(body, ranks):
    loops = [("i", "C.shape[0]"), ("j", "C.shape[1]"), ("k", "n")]
    kernel = nest(loops, body)
    assert roles(kernel, **ranks) is None and not has_contraction(scop(kernel, **ranks))


def test_loops_around_are_left_out_of_the_roles():
    (statement,) = scop(nest([("t", "n"), *STOPS.items()], "C[i, j] += A[i, k]*B[k, j]")).statements.values()
    assert contraction_roles(statement, ("i", "j", "k")) == {"i": R, "j": P, "k": D}
    assert contraction_roles(statement, ("j", "k")) is None


def layer(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] *= 2
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
            C[i, j] = max(C[i, j], 0)


def scheduled(kernel, *, parallel=True, tile=True, sizes=True, **extents):
    found = scop(kernel)
    typical = {p.name: extents.get(p.name, 1000) for p in found.parameters} if sizes else None
    deps = dependences(found)
    made = compute(found, deps, ScheduleRequest(catalogue.processor("avx2"), tile=tile, parallel=parallel, sizes=typical))
    check_legal(made.tree, found, deps)
    check_parallel(made.tree, found, deps)
    return made


def marks(made, statement):
    return [step.mark for step in path_to(made.tree, statement)]


def test_what_is_done_with_each_element_runs_in_the_tiles_of_a_short_depth():
    made = scheduled(layer, A_1=100)
    outer = [path_to(made.tree, s)[:-1] for s in ("S0", "S1", "S2")]
    assert outer[0] == outer[1] == outer[2] and [step.mark for step in outer[0]] == [PARALLEL, TILE]


def test_and_in_the_first_and_the_last_block_of_a_depth_of_several():
    made = scheduled(layer, A_1=5000)
    (first, *before), (depth, *own), (last, *behind) = (path_to(made.tree, s)[:-1] for s in ("S0", "S1", "S2"))
    assert before == own == behind and [step.mark for step in (depth, *own)] == [TILE, PARALLEL, TILE]
    assert [step.members for step in (first, depth)] == [("0",), ("k - (k) mod 392",)] and "A_1" in last.members[0]


def activated(X, W, b):
    return np.maximum(X @ W + b, 0)


def updated(X, W, Y):
    Y[:] = 2 * (X @ W) + 3 * Y


@pytest.mark.parametrize("function", [activated, updated])
def test_so_they_do_for_a_depth_of_any_length(function):
    compiled = polyml.kernel(function, cache=False)
    for depth in (1009, 513, 1008, 1024, 0):
        rng = np.random.default_rng(depth)
        X, W = rng.integers(-4, 5, (21, depth)).astype(np.float32), rng.integers(-4, 5, (depth, 70)).astype(np.float32)
        last = rng.integers(-9, 9, 70 if function is activated else (21, 70)).astype(np.float32)
        wanted, got = last.copy(), last.copy()
        returned, result = function(X, W, wanted), compiled(X, W, got)
        np.testing.assert_array_equal(got, wanted)
        if returned is not None:
            np.testing.assert_array_equal(result, returned)
    assert len(compiled.signatures) == 2  # one for depths of two or three blocks


def test_no_loop_goes_to_threads_where_that_is_not_wanted():
    assert PARALLEL not in marks(scheduled(layer, parallel=False), "S1")


def test_sizes_decide_about_contractions_that_may_be_tiled_alone():
    assert scheduled(layer).sized and scheduled(layer, sizes=False).sized
    assert not scheduled(layer, tile=False).sized
    assert not scheduled(nest([("i", "n"), ("j", "n"), ("k", "n")], "C[i, j] += A[i, j] + k")).sized


def panel_of(found, **extents):
    """The loop that vectors run along, and whether the notes say that it goes across the result's rows."""
    typical = {p.name: extents.get(p.name, 64) for p in found.parameters}
    notes = compute(
        found, dependences(found), ScheduleRequest(catalogue.processor("avx2"), tile=True, parallel=True, sizes=typical)
    ).notes
    (roles,) = (note for note in notes if note.startswith("contraction "))
    across = any("across the result's rows" in note for note in notes)
    return roles[: roles.index(" panel")].split()[-1], across


def image(width, channels, count=16):
    """The sizes of a convolution of images of 7 rows of so many pixels with filters of 3 x 3 for 64 channels."""
    return {"Y_0": count, "Y_1": channels, "Y_2": 7, "Y_3": width, "X_1": 64, "W_2": 3, "W_3": 3}


def test_a_panel_runs_across_the_result_s_rows_where_these_are_short():
    found = scop(convolution_nchw, Y=4, X=4, W=4)
    assert panel_of(found, **image(5, 64)) == ("o", True)
    assert panel_of(found, **image(64, 64)) == ("w", False)
    assert panel_of(found, **image(5, 5)) == ("w", False)  # it is no better across
    assert panel_of(found, **image(5, 64, count=0)) == ("w", False)


def test_but_not_where_operands_that_are_read_a_few_times_would_have_to_be_turned():
    kernel = nest(STOPS.items(), "C[i, j] += A[i, k]*B[k, j]")
    found = scop(kernel)
    assert panel_of(found, C_0=10_000, C_1=5, n=64) == ("j", False)


def test_a_companion_may_touch_the_result_in_another_order_of_loops():
    def kernel(C, A, B):
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                for k in range(A.shape[1]):
                    C[i, j] += A[i, k] * B[k, j]
        for p in range(C.shape[1]):
            for q in range(C.shape[0]):
                C[q, p] = C[q, p] * 2

    made = scheduled(kernel, A_1=50)
    first, second = ([step.members for step in path_to(made.tree, s)[:-1]] for s in ("S0", "S1"))
    renamed = str.maketrans("ij", "qp")
    assert second == [tuple(m.translate(renamed) for m in members) for members in first]


def chain(C, A, B, D, E):
    """What is made before and behind the product is in arrays of their own."""
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            D[i, j] = 2 * E[i, j]
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = D[i, j]
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            D[i, j] = C[i, j] + 1
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            E[i, j] = max(D[i, j], 0)


def test_companions_of_a_companion_run_in_the_tiles_too():
    made = scheduled(chain, A_1=50)
    tiles = [[step.mark for step in path_to(made.tree, s)[:-1]] for s in ("S0", "S1", "S2", "S3", "S4")]
    assert all(marks_of == [PARALLEL, TILE] for marks_of in tiles)
    assert len([note for note in made.notes if note.startswith("contraction")]) == 1 and not any("band of" in n for n in made.notes)


def test_companions_of_a_companion_compute_what_the_source_does():
    rng = np.random.default_rng(7)
    given = [rng.integers(-9, 9, shape).astype(np.float64) for shape in ((50, 70), (50, 40), (40, 70), (50, 70), (50, 70))]
    wanted, got = [array.copy() for array in given], [array.copy() for array in given]
    chain(*wanted)
    polyml.kernel(chain, cache=False)(*got)
    for expected, found in zip(wanted, got):
        np.testing.assert_array_equal(found, expected)
