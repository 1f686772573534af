"""Which loops each component gets before tiling: parallel ones, ones that may be exchanged, or the source's own."""

import islpy as isl
import pytest

from polyml.dtypes import F64
from polyml.frontend.syntax import ArrayType
from polyml.machines import catalogue
from polyml.model.core.dependence import dependences
from polyml.schedule.affine.scheduler import affine_schedule, merge_bands, schedule_constraints
from polyml.schedule.compute import ScheduleRequest, compute
from polyml.schedule.legality.check import check_legal, check_parallel
from polyml.schedule.tree.bands import NODE, band_of
from tests.model.modelling import INT, MATRIX, VECTOR, model
from tests.schedule.scheduling import Step, path_to

CUBE = ArrayType(F64, 3)


def rowwise(A):
    for i in range(A.shape[0]):
        for j in range(1, A.shape[1]):
            A[i, j] += A[i, j - 1]


def columnwise(A):
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] += A[i - 1, j]


def cube(A):
    for i in range(1, A.shape[0]):
        for j in range(1, A.shape[1]):
            for k in range(1, A.shape[2]):
                A[i, j, k] += A[i - 1, j, k] + A[i, j - 1, k] + A[i, j, k - 1]


def sweeps(steps, A, B):
    for t in range(steps):
        for i in range(1, A.shape[0] - 1):
            B[i] = A[i - 1] + A[i + 1]
        for i in range(1, A.shape[0] - 1):
            A[i] = B[i]


def gauss_seidel(steps, A):
    for t in range(steps):
        for i in range(1, A.shape[0] - 1):
            A[i] = A[i - 1] + A[i] + A[i + 1]


def closure(P):
    for k in range(P.shape[0]):
        for i in range(P.shape[0]):
            for j in range(P.shape[0]):
                P[i, j] = min(P[i, j], P[i, k] + P[k, j])


def separate(A, B, steps, C):
    for i in range(A.shape[0]):
        for j in range(1, A.shape[1]):
            A[i, j] += A[i, j - 1]
    for i in range(1, B.shape[0]):
        B[i] += B[i - 1]
    for t in range(steps):
        for i in range(1, C.shape[0] - 1):
            C[i] = C[i - 1] + C[i] + C[i + 1]


TYPES = {
    rowwise: [MATRIX],
    columnwise: [MATRIX],
    cube: [CUBE],
    sweeps: [INT, VECTOR, VECTOR],
    gauss_seidel: [INT, VECTOR],
    closure: [MATRIX],
    separate: [MATRIX, VECTOR, INT, VECTOR],
}


def loops_of(function, statement="S0"):
    """(member, whether it is parallel) of every loop around a statement, outermost first."""
    scop = model(function, *TYPES[function])
    tree, _ = affine_schedule(scop, dependences(scop))
    return [pair for step in path_to(tree, statement) for pair in zip(step.members, step.coincident)]


@pytest.mark.parametrize("function", TYPES, ids=lambda f: f.__name__)
def test_the_loops_of_every_component_keep_every_dependence(function):
    scop = model(function, *TYPES[function])
    deps = dependences(scop)
    check_legal(affine_schedule(scop, deps)[0], scop, deps)


def test_a_parallel_loop_comes_out_where_there_is_one():
    assert loops_of(rowwise) == [("i", True), ("j", False)]
    assert loops_of(columnwise) == [("j", True), ("i", False)]


def spread(B):
    for i in range(B.shape[0]):
        for j in range(i):
            for k in range(B.shape[0]):
                B[i, k + 1] = B[j, k]


def test_a_loop_that_is_parallel_only_inside_another_is_not_when_the_two_become_one_band():
    scop = model(spread, MATRIX)
    deps = dependences(scop)
    made = compute(scop, deps, ScheduleRequest(catalogue.processor("avx2"), tile=True, parallel=True))  # which checks it
    check_parallel(made.tree, scop, deps)
    (band,) = path_to(affine_schedule(scop, deps)[0], "S0")
    assert band.coincident == (False, False, False)


def test_three_loops_that_may_be_exchanged_stay_one_band_for_tiles():
    scop = model(cube, CUBE)
    (band,) = path_to(affine_schedule(scop, dependences(scop))[0], "S0")
    assert band == Step("", ("i", "j", "k"), (False, False, False))


def test_sweeps_of_a_stencil_stay_parallel_inside_time():
    for statement in ("S0", "S1"):
        assert loops_of(sweeps, statement) == [("t", False), ("i", True)]


def test_a_stencil_that_waits_for_its_neighbour_is_skewed():
    (front, front_parallel), (inside, inside_parallel) = loops_of(gauss_seidel)
    assert (front, front_parallel, inside, inside_parallel) == ("2t + i", False, "t", True)


def test_where_few_iterations_wait_the_source_s_order_stays():
    assert [member for member, _ in loops_of(closure)] == ["k", "i", "j"]


def test_each_component_gets_its_own_form():
    assert loops_of(separate, "S0") == [("i", True), ("j", False)]
    assert loops_of(separate, "S1") == [("i", False)]
    assert loops_of(separate, "S2") == [("2t + i", False), ("t", True)]


# merging


def tree_of(function, *bands):
    scop = model(function, *TYPES[function])
    text = ""
    for members, permutable in reversed(bands):
        below = f", child: {text}" if text else ""
        text = f'{{ schedule: "[{", ".join(f"{{ {m} }}" for m in members)}]", permutable: {permutable}{below} }}'
    return scop, isl.Schedule(f'{{ domain: "{scop.domain}", child: {text} }}')


def band_sizes(tree):
    sizes, node = [], tree.get_root()
    while node.get_type() != NODE.leaf:
        if node.get_type() == NODE.band:
            sizes.append((len(band_of(node).members), band_of(node).permutable))
        node = node.child(0)
    return sizes


I, J, K = (f"S0[i, j, k] -> [({name})]" for name in "ijk")


@pytest.mark.parametrize(
    ("bands", "wanted"),
    [
        ([([I, J], 1), ([K], 1)], [(3, True)]),
        ([([I], 1), ([J], 1), ([K], 1)], [(3, True)]),
        ([([I], 0), ([J], 1), ([K], 1)], [(1, False), (2, True)]),
        ([([I], 1), ([J, K.replace("(k)", "(-k)")], 0)], [(1, True), (2, False)]),
    ],
)
def test_bands_inside_one_another_are_merged_where_no_member_points_back(bands, wanted):
    scop, tree = tree_of(cube, *bands)
    merged = merge_bands(tree, dependences(scop).validity)
    assert band_sizes(merged) == wanted
    assert merged.get_map().is_equal(tree.get_map())


def test_bands_stay_apart_where_the_inner_one_points_back_across_the_outer():
    upwards = ["S0[t, i] -> [(t)]"], ["S0[t, i] -> [(i)]"]
    scop, tree = tree_of(gauss_seidel, *((members, 1) for members in upwards))
    assert band_sizes(merge_bands(tree, dependences(scop).validity)) == [(1, True), (1, True)]
    skewed = ["S0[t, i] -> [(t)]"], ["S0[t, i] -> [(t + i)]"]
    scop, tree = tree_of(gauss_seidel, *((members, 1) for members in skewed))
    assert band_sizes(merge_bands(tree, dependences(scop).validity)) == [(2, True)]


def test_isl_always_gets_validity_coincidence_and_proximity():
    scop = model(rowwise, MATRIX)
    validity = dependences(scop).validity
    made = schedule_constraints(scop.domain, validity)
    for given in (made.get_validity(), made.get_coincidence(), made.get_proximity()):
        assert given.is_equal(validity)
    assert made.get_domain().is_equal(scop.domain)
