"""Parts of arrays that the threads of a block share."""

import numpy as np
import pytest

import polyml
from polyml.codegen.gpu.program import gpu_program
from polyml.codegen.interpreter import launches
from polyml.schedule.gpu.mapping import every_nest, mapped
from polyml.schedule.tree import loop_tree
from tests.gpu import kernels
from tests.gpu.mapping import problem


def program_of(function, *arrays, block=(4, 2), items=(2, 2)):
    given, _ = problem(function, *arrays)
    nests = every_nest(loop_tree.read(given.scop.schedule, given.scop.statements), given.scop, given.dependences)
    return gpu_program(given.scop, [mapped(n, range(len(n.grid))[::-1], block, items) for n in nests])


def tiles(function, *shapes, **given):
    """The array, first elements and extents of each tile, of the source's loops."""
    program = program_of(function, *map(np.zeros, shapes), **given)
    staged = [each for launch in program.launches.values() for version in launch.versions for each in version.staged]
    return [
        (t.array, [*map(str, (d.first for d in t.dimensions))], [d.extent for d in t.dimensions])
        for each in staged
        for t in each.tiles
    ]


def scaled(C, A, x, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * x[k] * B[k + 3, 2 * j]


def diagonal(C, A):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[0]):
                C[i, j] += A[k, i + j]


def own_rows(C, A):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[2]):
                C[i, j] += A[i, j, k]


def windows(C, x, A):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * x[j + k]


def backwards(C, x, A):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, A.shape[1] - 1 - k] * x[2 * (j + A.shape[1] - k)]


def two_sums(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                for m in range(A.shape[2]):
                    C[i, j] += A[i, k, m] * B[m, j, k]


def squared(C):
    for i in range(C.shape[0]):
        for j in range(C.shape[0]):
            for k in range(C.shape[0]):
                C[i, j] += C[i, j] * 2.0


@pytest.mark.parametrize("function, shapes, expected", [
    (kernels.gemm, [(9, 9), (9, 5), (5, 9)], [("A", ["i_block", "k_chunk"], [4, 16]), ("B", ["k_chunk", "j_block"], [16, 8])]),
    (scaled, [(9, 9), (9, 5), 5, (9, 20)], [("A", ["i_block", "k_chunk"], [4, 16]), ("x", ["k_chunk"], [16])]),  # 2*j leaves gaps
    (diagonal, [(9, 9), (5, 18)], [("A", ["k_chunk", "i_block + j_block"], [16, 11])]),  # 2.9 loads for each element
    (own_rows, [(9, 9), (9, 9, 5)], []),  # no thread loads what another does
    (squared, [(9, 9)], []),
    (windows, [(9, 9), 20, (9, 5)], [("A", ["i_block", "k_chunk"], [4, 16]), ("x", ["j_block + k_chunk"], [23])]),
    (backwards, [(9, 9), 60, (9, 5)], [("A", ["i_block", "A_1 - k_chunk - 16"], [4, 16]), ("x", ["2*A_1 + 2*j_block - 2*k_chunk - 30"], [45])]),
    (two_sums, [(9, 9), (9, 4, 5), (5, 9, 4)], [("A", ["i_block", "c0", "m_chunk"], [4, 1, 16]), ("B", ["m_chunk", "j_block", "c0"], [16, 8, 1])]),
])  # fmt: skip
def test_a_tile_is_what_several_threads_load_in_a_chunk(function, shapes, expected):
    assert tiles(function, *shapes) == expected


def test_tiles_that_do_not_fit_shared_memory_are_not_made():
    assert tiles(kernels.gemm, (9, 9), (9, 5), (5, 9), block=(32, 32), items=(16, 16)) == []
    fitting = tiles(kernels.gemm, (9, 9), (9, 5), (5, 9), block=(32, 32), items=(8, 8))
    assert fitting == [("A", ["i_block", "k_chunk"], [256, 16])]  # 33 KB; the tile of B takes 32


@pytest.mark.parametrize("sizes", [(8, 4, 16), (9, 9, 17), (16, 8, 5), (3, 2, 40)])
def test_a_block_runs_a_version_as_a_whole(sizes):
    """The condition is the same for all threads of a block, so that each of them reaches each barrier."""
    n, m, k = sizes
    rng = np.random.default_rng(1)
    A, B = (rng.integers(-5, 5, shape).astype(float) for shape in ((n, k), (k, m)))
    C = np.zeros((n, m))
    program = program_of(kernels.gemm, C, A, B)
    (launch,) = program.launches.values()
    values = {"C_0": n, "C_1": m, "A_0": n, "A_1": k, "B_0": k, "B_1": m}
    taken = {}
    for start in launches.threads(launch, values):
        block = tuple(start[axis.block] for axis in launch.blocks)
        holds = [version.condition.evaluate({**values, **start}) for version in launch.versions]
        assert sum(holds) == 1
        taken.setdefault(block, set()).add(holds.index(True))
    assert all(len(each) == 1 for each in taken.values())
    launches.run(program, {"C": C, "A": A, "B": B}, order="shuffled")
    assert np.array_equal(C, A @ B)


def test_the_text_has_a_barrier_before_and_behind_what_reads_a_tile():
    text = polyml.kernel(kernels.gemm).inspect_opencl("f32[:, :]", "f32[:, :]", "f32[:, :]").partition("    else {")[0]
    assert "__local float A_tile[16][132];" in text and "__local float B_tile[16][128];" in text
    fills, first, reads, second = (text.index(part) for part in (
        "B_tile[e0][e1] = B[", "k_chunk + 15, j_block..j_block + 127]: written by the copy, read by all threads",
        "C_held[j_item][i_item] += A_tile[", "barrier(CLK_LOCAL_MEM_FENCE);  // A_tile and B_tile: read by all threads, written by the next copy",
    ))  # fmt: skip
    assert text.index("A_tile[e1][e0] = A[") < fills < first < reads < second
    assert text.count("barrier(CLK_LOCAL_MEM_FENCE)") == 2
