"""Loops that the threads of a block run together, in the emulator: products by matrix instructions, and tiles that are copied ahead."""

import ml_dtypes
import numpy as np
import pytest

import polyml
from benchmarks.gpu import programs
from polyml.schedule.gpu import launch_plan
from tests.cuda.emulator.compiler import compiler
from tests.cuda.emulator.counts import by_array
from tests.cuda.emulator.driver import Emulator, emulated
from tests.cuda.emulator.launches import ORDERS, Run
from tests.cuda.emulator.subjects import SMALL_TILE
from tests.gpu import kernels
from tests.gpu.products import batched, both_transposed, product
from tests.gpu.sums import SUMS, arguments

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no g++")
BF16 = ml_dtypes.bfloat16


def middle(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(3, A.shape[1] - 5):
                C[i, j] += np.float32(A[i, k]) * np.float32(B[k, j])


@pytest.fixture
def one_warp(monkeypatch):
    """Blocks of one warp, which has 32 x 64 sums."""
    monkeypatch.setattr(launch_plan, "TILE", ((8, 4), (8, 8)))
    monkeypatch.setattr(launch_plan, "TILE_OF_HALVES", ((8, 4), (8, 8)))


def ran(function, C, A, B, run=Run()):
    """C after the kernel in the emulator, which raises for a fault, and what was counted."""
    with emulated(Emulator(run)) as device:
        polyml.kernel(function, target="cuda", fallback="error", cache=False)(C, A, B)
    return C, device.counts


def within(found, start, A, B, axes):
    """Whether sums are as near to those in float64 as sums of float32 are in any order: n additions, each with an error of at most
    2**-23 of all that is added up so far (the instruction may truncate).
    """
    wide, size = A.astype(float), B.astype(float)
    terms = np.einsum(axes, abs(wide), abs(size)) + abs(start)
    return (abs(found - (start + np.einsum(axes, wide, size))) <= terms * (A.shape[-1] + A.shape[0] + 2) * 2.0**-23).all()


def operands(kind, *shapes):
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape).astype(kind) for shape in shapes]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", [np.float16, BF16])
def test_a_product_of_halves_is_right_in_every_order_of_threads(kind, order, one_warp):
    A, B = operands(kind, (70, 40), (40, 136))
    (start,) = operands(np.float32, (70, 136))
    found, _ = ran(product, start.copy(), A, B, Run(order, 3))
    assert within(found, start, A, B, "ik,kj->ij")


@pytest.mark.parametrize("rows, columns, depth", [(32, 64, 1), (64, 64, 33), (33, 67, 96), (31, 63, 8), (32, 128, 64)])
def test_sizes_need_not_be_multiples_of_tiles_and_vectors(rows, columns, depth, one_warp):
    A, B = operands(BF16, (rows, depth), (depth, columns))
    found, _ = ran(product, np.zeros((rows, columns), np.float32), A, B)
    assert within(found, 0, A, B, "ik,kj->ij")


SIZES = [(33, 67, 17), (31, 63, 1), (64, 65, 0), (1, 1, 5), (36, 68, 12), (64, 96, 33)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rows, columns, depth", SIZES)
def test_blocks_at_the_edge_copy_zeros_and_store_what_there_is(rows, columns, depth, order, monkeypatch):
    """The emulator raises for an access out of bounds, and for an element that is read and was never written: C is not read."""
    monkeypatch.setattr(launch_plan, "TILE", ((8, 8), (4, 4)))
    A, B = (np.round(8 * each) for each in operands(np.float32, (rows, depth), (depth, columns)))
    found, _ = ran(programs.product, np.full((rows, columns), np.nan, np.float32), A, B, Run(order, 5))
    assert np.array_equal(found, A @ B)


@pytest.mark.parametrize("rows, columns, depth", SIZES)
def test_matrix_instructions_begin_with_first_values(rows, columns, depth, one_warp):
    A, B = operands(BF16, (rows, depth), (depth, columns))
    found, _ = ran(programs.product_of_halves, np.full((rows, columns), np.nan, np.float32), A, B)
    assert within(found, 0, A, B, "ik,kj->ij")


def part_of_rows(C, A, B, n):
    for i in range(C.shape[0]):
        for j in range(n):
            C[i, j] = 2 * C[i, j]
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@pytest.mark.parametrize("columns", [31, 34, 36, 62])
def test_elements_behind_the_last_iteration_stay_as_they_are(columns, monkeypatch):
    monkeypatch.setattr(launch_plan, "TILE", ((8, 8), (4, 4)))
    C, A, B = (np.round(8 * each) for each in operands(np.float32, (40, 64), (40, 20), (20, 64)))
    wanted = C.copy()
    wanted[:, :columns] = 2 * C[:, :columns] + A @ B[:, :columns]
    with emulated(Emulator(Run())):
        polyml.kernel(part_of_rows, target="cuda", fallback="error", cache=False)(C, A, B, columns)
    assert np.array_equal(C, wanted)


def test_numbers_that_are_not_finite_reach_no_other_elements(monkeypatch):
    monkeypatch.setattr(launch_plan, "TILE", ((8, 8), (4, 4)))
    A, B = operands(np.float32, (33, 17), (17, 35))
    A[32, 3], B[4, 34] = np.nan, np.nan
    found, _ = ran(programs.product, np.zeros((33, 35), np.float32), A, B)
    assert np.array_equal(np.isfinite(found), np.isfinite(A @ B))


def test_operands_may_be_transposed(one_warp):
    A, B = operands(np.float16, (48, 64), (64, 48))
    found, _ = ran(both_transposed, np.zeros((64, 64), np.float32), A, B)
    assert within(found, 0, A, B, "ki,jk->ij")


def test_a_part_of_the_sum_that_begins_between_vectors_is_right(one_warp):
    A, B = operands(BF16, (32, 72), (72, 64))
    found, _ = ran(middle, np.zeros((32, 64), np.float32), A, B)
    assert within(found, 0, A[:, 3:-5], B[3:-5], "ik,kj->ij")


def test_many_matrices_are_multiplied(one_warp):
    A, B = operands(BF16, (2, 32, 40), (40, 2, 64))
    found, _ = ran(batched, np.zeros((2, 32, 64), np.float32), A, B)
    assert within(found, 0, A, B, "bik,kbj->bij")


def test_products_of_arrays_are_sums_in_float32_rounded_once(one_warp):
    def of_arrays(A, B):
        return A @ B

    A, B = operands(np.float16, (33, 40), (40, 70))
    with emulated(Emulator()):
        found = polyml.kernel(of_arrays, target="cuda", fallback="error", cache=False)(A, B)
    exact = A.astype(float) @ B.astype(float)
    assert found.dtype == np.float16 and (abs(found.astype(float) - exact) <= abs(exact) * 2.0**-11 + 1e-4).all()


def test_numbers_that_are_not_finite_stay_where_they_are(one_warp):
    """What is beyond the end of the sum is zero in both operands, so that it adds no NaN to other rows or columns."""
    A, B = operands(np.float16, (32, 33), (33, 64))
    A[3, 5], B[7, 9] = np.inf, np.nan
    found, _ = ran(product, np.zeros((32, 64), np.float32), A, B)
    assert np.array_equal(np.isfinite(found), np.isfinite(A.astype(np.float32) @ B.astype(np.float32)))


def counted(function, C, A, B):
    _, counts = ran(function, C, A, B, Run(counts=True))
    shared = {(each.array, each.is_write): each for each in by_array(counts).values() if each.is_shared}
    assert set(shared) == {("A_tile", True), ("A_tile", False), ("B_tile", True), ("B_tile", False)}
    return shared


@pytest.mark.parametrize("function, a, b", [(product, (32, 64), (64, 64)), (both_transposed, (64, 32), (64, 64))])
def test_matrix_loads_and_copies_have_no_bank_conflicts(function, a, b, one_warp):
    A, B = operands(BF16, a, b)
    for each in counted(function, np.zeros((32, 64), np.float32), A, B).values():
        assert each.wavefronts == each.least_wavefronts > 0


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_tiles_that_are_copied_ahead_have_no_bank_conflicts(kind, monkeypatch):
    monkeypatch.setattr(launch_plan, "TILE", ((8, 8), (4, 4)))
    monkeypatch.setattr(launch_plan, "TILE_OF_HALVES", ((8, 8), (4, 4)))
    A, B = operands(kind, (32, 48), (48, 32))
    for each in counted(kernels.gemm, np.zeros((32, 32), kind), A, B).values():
        assert each.wavefronts == each.least_wavefronts > 0


@pytest.fixture
def small_tile(monkeypatch):
    """Blocks of one warp, which has 32 x 16 sums."""
    monkeypatch.setattr(launch_plan, "TILE", SMALL_TILE)


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_merged_loops_are_right_in_every_order_of_threads(name, small_tile):
    function, calls = SUMS[name]
    for order in ORDERS:
        with emulated(Emulator(Run(order, 3))):
            kernel = polyml.kernel(function, target="cuda", fallback="error", cache=False)
            for shapes in calls:
                found, wanted = arguments(shapes), arguments(shapes)
                kernel(*found)
                function(*wanted)
                assert all(map(np.array_equal, found, wanted)), (order, shapes)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int32])
def test_sums_of_merged_loops_are_of_any_numbers(dtype, small_tile):
    function, calls = SUMS["contraction"]
    found, wanted = arguments(calls[0], dtype), arguments(calls[0], dtype)
    with emulated(Emulator(Run())):
        polyml.kernel(function, target="cuda", fallback="error", cache=False)(*found)
    function(*wanted)
    assert all(map(np.array_equal, found, wanted))
