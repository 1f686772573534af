"""Nests as one launch: where that is legal and pays, against plain Python on the interpreter, thread by thread in any order."""

import numpy as np
import pytest

from polyml.codegen.gpu.program import gpu_program
from polyml.codegen.interpreter import launches
from polyml.schedule.affine.scheduler import parallel_schedule
from polyml.schedule.gpu import launch_fusion
from polyml.schedule.gpu.launch_plan import planned_as_given
from polyml.schedule.legality.check import check_legal
from polyml.schedule.tree import loop_tree
from tests.gpu.mapping import problem


def fused_statements(function, *arrays):
    """The statements of each launch of the fused tree, which is legal and computes what Python does."""
    found, _ = problem(function, *arrays)
    scop = found.scop
    tree = loop_tree.read(parallel_schedule(scop, found.dependences), scop.statements)
    fewer = launch_fusion.fused(tree, scop, found.dependences)
    check_legal(loop_tree.write(scop.domain, fewer), scop, found.dependences)
    mapped = planned_as_given(fewer, scop, found.dependences, found.reductions)
    program = gpu_program(scop, mapped)
    expected = [a.copy() if isinstance(a, np.ndarray) else a for a in arrays]
    result = function(*expected)
    for order in ("source", "reversed", "shuffled"):
        got = [a.copy() if isinstance(a, np.ndarray) else a for a in arrays]
        returned = launches.run(program, dict(zip(scop.params, got)), order=order, seed=1)
        for one, other in zip([*got, returned], [*expected, result]):
            assert one is other is None or np.allclose(one, other)
    return [each.nest.statements for each in mapped]


def random(*shape):
    return np.random.default_rng(sum(shape)).random(shape)


def element_wise(A, B, C):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] * 2.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] = B[i, j] + A[i, j]


def transposed(A, B, C):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] * 2.0
    for i in range(A.shape[1]):
        for j in range(A.shape[0]):
            C[j, i] = B[j, i] + 1.0


def smoothed(A, B, C):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] * 2.0
    for i in range(A.shape[0]):
        for j in range(1, A.shape[1]):
            C[i, j] = B[i, j - 1] + B[i, j]


def overwritten(A, B, C):
    for i in range(A.shape[0]):
        for j in range(1, A.shape[1]):
            C[i, j] = A[i, j - 1]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = B[i, j]


def past_another(A, B, C, D):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] * 2.0
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] = A[i - 1, j]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            D[i, j] = B[i, j] + 1.0


def unlike(x, y, z):
    for i in range(x.shape[0]):
        x[i] = 1.0
    for i in range(y.shape[0]):
        y[i] = 2.0
    for i in range(1, z.shape[0]):
        z[i] = z[i] + x.shape[0]


def sums(A, x, y, z):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[i] += A[i, j] * x[j]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            z[i] += A[j, i] * x[j]


def products(A, B, C, D):
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            for k in range(A.shape[0]):
                C[i, j] += A[i, k] * B[k, j]
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            for k in range(A.shape[0]):
                D[i, j] += A[i, k] * B[j, k]


def with_bias(A, B, C, x):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = 0.0
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = max(C[i, j] + x[j], 0.0)


def steps(x, y, z):
    for t in range(4):
        for i in range(x.shape[0]):
            y[i] = x[i] + t
        for i in range(x.shape[0]):
            z[i] += y[i]
        for i in range(x.shape[0]):
            x[i] = z[x.shape[0] - 1 - i]


ONE, TWO = ("S0", "S1"), [("S0",), ("S1",)]
THREE = (random(5, 6), random(5, 6), random(5, 6))


@pytest.mark.parametrize("function, arrays, expected", [
    (element_wise, THREE, [ONE]),
    (transposed, (random(5, 6), random(5, 6), random(5, 6)), [ONE]),  # the loops in another order
    (smoothed, THREE, TWO),  # a thread would read what another one writes
    (overwritten, THREE, TWO),  # and overwrite what another one reads
    (past_another, (*THREE, random(5, 6)), [("S0", "S2"), ("S1",)]),
    (unlike, (random(5), random(6), random(5)), [("S0",), ("S1",), ("S2",)]),  # independent, with other iterations
    (sums, (random(6, 6), random(6), random(6), random(6)), TWO),  # which share nothing in a thread
    (products, (random(6, 6),) * 4, TWO),  # which would take twice the registers
    (with_bias, (random(5, 4), random(4, 6), random(5, 6), random(6)), [("S0", "S1", "S2")]),
    (steps, (random(5), random(5), random(5)), [("S0", "S1"), ("S2",)]),  # in each iteration of the host's loop
])  # fmt: skip
def test_nests_are_one_launch_where_their_threads_keep_what_they_write(function, arrays, expected):
    arrays = [a.copy() for a in arrays]
    assert sorted(tuple(sorted(names)) for names in fused_statements(function, *arrays)) == expected
