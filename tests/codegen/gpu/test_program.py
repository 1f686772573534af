"""Launches, run thread by thread in three orders on NumPy arrays, against the kernel as plain Python."""

import numpy as np
import pytest

from polyml.codegen.gpu.program import gpu_program
from polyml.codegen.interpreter import launches
from polyml.schedule.gpu.launch_plan import on_one_thread, planned, planned_as_written
from polyml.schedule.gpu.mapping import every_nest, mapped
from polyml.schedule.tree import loop_tree
from tests.gpu import kernels
from tests.gpu.mapping import problem

RNG = np.random.default_rng(7)


def numbers(*shape):
    return RNG.integers(-9, 9, shape).astype(float)  # sums of these are exact in any order


def lu(A):
    for k in range(A.shape[0]):
        for i in range(k + 1, A.shape[0]):
            A[i, k] = A[i, k] - A[k, k]
        for i in range(k + 1, A.shape[0]):
            for j in range(k + 1, A.shape[0]):
                A[i, j] -= A[i, k] * A[k, j]


def four_loops(A, B):
    for a in range(A.shape[0]):
        for b in range(1, A.shape[1]):
            for c in range(A.shape[2]):
                for d in range(A.shape[3]):
                    B[a, b, c, d] = A[a, b, c, d] - A[a, b - 1, c, d]


def recurrence(x):
    for i in range(1, x.shape[0]):
        x[i] = x[i] + x[i - 1]


def far_from_zero(x, y):
    for i in range(37, x.shape[0]):
        for j in range(i, x.shape[0]):
            y[i, j] = x[j]


CASES = [
    (kernels.gemm, (numbers(9, 11), numbers(9, 5), numbers(5, 11))),
    (kernels.transpose, (numbers(5, 40), numbers(40, 5))),
    (kernels.five_point, (numbers(9, 35), numbers(9, 35))),
    (kernels.triangle, (numbers(10, 10), numbers(10, 10))),
    (kernels.trmm, (numbers(7, 7), numbers(7, 9))),
    (kernels.sweeps, (numbers(20), numbers(20), numbers(3))),
    (lu, (numbers(7, 7),)),
    (four_loops, (numbers(2, 3, 4, 5), numbers(2, 3, 4, 5))),
    (recurrence, (numbers(30),)),
    (far_from_zero, (numbers(45), numbers(45, 45))),
]  # fmt: skip


@pytest.mark.parametrize("order", ["source", "reversed", "shuffled"])
@pytest.mark.parametrize("function, arrays", CASES, ids=[function.__name__ for function, _ in CASES])
def test_threads_in_any_order_compute_what_python_does(function, arrays, order):
    wanted, found = [a.copy() for a in arrays], [a.copy() for a in arrays]
    function(*wanted)
    given, _ = problem(function, *arrays)
    program = gpu_program(given.scop, planned(given.scop, given.dependences, given.reductions))
    launches.run(program, dict(zip(given.scop.params, found)), order=order, seed=3)
    assert all(np.array_equal(a, b) for a, b in zip(found, wanted))


@pytest.mark.parametrize("adjacent", [False, True])
@pytest.mark.parametrize("items", [(2, 3), (4, 1)])
@pytest.mark.parametrize("function, arrays", CASES[:4], ids=[function.__name__ for function, _ in CASES[:4]])
def test_a_thread_may_have_several_iterations(function, arrays, items, adjacent):
    wanted, found = [a.copy() for a in arrays], [a.copy() for a in arrays]
    function(*wanted)
    given, _ = problem(function, *arrays)
    nests = every_nest(loop_tree.read(given.scop.schedule, given.scop.statements), given.scop, given.dependences)
    program = gpu_program(given.scop, [mapped(n, range(len(n.grid))[::-1], (4, 2), items, adjacent) for n in nests])
    launches.run(program, dict(zip(given.scop.params, found)), order="shuffled")
    assert all(np.array_equal(a, b) for a, b in zip(found, wanted))


@pytest.mark.parametrize("function, arrays", CASES[:6], ids=[function.__name__ for function, _ in CASES[:6]])
def test_a_thread_may_run_its_iterations_in_loops(function, arrays):
    wanted, found = [a.copy() for a in arrays], [a.copy() for a in arrays]
    function(*wanted)
    given, _ = problem(function, *arrays)
    nests = every_nest(loop_tree.read(given.scop.schedule, given.scop.statements), given.scop, given.dependences)
    chosen = [mapped(n, range(len(n.grid))[::-1], (1, 1), (8, 3), adjacent=True, rolled=True) for n in nests]
    program = gpu_program(given.scop, chosen)
    assert all(len(launch.versions) == 1 for launch in program.launches.values())
    launches.run(program, dict(zip(given.scop.params, found)), order="shuffled")
    assert all(np.array_equal(a, b) for a, b in zip(found, wanted))


def test_launches_of_one_host_loop_alternate():
    arrays = numbers(12), numbers(12), numbers(4)
    given, _ = problem(kernels.sweeps, *arrays)
    program = gpu_program(given.scop, planned_as_written(given.scop, given.dependences))
    (loop,) = [node for guard in program.order for node in (guard.body if hasattr(guard, "condition") else (guard,))]
    assert [node.statement for node in loop.body] == ["sweeps_0", "sweeps_1"]


def test_a_triangle_begins_with_the_first_block_that_has_work():
    given, _ = problem(far_from_zero, numbers(45), numbers(45, 45))
    (launch,) = gpu_program(given.scop, planned_as_written(given.scop, given.dependences)).launches.values()
    assert [axis.first.evaluate({"x_0": 45}) for axis in launch.axes] == [1, 4]  # of blocks of 32 and of 8, from 37 on
    assert [axis.blocks.evaluate({"x_0": 45}) for axis in launch.axes] == [1, 2]


def test_all_loops_may_run_on_one_thread():
    given, _ = problem(recurrence, numbers(5))
    (launch,) = gpu_program(given.scop, on_one_thread(given.scop)).launches.values()
    assert launch.axes == () and launch.host == ()
