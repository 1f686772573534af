"""Tiles that are copied ahead of the loop that reads them."""

import numpy as np
import pytest

import polyml
from polyml.codegen.gpu.block_loops.shared_work import Instructions
from polyml.codegen.gpu.block_loops.swizzles import RowOrder
from polyml.codegen.gpu.program import gpu_program
from polyml.codegen.gpu.shared_tiles import MOST_BYTES
from polyml.quasi_affine.affine import variable
from polyml.schedule.gpu.mapping import every_nest, mapped
from polyml.schedule.tree import loop_tree
from tests.codegen.gpu.block_loops.test_swizzles import most_in_a_bank
from tests.gpu import kernels
from tests.gpu.mapping import problem


def pipelined_of(function, dtype=np.float32, block=(16, 16), items=(8, 8), copies=True):
    given, _ = problem(function, *(np.zeros((9, 9), dtype) for _ in range(function.__code__.co_argcount)))
    nests = every_nest(loop_tree.read(given.scop.schedule, given.scop.statements), given.scop, given.dependences)
    program = gpu_program(given.scop, [mapped(n, (1, 0), block, items, True) for n in nests], Instructions(copies=copies))
    (launch,) = program.launches.values()
    return launch, [each for version in launch.versions for each in version.pipelined], given.scop


def both_along(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[0]):
                C[i, j] += A[k, i] * B[k, j]


def test_rows_of_the_array_are_copied_in_vectors_and_others_by_elements():
    _, (found,), _ = pipelined_of(kernels.gemm)
    assert [(each.tile.array, each.order) for each in found.tiles] == [("A", None), ("B", RowOrder(2, 4, 32))]
    assert [each.lengths for each in found.tiles] == [(16, 132), (16, 144)]
    _, (found,), _ = pipelined_of(both_along)
    assert [(each.tile.array, each.order) for each in found.tiles] == [("A", RowOrder(2, 4, 32)), ("B", RowOrder(2, 4, 32))]


@pytest.mark.parametrize("dtype, length, vectors", [(np.float32, 16, 2), (np.float64, 8, 4)])
def test_chunks_are_as_long_as_two_of_them_fit(dtype, length, vectors):
    _, (found,), scop = pipelined_of(kernels.gemm, dtype)
    assert found.length == length and found.slots == 2 and found.size_bytes(scop) <= MOST_BYTES
    assert found.tiles[1].order == RowOrder(vectors, 16 // np.dtype(dtype).itemsize, 128 * np.dtype(dtype).itemsize // 16)


def test_small_elements_that_change_rows_and_columns_are_copied_between_barriers():
    launch, found, _ = pipelined_of(kernels.gemm, np.int16)
    assert not found and [len(version.staged) for version in launch.versions] == [1]
    launch, found, _ = pipelined_of(both_along, np.int16)
    assert found and not launch.versions[0].staged


def four_tiles(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[j, k] + B[i, k] * A[j, k]


def test_threads_that_have_too_few_registers_copy_between_barriers():
    launch, found, _ = pipelined_of(four_tiles, np.float64)
    assert not found and launch.versions[0].staged
    assert not pipelined_of(four_tiles, np.float32)[0].versions[0].staged


def test_sums_of_wide_integers_take_more_registers():
    launch, found, _ = pipelined_of(kernels.gemm, np.int64)
    assert not found and launch.versions[0].staged
    assert pipelined_of(kernels.gemm, np.int64, items=(8, 4))[1] and pipelined_of(kernels.gemm, np.int32)[1]


def test_devices_without_asynchronous_copies_have_none():
    launch, found, _ = pipelined_of(kernels.gemm, copies=False)
    assert not found and launch.versions[0].staged


@pytest.mark.parametrize("own, size", [(1, 4), (2, 4), (4, 4), (4, 8), (8, 8)])
def test_threads_read_and_copy_vectors_from_different_banks(own, size):
    """Eight neighbouring threads, a quarter of a warp, read a vector each, or copy vectors that follow one another."""
    width = 16 // size
    order = RowOrder(own, width, 16 * own)
    for item in range(0, own * width, width):
        read = [order.column(thread * own * width + item) * size for thread in range(8)]
        assert most_in_a_bank(read, 16) == 1
    for first in range(0, 8 * own * width, 8 * width):
        assert most_in_a_bank([order.column(first + k * width) * size for k in range(8)], 16) == 1
    places = [order.column(column) for column in range(order.vectors * width)]
    assert len({*places}) == len(places) and max(places) < order.length


@pytest.mark.parametrize("order", [RowOrder(2, 4, 32), RowOrder(4, 2, 64), RowOrder(8, 2, 64), RowOrder(1, 4, 16)])
def test_what_threads_read_is_where_it_was_copied(order):
    copied = order.text("", "c").replace("/", "//")
    for t in range(order.vectors // order.own):
        for b in range(order.own * order.width):
            column = t * order.own * order.width + b
            assert order.read(variable("t"), variable("b")).evaluate({"t": t, "b": b}) == order.column(column)
        assert eval(copied, {"c": t * order.width}) == order.column(t * order.width)


def test_a_warp_copies_elements_of_columns_to_different_banks():
    """Eight elements of four rows, which the tile has as columns: see `text.block_loops.tile_copies.ElementCopy`."""
    _, (found,), _ = pipelined_of(kernels.gemm)
    length = found.tiles[0].lengths[-1]
    assert most_in_a_bank([(k * length + i) * 4 for k in range(8) for i in range(4)], 4) == 1


def test_the_text_copies_a_chunk_ahead_with_one_barrier():
    text = polyml.kernel(kernels.gemm).inspect_cuda(*["f32[:, :]"] * 3).partition("gemm_0_small")[0]
    parts = [
        "float A_tile[2][16][132];", "float B_tile[2][16][144];",
        "for (long long k_chunk = -16; k_chunk < A_1; k_chunk += 16) {", "wait_for_copies_0();", "__syncthreads();",
        "if (k_chunk + 16 < A_1) {", "copy_element_or_zero(&A_tile[1 - slot][e1][e0 + 16*e], &A[",
        "copy_vector(&B_tile[1 - slot][e0 + 8*e][e1 / 4 % 2 * 80 + e1 / 8 * 4]",
        "commit_copies();", "if (k_chunk >= 0) {", "if (k_chunk + 16 <= A_1) {", "#pragma unroll", "C_held[j_item][i_item] += A_tile[slot]",
        "else {", "C_held[j_item][i_item] += A_tile[slot]", "slot = slot < 1 ? slot + 1 : 0;",
    ]  # fmt: skip
    position = 0
    for part in parts:
        position = text.index(part, position) + len(part)
    assert text.count("__syncthreads()") == 1
