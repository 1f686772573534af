"""Which loop goes along x where threads have no loops of their own, and which threads have several rows."""

import numpy as np
import pytest

from polyml.schedule.gpu.mapping import every_nest
from polyml.schedule.gpu.warp_lines import is_flat, is_turned, lines, shares_rows
from polyml.schedule.tree import loop_tree
from tests.gpu import kernels
from tests.gpu.mapping import problem


def two_turned(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[j, i] = A[i, j] + B[i, j]


def in_place(A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = A[i, j] + 1.0


def nest_of(function, *shapes):
    found, _ = problem(function, *map(np.zeros, shapes))
    (nest,) = every_nest(loop_tree.read(found.scop.schedule, found.scop.statements), found.scop, found.dependences)
    return nest, found.scop


@pytest.mark.parametrize("function, shapes, expected", [
    (kernels.transpose, [(9, 9), (9, 9)], [3 + 1, 1 + 32]),  # loads by shared memory, or scattered stores
    (two_turned, [(9, 9)] * 3, [3 + 3 + 1, 1 + 1 + 32]),
    (in_place, [(9, 9)], [32 + 32, 1 + 1]),  # what a launch writes does not come by shared memory
    (kernels.five_point, [(9, 9), (9, 9)], [5 * 3 + 32, 6]),
])  # fmt: skip
def test_lines_of_a_warp(function, shapes, expected):
    nest, scop = nest_of(function, *shapes)
    assert is_flat(nest) and [lines(nest, loop, scop) for loop in nest.grid] == expected


@pytest.mark.parametrize("function, shapes, rows, is_read_turned", [
    (kernels.five_point, [(9, 9), (9, 9)], [True, True], [True, False]),
    (kernels.transpose, [(9, 9), (9, 9)], [False, False], [True, False]),
    (in_place, [(9, 9)], [False, False], [False, False]),
])  # fmt: skip
def test_rows_and_turned_reads(function, shapes, rows, is_read_turned):
    nest, scop = nest_of(function, *shapes)
    assert [shares_rows(nest, loop, scop) for loop in nest.grid] == rows
    assert [is_turned(nest, loop, scop) for loop in nest.grid] == is_read_turned


def test_a_product_is_not_flat():
    assert not is_flat(nest_of(kernels.gemm, (3, 4), (3, 5), (5, 4))[0])
