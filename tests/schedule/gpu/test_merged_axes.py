"""Which loops become one axis of a grid together."""

import numpy as np
import pytest

from polyml.errors import ScheduleError
from polyml.schedule.gpu.launch_plan import planned, planned_as_given, planned_tree
from polyml.schedule.gpu.marks import marked
from polyml.schedule.gpu.merged_axes import is_box
from polyml.schedule.tree import loop_tree
from polyml.schedule.tree.directives import Directives, GridPlace
from tests.gpu import kernels
from tests.gpu.mapping import problem, source_nests
from tests.gpu.sums import contraction


def convolution(Y, X, W):
    for n in range(Y.shape[0]):
        for f in range(Y.shape[1]):
            for i in range(Y.shape[2]):
                for j in range(Y.shape[3]):
                    Y[n, f, i, j] = 0
                    for c in range(X.shape[1]):
                        for r in range(W.shape[2]):
                            for s in range(W.shape[3]):
                                Y[n, f, i, j] += X[n, c, i + r, j + s] * W[f, c, r, s]


def batches(C, A, B):
    for b in range(C.shape[0]):
        for i in range(C.shape[1]):
            for j in range(C.shape[2]):
                for k in range(A.shape[2]):
                    C[b, i, j] += A[b, i, k] * B[b, k, j]


def batched_contraction(C, A, B):
    for b in range(C.shape[0]):
        for h in range(C.shape[1]):
            for i in range(C.shape[2]):
                for j in range(C.shape[3]):
                    for k in range(A.shape[2]):
                        C[b, h, i, j] += A[b, h, k] * B[b, k, i, j]


def triangle(C, A, B):
    for a in range(C.shape[0]):
        for b in range(a, C.shape[1]):
            for c in range(C.shape[2]):
                for d in range(A.shape[2]):
                    C[a, b, c] += A[a, b, d] * B[d, c]


def short_sum(C, A, B):
    for a in range(C.shape[0]):
        for b in range(C.shape[1]):
            for c in range(C.shape[2]):
                for d in range(c + 1):
                    C[a, b, c] += A[a, b, d] * B[d, c]


def with_index(C, A, B):
    for a in range(C.shape[0]):
        for b in range(C.shape[1]):
            for c in range(C.shape[2]):
                for d in range(A.shape[2]):
                    C[a, b, c] += A[a, b, d] * B[d, c] * d


def two_arrays(C, D, A, B):
    for a in range(C.shape[0]):
        for b in range(C.shape[1]):
            for c in range(C.shape[2]):
                for d in range(A.shape[2]):
                    C[a, b, c] += A[a, b, d] * B[d, c]
                    D[a, b, c] += C[a, b, c] * B[d, c]


def zeros(*shapes):
    return [np.zeros(shape) for shape in shapes]


def merged(function, *arrays):
    """The names of the loops of each axis, of a launch whose loops are merged; None for another."""
    found, _ = problem(function, *arrays)
    (only,) = planned(found.scop, found.dependences, found.reductions)
    axes = [(*(loop.name for loop in axis.loops), axis.size) for axis in only.axes]
    return axes if any(axis.merged for axis in only.axes) else None


@pytest.mark.parametrize("function, arrays, axes", [
    (convolution, zeros((2, 3, 4, 5), (2, 3, 6, 7), (3, 3, 3, 3)), [("n", "i", "j", 16), ("f", 8)]),
    (contraction, zeros((3, 4, 5), (3, 4, 2, 2), (2, 2, 5)), [("c", 16), ("a", "b", 8)]),
    (batched_contraction, zeros((2, 3, 4, 5), (2, 3, 6), (2, 6, 4, 5)), [("i", "j", 16), ("h", 8), ("b", 1)]),
    (batches, zeros((2, 3, 4), (2, 3, 5), (2, 5, 4)), None),
    (kernels.gemm, zeros((3, 4), (3, 5), (5, 4)), None),
    (triangle, zeros((3, 4, 5), (3, 4, 2), (2, 5)), None),
    (short_sum, zeros((3, 4, 5), (3, 4, 5), (5, 5)), None),
    (with_index, zeros((3, 4, 5), (3, 4, 5), (5, 5)), None),
])  # fmt: skip
def test_loops_are_merged_along_which_one_operand_moves(function, arrays, axes):
    assert merged(function, *arrays) == axes


def test_a_launch_that_writes_two_arrays_has_one_loop_along_an_axis():
    found, _ = problem(two_arrays, *zeros((3, 4, 5), (3, 4, 5), (3, 4, 5), (5, 5)))
    assert not any(axis.merged for each in planned(found.scop, found.dependences) for axis in each.axes)


@pytest.mark.parametrize("function, arrays, is_one", [
    (contraction, zeros((3, 4, 5), (3, 4, 2, 2), (2, 2, 5)), True),
    (triangle, zeros((3, 4, 5), (3, 4, 2), (2, 5)), False),
    (short_sum, zeros((3, 4, 5), (3, 4, 5), (5, 5)), False),
])  # fmt: skip
def test_loops_whose_bounds_depend_on_one_another_are_no_box(function, arrays, is_one):
    found, _ = problem(function, *arrays)
    assert all(map(is_box, source_nests(found))) == is_one


def test_marks_ask_for_what_is_found():
    found, _ = problem(convolution, *zeros((2, 3, 4, 5), (2, 3, 6, 7), (3, 3, 3, 3)))
    tree, launches = planned_tree(found.scop, found.dependences, found.reductions)
    written = marked(tree, launches)
    (again,) = planned_as_given(written, found.scop, found.dependences, found.reductions)
    (only,) = launches
    told = [[(loop.name, axis.size, axis.items, axis.adjacent) for loop in axis.loops] for axis in only.axes]
    assert [[(loop.name, axis.size, axis.items, axis.adjacent) for loop in axis.loops] for axis in again.axes] == told


def test_a_triangle_is_refused_where_marks_merge_its_loops():
    found, _ = problem(triangle, *zeros((3, 4, 5), (3, 4, 2), (2, 5)))
    places = {"a": GridPlace(1, 8, 8, True), "b": GridPlace(1, 8, 8, True), "c": GridPlace(0, 16, 8, True)}
    tree = loop_tree.read(found.scop.schedule, found.scop.statements)
    for path, loop in list(loop_tree.loops(tree)):
        if loop.name in places:
            at = dict(loop_tree.loops(tree))[path]
            new = loop_tree.Loop(at.name, at.member, at.body, Directives(grid=places[loop.name]), at.cut)
            tree = loop_tree.replaced(tree, path, new)
    with pytest.raises(ScheduleError, match="bounds that are the same in all iterations of the others"):
        planned_as_given(tree, found.scop, found.dependences, found.reductions)
