"""Elements of arrays in registers while a loop of a thread runs."""

import numpy as np
import pytest

from polyml.codegen.gpu.program import gpu_program
from polyml.schedule.gpu.mapping import every_nest, mapped
from polyml.schedule.tree import loop_tree
from tests.gpu import kernels
from tests.gpu.mapping import problem


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
