"""Which loops become products of matrices by matrix instructions."""

import numpy as np
import pytest

import polyml
from polyml.codegen.gpu.block_loops.matrix_fragments import MOST_SUMS
from polyml.codegen.gpu.block_loops.shared_work import Instructions
from polyml.codegen.gpu.program import gpu_program
from polyml.model.core.reductions import reductions
from polyml.schedule.gpu.mapping import every_nest, mapped
from polyml.schedule.tree import loop_tree
from tests.gpu import sums, tf32
from tests.gpu.mapping import problem
from tests.gpu.products import batched, both_transposed, product


def other_order(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] = np.float32(B[k, j]) * np.float32(A[i, k]) + C[i, j]


def part(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(3, A.shape[1] - 2):
                C[i, j] += np.float32(A[i, k]) * np.float32(B[k, j])


def batch_last(C, A, B):
    for b in range(C.shape[0]):
        for i in range(C.shape[1]):
            for j in range(C.shape[2]):
                for k in range(A.shape[1]):
                    C[b, i, j] += np.float32(A[i, k, b]) * np.float32(B[k, b, j])


def rounded(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def scaled(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += np.float32(2.5) * np.float32(A[i, k]) * np.float32(B[k, j])


def own_rows(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(B.shape[0]):
                C[i, j] += np.float32(A[i, j]) * np.float32(B[k, j])


def least(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] = min(C[i, j], np.float32(A[i, k]) * np.float32(B[k, j]))


def of_arrays(A, B):
    return A @ B


HALF, F32, F64 = "f16[:, :]", "f32[:, :]", "f64[:, :]"
HALVES = [F32, HALF, HALF]


def found(function, kinds, fp="reassociate", **settings):
    return "multiply_matrices" in polyml.kernel(function, fp=fp, **settings).inspect_cuda(*kinds)


@pytest.mark.parametrize("function", [product, other_order, both_transposed, part])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_products_of_halves_are_matched_whichever_operand_is_transposed(function, kind):
    assert found(function, [F32, *[f"{kind}[:, :]"] * 2])


def test_products_of_many_matrices_are_matched():
    assert found(batched, ["f32[:, :, :]", *["bf16[:, :, :]"] * 2])


def test_products_of_arrays_are_matched():
    assert found(of_arrays, [HALF, HALF])


@pytest.mark.parametrize("function, kinds", [
    (batch_last, ["f32[:, :, :]", *["f16[:, :, :]"] * 2]),  # no vectors of neighbours
    (rounded, HALVES),  # NumPy rounds each product to float16
    (product, [F32, HALF, "bf16[:, :]"]),
    (product, [F64, HALF, HALF]),  # sums of float64 are more exact
    (product, [HALF, HALF, HALF]),  # each sum is rounded to float16
    (product, [F32, F32, F32]),  # the instruction would round operands
    (scaled, HALVES),
    (own_rows, HALVES),
    (least, HALVES),
])  # fmt: skip
def test_what_the_instruction_does_not_compute_is_left_to_threads(function, kinds):
    assert not found(function, kinds)


def test_the_order_of_sums_is_kept_in_strict_mode():
    assert found(product, HALVES, "fast") and not found(product, HALVES, "strict")


@pytest.mark.parametrize("name", tf32.PRODUCTS)
def test_products_of_float32_are_matched_where_they_may_be_rounded(name):
    function = tf32.PRODUCTS[name][0]
    assert found(function, [F32] * 3, tf32=True) and found(function, [F32] * 3, "fast", tf32=True)
    assert not found(function, [F32] * 3, "fast")


@pytest.mark.parametrize("function, kinds", [
    (tf32.batched, ["f32[:, :, :]"] * 3),
    (tf32.layer, ["f32[:, :, :]"] * 2 + [F32]),
    (of_arrays, [F32, F32]),
    (product, HALVES),
])  # fmt: skip
def test_products_of_many_matrices_and_of_halves_are_matched_with_tf32(function, kinds):
    assert found(function, kinds, tf32=True)


@pytest.mark.parametrize("function, kinds", [
    (rounded, [F64, F64, F64]),
    (rounded, [F64, F32, F32]),  # sums of float64 are more exact
    (batch_last, ["f32[:, :, :]"] * 3),
    (scaled, [F32, F32, F32]),
    (least, [F32, F32, F32]),
    (sums.convolution, ["f32[:, :, :, :]"] * 3),
])  # fmt: skip
def test_what_tf32_does_not_compute_is_left_to_threads(function, kinds):
    assert not found(function, kinds, tf32=True)


def test_operands_of_tf32_come_by_matrix_loads_along_the_sum_and_in_words_across_it():
    def of(name):
        return polyml.kernel(tf32.PRODUCTS[name][0], tf32=True).inspect_cuda(F32, F32, F32)

    assert "load_matrices(left[e1]," in of("product") and "right[e1][e3] = __float_as_uint(B_tile" in of("product")
    assert "left[e1][e3] = __float_as_uint(A_tile" in of("both_transposed") and "load_matrices(right[e1]," in of("both_transposed")
    assert of("product").count("round_matrices_tf32(left[e1]);") == of("product").count("round_matrices_tf32(right[e1]);") == 2


def test_other_languages_have_no_matrix_instructions():
    assert "multiply_matrices" not in polyml.kernel(product).inspect_opencl(*HALVES)
    assert "multiply_matrices" not in polyml.kernel(product, tf32=True).inspect_opencl(F32, F32, F32)


def fragments_of(block, items):
    given, _ = problem(product, np.zeros((9, 9), np.float32), *(np.zeros((9, 9), np.float16) for _ in "AB"))
    nests = every_nest(loop_tree.read(given.scop.schedule, given.scop.statements), given.scop, given.dependences)
    program = gpu_program(
        given.scop, [mapped(n, (1, 0), block, items, True) for n in nests], Instructions(reductions(given.scop, "reassociate"))
    )
    return [each for launch in program.launches.values() for version in launch.versions for each in version.fragments]


@pytest.mark.parametrize("block, items, warps, parts", [
    ((16, 16), (8, 8), (2, 4), (4, 4)),
    ((16, 8), (8, 8), (1, 4), (4, 4)),
    ((8, 4), (8, 8), (1, 1), (2, 8)),
    ((16, 8), (8, 16), (2, 2), (4, 8)),
])  # fmt: skip
def test_warps_have_parts_that_load_little(block, items, warps, parts):
    (each,) = fragments_of(block, items)
    assert each.warps == warps and each.parts == parts
    lanes = 32 * each.warps[0] * each.warps[1]
    assert lanes == block[0] * block[1]
    assert parts[0] * parts[1] * 4 * lanes == block[0] * block[1] * items[0] * items[1] <= MOST_SUMS * lanes


@pytest.mark.parametrize("block, items", [((4, 4), (8, 8)), ((16, 2), (1, 4)), ((8, 8), (16, 16)), ((3, 32), (8, 8))])
def test_blocks_that_warps_do_not_share_evenly_have_none(block, items):
    assert fragments_of(block, items) == []
