"""The launches of kernels, by dependences alone."""

import numpy as np
import pytest

from polyml.polyhedra import BudgetExceeded
from polyml.schedule.gpu import launch_plan
from polyml.schedule.gpu.launch_plan import on_one_thread, planned, planned_as_written
from tests.gpu import kernels
from tests.gpu.mapping import problem


def shapes_of(*shapes):
    return [np.zeros(shape) for shape in shapes]


def scaled_product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] *= 0.5
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def convolution(Y, X, W):
    for f in range(Y.shape[0]):
        for i in range(Y.shape[1]):
            for j in range(Y.shape[2]):
                for c in range(X.shape[0]):
                    for r in range(W.shape[2]):
                        for s in range(W.shape[3]):
                            Y[f, i, j] += X[c, i + r, j + s] * W[f, c, r, s]


def two_sweeps(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] * 2.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = B[i, j] + 1.0


def two_vectors(x, y):
    for i in range(x.shape[0]):
        y[i] = x[i] * 2.0
    for i in range(x.shape[0]):
        x[i] = y[i] + 1.0


def down_columns(A):
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] += A[i - 1, j]


def along_columns(A, x):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            x[j, i] = A[j, i]


def running(x):
    for i in range(1, x.shape[0]):
        x[i] += x[i - 1]


def summary(plan):
    return [([a.name for a in m.nest.host], [(a.loop.name, a.size) for a in m.axes], m.nest.statements) for m in plan]


@pytest.mark.parametrize("function, arrays, expected", [
    (kernels.gemm, shapes_of((3, 4), (3, 5), (5, 4)), [([], [("j", 16), ("i", 16)], ("S0",))]),
    (scaled_product, shapes_of((3, 4), (3, 5), (5, 4)), [([], [("j", 16), ("i", 16)], ("S0", "S1"))]),
    (two_sweeps, shapes_of((3, 4), (3, 4)), [([], [("j", 32), ("i", 8)], ("S0", "S1"))]),
    (convolution, shapes_of((9, 8, 8), (3, 10, 10), (9, 3, 3, 3)), [([], [("j", 16), ("f", 8)], ("S0",))]),
    (two_vectors, shapes_of(5, 5), [([], [("i", 128)], ("S0", "S1"))]),
    (down_columns, shapes_of((5, 6)), [([], [("j", 128)], ("S0",))]),
    (along_columns, shapes_of((5, 6), (5, 6)), [([], [("i", 32), ("j", 8)], ("S0",))]),
    (running, shapes_of(7), [([], [], ("S0",))]),
])  # fmt: skip
def test_the_loop_that_goes_to_neighbours_is_x(function, arrays, expected):
    """Nests are fused where that takes no loop from the threads of a statement."""
    found, _ = problem(function, *arrays)
    assert summary(planned(found.scop, found.dependences, found.reductions)) == expected


@pytest.mark.parametrize("function, arrays, items", [
    (kernels.gemm, shapes_of((3, 4), (3, 5), (5, 4)), [8, 8]),
    (kernels.syrk, shapes_of((5, 5), (5, 3)), [8, 8]),
    (kernels.matvec, shapes_of((5, 4), 4, 5), [1]),
    (kernels.transpose, shapes_of((5, 4), (4, 5)), [1, 4]),
    (kernels.five_point, shapes_of((9, 9), (9, 9)), [1, 4]),
    (two_vectors, shapes_of(5, 5), [1]),
    (down_columns, shapes_of((5, 6)), [1]),
])  # fmt: skip
def test_a_thread_has_several_iterations_where_its_loads_serve_them(function, arrays, items):
    found, _ = problem(function, *arrays)
    (only,) = planned(found.scop, found.dependences, found.reductions)
    assert [axis.items for axis in only.axes] == items


@pytest.mark.parametrize("function, arrays, sizes, items", [
    (kernels.five_point, shapes_of((9, 35), (9, 35)), [1, 1], [256, 16]),
    (two_vectors, shapes_of(5, 5), [1], [1024]),
    (kernels.gemm, shapes_of((3, 4), (3, 5), (5, 4)), [16, 16], [8, 8]),
    (kernels.matvec, shapes_of((5, 4), 4, 5), [128], [1]),
])  # fmt: skip
def test_where_threads_run_in_turn_a_thread_has_loops_unless_it_has_its_own(function, arrays, sizes, items):
    found, _ = problem(function, *arrays)
    (only,) = planned(found.scop, found.dependences, found.reductions, launch_plan.Traits(in_turn=True))
    assert [axis.size for axis in only.axes] == sizes and [axis.items for axis in only.axes] == items


def test_the_source_s_loops_are_taken_where_a_parallel_form_takes_too_long(monkeypatch):
    def never(*given):
        raise BudgetExceeded("no time")

    found, _ = problem(scaled_product, *shapes_of((3, 4), (3, 5), (5, 4)))
    monkeypatch.setattr(launch_plan, "parallel_schedule", never)
    plan = planned(found.scop, found.dependences, found.reductions)
    assert (
        summary(plan) == summary(planned_as_written(found.scop, found.dependences)) == [([], [("j", 16), ("i", 16)], ("S0", "S1"))]
    )


def test_one_thread_says_why():
    found, _ = problem(running, *shapes_of(7))
    (only,) = on_one_thread(found.scop)
    assert only.axes == () and "not found in time" in only.nest.serial
    (serial,) = planned(found.scop, found.dependences)
    assert "S0[2] depends on S0[1]" in serial.nest.serial
