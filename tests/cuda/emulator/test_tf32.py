"""Products of float32 with operands rounded to tf32, in the emulator, against NumPy."""

import numpy as np
import pytest

import polyml
from polyml.schedule.gpu import launch_plan
from tests.cuda.emulator.compiler import compiler
from tests.cuda.emulator.counts import by_array
from tests.cuda.emulator.driver import Emulator, emulated
from tests.cuda.emulator.launches import ORDERS, Run
from tests.gpu.tf32 import PRODUCTS, batched, layer, operands, product, rounded

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no g++")
SIZES = [(32, 64, 1), (64, 64, 33), (33, 67, 96), (31, 63, 8), (36, 132, 40), (1, 1, 5)]


@pytest.fixture(autouse=True)
def one_warp(monkeypatch):
    """Blocks of one warp, which has 32 x 64 sums."""
    monkeypatch.setattr(launch_plan, "TILE_OF_HALVES", ((8, 4), (8, 8)))


def ran(function, *arguments, run=Run(), **settings):
    """What the kernel leaves in its first argument in the emulator, which raises for a fault; its `explain`, and what was counted."""
    kernel = polyml.kernel(function, target="cuda", fallback="error", **{"cache": False, "tf32": True, **settings})
    with emulated(Emulator(run)) as device:
        kernel(*arguments)
    return arguments[0], kernel.explain(), device.counts


def check(found, start, A, B, axes):
    """Sums of rounded operands have the errors of sums in float32 alone: n additions, each with an error of at most 2**-23 of all that is added
    up so far (the instruction may truncate). They are as near to the exact ones as two factors with errors of 2**-11 allow besides.
    """
    sums = (A.shape[axes.index("k")] + 2) * 2.0**-23
    for a, b, unit in ((rounded(A), rounded(B), sums), (A, B, sums + 2.0**-10 + 2.0**-22)):
        wide, other = a.astype(float), b.astype(float)
        terms = np.einsum(axes, abs(wide), abs(other)) + abs(start)
        assert (abs(found - (start + np.einsum(axes, wide, other))) <= terms * unit).all()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_is_right_in_every_order_of_threads(name, order):
    function, _, axes = PRODUCTS[name]
    rng = np.random.default_rng(1)
    A, B = operands(name, 70, 136, 40, rng)
    start = rng.standard_normal((70, 136)).astype(np.float32)
    found, explained, _ = ran(function, start.copy(), A, B, run=Run(order, 3))
    assert "runs on tensor cores" in explained
    check(found, start, A, B, axes)


@pytest.mark.parametrize("n, m, k", SIZES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_sizes_need_not_be_multiples_of_tiles_and_vectors(name, n, m, k):
    function, _, axes = PRODUCTS[name]
    A, B = operands(name, n, m, k, np.random.default_rng(2))
    found, _, _ = ran(function, np.zeros((n, m), np.float32), A, B)
    check(found, 0, A, B, axes)


@pytest.mark.parametrize("name", PRODUCTS)
def test_integers_of_eleven_bits_are_exact(name):
    function, _, axes = PRODUCTS[name]
    rng = np.random.default_rng(3)
    A, B = (np.sign(each) * rng.integers(0, 2**11, each.shape) for each in operands(name, 35, 67, 3, rng))
    A, B = A.astype(np.float32), np.rint(B / 2**10).astype(np.float32)
    found, _, _ = ran(function, np.zeros((35, 67), np.float32), A, B)
    assert np.array_equal(found, np.einsum(axes, A.astype(float), B.astype(float)))


def test_operands_are_rounded_to_nearest_and_ties_away_from_zero():
    values = np.float32(1) + np.arange(0, 32, dtype=np.float32) * np.float32(2.0**-12)
    A = np.concatenate([values, -values]).reshape(-1, 1)
    found, _, _ = ran(product, np.zeros((64, 1), np.float32), A, np.ones((1, 1), np.float32))
    steps = np.floor(np.arange(32) / 4 + 0.5) * 2.0**-10
    assert np.array_equal(found[:, 0], np.concatenate([1 + steps, -1 - steps]).astype(np.float32))


def test_without_the_setting_float32_is_not_rounded():
    A = np.full((64, 1), 1 + 2.0**-20, np.float32)
    for settings, wanted in (({}, 1), ({"tf32": False}, 1 + 2.0**-20)):
        found, _, _ = ran(product, np.zeros((64, 1), np.float32), A, np.ones((1, 1), np.float32), **settings)
        assert (found == np.float32(wanted)).all()


def test_kernels_with_and_without_the_setting_have_code_of_their_own_on_disk(tmp_path):
    A = np.full((64, 1), 1 + 2.0**-20, np.float32)
    for tf32 in (False, True, False, True):
        start = np.zeros((64, 1), np.float32)
        found, _, _ = ran(product, start, A, np.ones((1, 1), np.float32), tf32=tf32, cache=True, cache_dir=str(tmp_path))
        assert (found == 1).all() == tf32


def test_numbers_that_are_not_finite_stay_where_they_are():
    A, B = operands("product", 32, 64, 33, np.random.default_rng(4))
    A[3, 5], A[4, 6], B[7, 9] = np.inf, -np.inf, np.nan
    A[9, 0], B[0, 11] = np.array([0x7FFFFFFF, 0xFFFFFFFF], np.uint32).view(np.float32)
    found, _, _ = ran(product, np.zeros((32, 64), np.float32), A, B)
    with np.errstate(invalid="ignore"):
        wanted = A @ B
    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    assert np.array_equal(found[np.isinf(wanted)], wanted[np.isinf(wanted)])


def test_many_matrices_and_rows_of_many_matrices_are_multiplied():
    rng = np.random.default_rng(5)
    A, B = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 33, 40), (2, 40, 66)))
    found, explained, _ = ran(batched, np.zeros((2, 33, 66), np.float32), A, B)
    assert "runs on tensor cores" in explained
    check(found, 0, A, B, "bik,bkj->bij")
    found, explained, _ = ran(layer, np.full((2, 33, 66), np.nan, np.float32), A, B[0])
    assert "runs on tensor cores" in explained
    check(found, 0, A, B[0], "bik,kj->bij")


def test_products_of_arrays_are_scaled_and_added_after_the_sum():
    def gemm(alpha, beta, C, A, B):
        return np.float32(alpha) * (A @ B) + np.float32(beta) * C

    A, B = operands("product", 64, 64, 40, np.random.default_rng(6))
    C = np.ones((64, 64), np.float32)
    with emulated(Emulator(Run())):
        kernel = polyml.kernel(gemm, target="cuda", fallback="error", cache=False, tf32=True)
        found = kernel(2.0, -3.0, C, A, B)
    assert "tensor cores, with operands rounded" in kernel.explain()
    check(found / 2, -1.5, A, B, "ik,kj->ij")


@pytest.mark.parametrize("name", PRODUCTS)
def test_loads_and_copies_have_no_bank_conflicts(name):
    A, B = operands(name, 32, 64, 64, np.random.default_rng(7))
    _, _, counts = ran(PRODUCTS[name][0], np.zeros((32, 64), np.float32), A, B, run=Run(counts=True))
    shared = {(each.array, each.is_write): each for each in by_array(counts).values() if each.is_shared}
    assert set(shared) == {("A_tile", True), ("A_tile", False), ("B_tile", True), ("B_tile", False)}
    assert all(each.wavefronts == each.least_wavefronts > 0 for each in shared.values())


def test_a_schedule_with_the_mapping_in_marks_is_the_same_code():
    kernel = polyml.kernel(product, target="cuda", cache=False, tf32=True)
    types = ["f32[:, :]"] * 3
    assert kernel.with_schedule(kernel.schedule(*types)).inspect_cuda(*types) == kernel.inspect_cuda(*types)
