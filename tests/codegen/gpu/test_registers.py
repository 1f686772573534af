"""Elements of arrays in registers while a loop of a thread runs."""

import numpy as np
import pytest

from polyml.codegen.gpu.program import gpu_program
from polyml.schedule.gpu.mapping import every_nest, mapped
from polyml.schedule.tree import loop_tree
from tests.gpu import kernels
from tests.gpu.mapping import problem
from tests.opencl import footprints


def held(function, *shapes, items=(2, 2)):
    """By launch, the arrays in registers and their subscripts, of the source's loops with several items along x and y."""
    given, _ = problem(function, *map(np.zeros, shapes))
    nests = every_nest(loop_tree.read(given.scop.schedule, given.scop.statements), given.scop, given.dependences)
    program = gpu_program(given.scop, [mapped(n, range(len(n.grid))[::-1], (4, 2), items) for n in nests])
    return [
        [(each.array, [*map(str, each.subscripts)]) for v in launch.versions for each in v.registers]
        for launch in program.launches.values()
    ]


def two_sums(C, D, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
            for k in range(A.shape[1]):
                D[i, j] += C[i, j] * B[k, j]


def neighbours(C, A):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(1, C.shape[2]):
                C[i, j, k] = C[i, j, k - 1] + A[i, j]


def triangular(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(i):
                C[i, j] += A[i, k] * B[k, j]


@pytest.mark.parametrize("function, shapes, expected", [
    (kernels.gemm, [(9, 9), (9, 5), (5, 9)], [[("C", ["i + 2*i_item", "j + 4*j_item"])]]),
    (two_sums, [(9, 9), (9, 9), (9, 5), (5, 9)], [[("C", ["i + 2*i_item", "j + 4*j_item"]), ("D", ["i + 2*i_item", "j + 4*j_item"])]]),
    (neighbours, [(9, 9, 4), (9, 9)], [[]]),  # the element moves with the loop
    (triangular, [(9, 9), (9, 9), (9, 9)], [[]]),  # items run the loop differently often
    (kernels.transpose, [(9, 9), (9, 9)], [[]]),  # a thread has no loop
])  # fmt: skip
def test_an_element_stays_in_a_register_where_the_loop_does_not_move_it(function, shapes, expected):
    assert held(function, *shapes) == expected


def test_a_thread_with_one_iteration_holds_its_sum_too():
    assert held(kernels.gemm, (9, 9), (9, 5), (5, 9), items=()) == [[("C", ["i", "j"])]]
    assert held(kernels.trmm, (9, 9), (9, 9), items=()) == [[]]  # the sum reads what the loop writes


def loops_of(function, *shapes):
    """The names of the loops that registers are filled for, each chain outermost first, and when they are filled."""
    given, _ = problem(function, *map(np.zeros, shapes))
    nests = every_nest(loop_tree.read(given.scop.schedule, given.scop.statements), given.scop, given.dependences)
    program = gpu_program(given.scop, [mapped(n, range(len(n.grid))[::-1], (4, 2), (2, 2)) for n in nests])
    (launch,) = program.launches.values()
    return [([loop.name for loop in each.chain], str(each.runs)) for v in launch.versions for each in v.registers]


def in_the_first_row(C, A):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[0]):
                for m in range(1, A.shape[1]):
                    C[i, j] += A[k, m] + C[i, j] * A[k, 0]


def of_rows(C, A):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(C.shape[2]):
                for m in range(A.shape[1]):
                    C[i, j, k] += A[k, m]


def test_registers_are_filled_once_for_loops_in_loops():
    """But for inner loops whose bounds change, which may not run though the outer ones do: a thread has no right to elements then."""
    assert loops_of(in_the_first_row, (9, 9), (4, 5)) == [(["k", "m"], "A_0 >= 1 and A_1 >= 2")]
    assert loops_of(of_rows, (9, 9, 4), (4, 5)) == [(["m"], "A_1 >= 1")]
    assert loops_of(footprints.triangles, (9, 7), (7, 9), (9, 9)) == [(["m"], "A_1 >= c0 + 3")]


def twice(C, A):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[0]):
                C[i, j] = C[i, j] * C[i, j]
            for k in range(1, A.shape[0]):
                C[i, j] = C[i, j] + C[i, j]


def test_each_of_two_loops_has_registers_of_its_own():
    """The first one may have no iterations, and then gives the second one no values."""
    given, _ = problem(twice, np.zeros((9, 9)), np.zeros(5))
    nests = every_nest(loop_tree.read(given.scop.schedule, given.scop.statements), given.scop, given.dependences)
    program = gpu_program(given.scop, [mapped(n, range(len(n.grid))[::-1], (4, 2), ()) for n in nests])
    (launch,) = program.launches.values()
    assert [each.start for version in launch.versions for each in version.registers] == [(), ()]


def set_again(C, A):
    for i in range(C.shape[0]):
        for k in range(A.shape[0]):
            C[i] = A[k] * 2


def test_registers_are_not_filled_with_what_the_loop_does_not_need():
    """The host does not even copy the elements to the device then."""
    for function, is_loaded in ((set_again, False), (twice, True)):
        given, _ = problem(function, *(np.zeros(shape) for shape in ((9,) if function is set_again else (9, 9), 5)))
        nests = every_nest(loop_tree.read(given.scop.schedule, given.scop.statements), given.scop, given.dependences)
        program = gpu_program(given.scop, [mapped(n, range(len(n.grid))[::-1], (4, 2), ()) for n in nests])
        (launch,) = program.launches.values()
        assert {each.is_loaded(given.scop) for version in launch.versions for each in version.registers} == {is_loaded}
