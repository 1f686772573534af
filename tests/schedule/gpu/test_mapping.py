import numpy as np
import pytest

from polyml.errors import ConfigError
from polyml.schedule.affine.scheduler import parallel_schedule
from polyml.schedule.gpu.mapping import check_block, every_nest, mapped
from polyml.schedule.legality.check import check_legal, check_parallel
from polyml.schedule.tiling.blocked_factorization import restricted
from polyml.schedule.tree import loop_tree
from polyml.schedule.tree.directives import Directives
from tests.gpu import kernels
from tests.gpu.mapping import problem, source_nests


def shapes_of(*shapes):
    return [np.zeros(shape) for shape in shapes]


def summary(found):
    return [([a.name for a in n.host], [a.name for a in n.grid], n.statements) for n in found]


def lu(A):
    for k in range(A.shape[0]):
        for i in range(k + 1, A.shape[0]):
            A[i, k] /= A[k, k]
        for i in range(k + 1, A.shape[0]):
            for j in range(k + 1, A.shape[0]):
                A[i, j] -= A[i, k] * A[k, j]


def two_loops_of_the_host(A, s):
    for t in range(4):
        for i in range(A.shape[0]):
            A[i] = A[i] * s[0]
        s[0] = s[0] + A[0]
    for t in range(4):
        s[0] = s[0] * A[1]
        for i in range(A.shape[0]):
            A[i] = A[i] + s[0]


def scaled_product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] *= 0.5
        for k in range(A.shape[1]):
            for j in range(C.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def middle_order(C, A, B):
    for i in range(C.shape[0]):
        for k in range(A.shape[1]):
            for j in range(C.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@pytest.mark.parametrize("function, arrays, expected", [
    (kernels.gemm, shapes_of((3, 4), (3, 5), (5, 4)), [([], ["i", "j"], ("S0",))]),
    (middle_order, shapes_of((3, 4), (3, 5), (5, 4)), [([], ["i", "j"], ("S0",))]),
    (scaled_product, shapes_of((3, 4), (3, 5), (5, 4)), [([], ["i"], ("S0", "S1"))]),
    (kernels.sweeps, shapes_of(9, 9, 4), [(["t"], ["i"], ("S0",)), (["t"], ["i"], ("S1",))]),
    (kernels.trmm, shapes_of((5, 5), (5, 6)), [([], ["j"], ("S0",))]),
    (lu, shapes_of((6, 6)), [(["k"], ["i"], ("S0",)), (["k"], ["i", "j"], ("S1",))]),
    (two_loops_of_the_host, shapes_of(6, 1),
     [(["t"], ["i"], ("S0",)), (["t"], [], ("S1",)), (["t"], [], ("S2",)), (["t"], ["i"], ("S3",))]),
])  # fmt: skip
def test_loops_without_dependences_in_a_launch_are_its_grid(function, arrays, expected):
    found, _ = problem(function, *arrays)
    assert summary(source_nests(found)) == expected


def test_what_is_between_is_not_of_the_grid():
    """k is between i and j, which are the grid; a thread's loop is k alone."""
    found, _ = problem(middle_order, *shapes_of((3, 4), (3, 5), (5, 4)))
    (nest,) = source_nests(found)
    (run,) = nest.runs()
    assert [loop.name for loop in run.inside] == ["k"]


def tree(nest):
    """The host's loops, the grid's, asked to go to threads, and in these a thread's own."""
    node = nest.body
    for around in reversed((*nest.host, *nest.grid)):
        member = loop_tree.on(around.values, loop_tree.statements(node))
        node = loop_tree.Loop(around.name, member, node, Directives(parallel=around in nest.grid))
    return node


@pytest.mark.parametrize("function, arrays", [
    (kernels.gemm, shapes_of((3, 4), (3, 5), (5, 4))), (middle_order, shapes_of((3, 4), (3, 5), (5, 4))),
    (scaled_product, shapes_of((3, 4), (3, 5), (5, 4))), (kernels.sweeps, shapes_of(9, 9, 4)), (lu, shapes_of((6, 6))),
    (kernels.trmm, shapes_of((5, 5), (5, 6))), (kernels.syrk, shapes_of((5, 5), (5, 6))),
    (kernels.dots, shapes_of((3, 5), (4, 5), (3, 4))),
])  # fmt: skip
@pytest.mark.parametrize("form", ["source", "parallel"])
def test_grids_are_proved_parallel(function, arrays, form):
    """By the proof that schedules of CPUs go through: each launch's tree, with the grid around all else."""
    found, _ = problem(function, *arrays)
    order = found.scop.schedule if form == "source" else parallel_schedule(found.scop, found.dependences)
    for nest in every_nest(loop_tree.read(order, found.scop.statements), found.scop, found.dependences):
        scop, within = restricted(found.scop, found.dependences, nest.instances)
        made = loop_tree.write(nest.instances, tree(nest))
        check_legal(made, scop, within)
        check_parallel(made, scop, within)


def test_a_kernel_without_a_parallel_loop_has_two_iterations_as_the_reason():
    found, _ = problem(kernels.prefix, np.zeros(9))
    (nest,) = source_nests(found)
    assert not nest.grid and "S0[2] depends on S0[1] (flow dependence through x, with x_0 = 3)" in nest.serial


def test_a_part_without_a_parallel_loop_is_one_thread():
    def both(x, y):
        for i in range(1, x.shape[0]):
            x[i] = x[i] + x[i - 1]
        for i in range(x.shape[0]):
            y[i] = x[i]

    found, _ = problem(both, np.zeros(9), np.zeros(9))
    first, second = source_nests(found)
    assert not first.grid and "depends on" in first.serial and [a.name for a in second.grid] == ["i"] and not second.serial


def test_loops_behind_a_block_s_sizes_are_of_blocks_alone():
    found, _ = problem(kernels.gemm, *shapes_of((3, 4), (3, 5), (5, 4)))
    (nest,) = source_nests(found)
    on = mapped(nest, [1, 0], [64])
    assert [(axis.loop.name, axis.size) for axis in on.axes] == [("j", 64), ("i", 1)]


@pytest.mark.parametrize("sizes, said", [((2048,), "has 2,048 threads"), ((32, 0), "at least 1, not 32, 0"), ((), "not none"),
                                         ((2, 2, 2, 2), "one to 3 sizes")])  # fmt: skip
def test_blocks_that_do_not_exist(sizes, said):
    with pytest.raises(ConfigError, match=said):
        check_block(sizes, 1024)
