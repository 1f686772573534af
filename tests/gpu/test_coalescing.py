import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyml import polyhedra
from polyml.gpu.coalescing import requests
from polyml.gpu.thread_blocks import Threads
from polyml.gpu.warp_requests import AccessBlock
from tests.gpu import kernels
from tests.gpu.brute import Counted, counted
from tests.gpu.mapping import all_requests

BLOCKS_2D = [(32, 8), (32, 1), (16, 16), (8, 4), (64, 2), (5, 7), (1, 64), (128, 2)]
DTYPES = [np.float32, np.float64]


def same(found, made, block):
    expected = counted(list(made), block)
    assert found.accuracy == "exact"
    assert Counted(found.requests, found.lanes, found.elements, found.sectors, found.lines, found.most) == expected


def element(place, *at):
    return place.address + sum(step * each for step, each in zip(place.strides, at))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("block", BLOCKS_2D)
@pytest.mark.parametrize("ni, nj, nk", [(16, 64, 3), (13, 45, 5)])
def test_a_product(block, dtype, ni, nj, nk):
    found, at, _ = all_requests(kernels.gemm, [(ni, nj), (ni, nk), (nk, nj)], dtype, [1, 0], block)
    points = [(i, j, k) for i in range(ni) for j in range(nj) for k in range(nk)]
    same(found["A[i, k] of S0"], ((k, (j, i), element(at["A"], i, k)) for i, j, k in points), block)
    same(found["B[k, j] of S0"], ((k, (j, i), element(at["B"], k, j)) for i, j, k in points), block)
    once = [((), (j, i), element(at["C"], i, j)) for i in range(ni) for j in range(nj)]
    same(found["C[i, j] of S0"], once, block)
    same(found["store C[i, j] of S0"], once, block)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [[1, 0], [0, 1]])
@pytest.mark.parametrize("block", BLOCKS_2D)
def test_a_transposition(block, order, dtype):
    n, m = 37, 70
    found, at, _ = all_requests(kernels.transpose, [(n, m), (m, n)], dtype, order, block)
    threads = [(i, j) for i in range(n) for j in range(m)]
    same(found["A[i, j] of S0"], (((), tuple(p[k] for k in order), element(at["A"], *p)) for p in threads), block)
    same(found["store B[j, i] of S0"], (((), tuple(p[k] for k in order), element(at["B"], *p[::-1])) for p in threads), block)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("block", BLOCKS_2D)
@pytest.mark.parametrize("n, m", [(20, 66), (19, 71)])
def test_a_stencil(block, dtype, n, m):
    found, at, _ = all_requests(kernels.five_point, [(n, m), (n, m)], dtype, [1, 0], block)
    threads = [(i, j) for i in range(1, n - 1) for j in range(1, m - 1)]
    moved = {"A[i, j] of S0": (0, 0), "A[i, -1 + j] of S0": (0, -1), "A[i, 1 + j] of S0": (0, 1),
             "A[-1 + i, j] of S0": (-1, 0), "A[1 + i, j] of S0": (1, 0)}  # fmt: skip
    for text, (di, dj) in moved.items():
        same(found[text], (((), (j, i), element(at["A"], i + di, j + dj)) for i, j in threads), block)
    same(found["store B[i, j] of S0"], (((), (j, i), element(at["B"], i, j)) for i, j in threads), block)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("block", [(32,), (128,), (20,)])
def test_a_matrix_and_a_vector(block, dtype):
    n, m = 75, 11
    found, at, _ = all_requests(kernels.matvec, [(n, m), m, n], dtype, [0], block)
    points = [(i, k) for i in range(n) for k in range(m)]
    same(found["A[i, k] of S0"], ((k, (i,), element(at["A"], i, k)) for i, k in points), block)
    same(found["x[k] of S0"], ((k, (i,), element(at["x"], k)) for i, k in points), block)
    same(found["store y[i] of S0"], (((), (i,), element(at["y"], i)) for i in range(n)), block)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [[1, 0], [0, 1]])
@pytest.mark.parametrize("block", BLOCKS_2D)
def test_a_triangle(block, order, dtype):
    n = 69
    found, at, _ = all_requests(kernels.triangle, [(n, n), (n, n)], dtype, order, block)
    threads = [(i, j) for i in range(n) for j in range(i + 1)]
    same(found["A[j, i] of S0"], (((), tuple(p[k] for k in order), element(at["A"], *p[::-1])) for p in threads), block)
    same(found["A[i, j] of S0"], (((), tuple(p[k] for k in order), element(at["A"], *p)) for p in threads), block)


@pytest.mark.parametrize("block", [(32, 4), (16, 4), (7, 3)])
def test_a_triangle_with_sums(block):
    n, m = 41, 6
    found, at, _ = all_requests(kernels.syrk, [(n, n), (n, m)], np.float32, [1, 0], block)
    points = [(i, j, k) for i in range(n) for j in range(i + 1) for k in range(m)]
    same(found["A[i, k] of S0"], ((k, (j, i), element(at["A"], i, k)) for i, j, k in points), block)
    same(found["A[j, k] of S0"], ((k, (j, i), element(at["A"], j, k)) for i, j, k in points), block)


@pytest.mark.parametrize("block", [(32,), (64,)])
def test_sums_of_different_lengths(block):
    """B's rows are updated in order, so that only columns are threads, and B is not held in a register."""
    n, m = 12, 77
    found, at, _ = all_requests(kernels.trmm, [(n, n), (n, m)], np.float64, [0], block)
    points = [(i, j, k) for i in range(n) for j in range(m) for k in range(i + 1, n)]
    same(found["A[k, i] of S0"], (((i, k), (j,), element(at["A"], k, i)) for i, j, k in points), block)
    same(found["B[k, j] of S0"], (((i, k), (j,), element(at["B"], k, j)) for i, j, k in points), block)
    same(found["store B[i, j] of S0"], (((i, k), (j,), element(at["B"], i, j)) for i, j, k in points), block)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function, at", [(kernels.every_third, lambda i, n: 3 * i), (kernels.halved, lambda i, n: i // 2),
                                          (kernels.reflected, lambda i, n: abs(i - n // 2))])  # fmt: skip
def test_other_strides(function, at, dtype):
    n = 101
    found, places, _ = all_requests(function, [3 * n, n], dtype, [0], (64,))
    (text,) = [text for text in found if text.startswith("x")]
    same(found[text], (((), (i,), element(places["x"], at(i, n))) for i in range(n)), (64,))


@settings(max_examples=10, deadline=None)
@given(
    st.tuples(st.integers(1, 40), st.integers(1, 90), st.integers(1, 5)), st.sampled_from(DTYPES),
    st.tuples(st.integers(1, 70), st.integers(1, 14)), st.permutations([0, 1]),
)  # fmt: skip
def test_products_of_any_size_in_any_block(sizes, dtype, block, order):
    ni, nj, nk = sizes
    found, at, _ = all_requests(kernels.gemm, [(ni, nj), (ni, nk), (nk, nj)], dtype, list(order), block)
    points = [(i, j, k) for i in range(ni) for j in range(nj) for k in range(nk)]
    same(found["A[i, k] of S0"], ((k, tuple((i, j)[o] for o in order), element(at["A"], i, k)) for i, j, k in points), block)
    same(found["B[k, j] of S0"], ((k, tuple((i, j)[o] for o in order), element(at["B"], k, j)) for i, j, k in points), block)


PLACES = st.lists(
    st.sampled_from([
        "0 <= i < 9", "0 <= i < 40", "2 <= i <= 21", "0 <= j < 70", "-3 <= j < 45", "5 <= j < 39", "0 <= k < 4", "k = 2", "j <= i + 20",
        "i + j <= 50", "k <= i", "i mod 3 = 1", "j mod 2 = 0", "(i + j) mod 3 = 0", "j != 17", "2k <= j", "i = 2k + 1",
    ]), max_size=5, unique=True,
).map(lambda facts: " and ".join(["-3 <= i < 45 and -8 <= j < 80 and 0 <= k < 5", *facts]))  # fmt: skip
EXPRESSIONS = st.sampled_from([
    "4i + 400j", "4j + 400i", "8j + 360i + 40k", "4k", "8*floor(j/2) + 512i", "4i + 4j + 4k", "12j + 4i", "4*(j mod 8) + 64i", "40j - 4i",
    "4*floor((i + j)/3)", "128i + 4j", "-8j + 264k", "4000",
])  # fmt: skip


@settings(max_examples=10, deadline=None)
@given(PLACES, st.lists(EXPRESSIONS, min_size=1, max_size=3), st.tuples(st.integers(1, 40), st.integers(1, 20)),
       st.sampled_from([(0, 1), (1, 0), (2, 1), (1, 2)]), st.sampled_from([(4, 4), (8, 8), (4, 8)]))  # fmt: skip
def test_any_set_in_any_block(facts, expressions, block, dims, sizes):
    """Addresses of accesses made at the same times, some in two pieces, against every thread on its own."""
    when = isl.Set(f"{{ T[i, j, k] : {facts} }}")
    if when.is_empty():
        return
    accesses = [isl.PwAff(f"{{ T[i, j, k] -> [(10000 + {e})] }}") for e in expressions]
    accesses.append(isl.PwAff("{ T[i, j, k] -> [(10000 + 8j)] : j <= 30; T[i, j, k] -> [(20000 + 4i)] : j > 30 }"))
    rows = [polyhedra.rows_by_piece(each) for each in accesses]
    axes = {dims[0]: 0, dims[1]: 1}
    found = requests(
        when, rows, AccessBlock(axes, Threads(block, 32), (sizes[0], 32, 128))
    )  # sizes of elements do not matter for the others
    (other,) = {0, 1, 2} - {*dims}
    points = sorted(at for _, at in polyhedra.points(when))
    for made, access in zip(found, accesses):
        pairs = polyhedra.points(isl.Map.from_pw_aff(access).intersect_domain(when))
        address = {at: value for (_, at), (_, (value,)) in pairs}
        events = [(at[other], (at[dims[0]], at[dims[1]]), address[at]) for at in points]
        expected = counted(events, block)
        assert made.accuracy == "exact"
        assert (made.requests, made.lanes, made.sectors, made.lines, made.most) == (
            expected.requests, expected.lanes, expected.sectors, expected.lines, expected.most
        )  # fmt: skip


@settings(max_examples=33, deadline=None)
@given(PLACES, st.sampled_from(["4i + 40k", "8k", "8*floor(i/2) + 64i"]), st.tuples(st.integers(1, 40), st.integers(1, 9)),
       st.integers(1, 5), st.booleans())  # fmt: skip
def test_any_set_of_which_threads_load_once_for_several_iterations(facts, expression, block, items, is_x):
    """The address does not move along j, of which a thread has some."""
    when = isl.Set(f"{{ T[i, j, k] : {facts} }}")
    if when.is_empty():
        return
    access = isl.PwAff(f"{{ T[i, j, k] -> [(10000 + {expression})] }}")
    axes = {1: 0, 0: 1} if is_x else {0: 0, 1: 1}
    size = block[axes[1]]
    (found,) = requests(when, [polyhedra.rows_by_piece(access)], AccessBlock(axes, Threads(block, 32), (4, 32, 128), {1: items}))
    pairs = polyhedra.points(isl.Map.from_pw_aff(access).intersect_domain(when))
    events = set()
    for (_, (i, j, k)), (_, (value,)) in pairs:
        own = j // (size * items) * size + j % size
        events.add((k, (own, i) if is_x else (i, own), value))
    expected = counted(events, block)
    assert (found.requests, found.lanes, found.sectors, found.most) == (
        expected.requests, expected.lanes, expected.sectors, expected.most
    )  # fmt: skip


def test_sizes_that_are_not_looked_at_thread_by_thread():
    """4096 x 4096: a warp has 4 sectors of B, 1 of A."""
    found, _, _ = all_requests(kernels.gemm, [(4096, 4096)] * 3, np.float32, [1, 0], (32, 8))
    warps = 4096**3 // 32
    assert (found["A[i, k] of S0"].sectors, found["B[k, j] of S0"].sectors) == (warps, 4 * warps)
    assert found["B[k, j] of S0"].efficiency == 1 and found["A[i, k] of S0"].efficiency == 1 / 8


def test_of_too_many_warps_some_are_looked_at():
    exact, *_ = all_requests(kernels.triangle, [(600, 600)] * 2, np.float32, [1, 0], (32, 8))
    some, *_ = all_requests(kernels.triangle, [(600, 600)] * 2, np.float32, [1, 0], (32, 8), most=1000)
    for text, each in some.items():
        assert each.accuracy.startswith("estimate") and exact[text].accuracy == "exact"
        assert each.sectors == pytest.approx(exact[text].sectors, rel=0.1)


@settings(max_examples=33, deadline=None)
@given(PLACES, st.dictionaries(st.integers(0, 2), st.integers(1, 9)))
def test_tiles_are_counted(facts, sizes):
    when = isl.Set(f"{{ T[i, j, k] : {facts} }}")
    tiles = {tuple(v // sizes.get(dim, 1) for dim, v in enumerate(at)) for _, at in polyhedra.points(when)}
    assert polyhedra.count_tiles(when, sizes) == len(tiles)


def test_loops_too_long_to_be_looked_at():
    """The triangle of 10^8 rows: as many requests as there are iterations, but for those that are cut."""
    when = isl.Set("{ T[i, j] : 0 <= i < 100000000 and i <= j < i + 5 }")
    rows = polyhedra.rows_by_piece(isl.PwAff("{ T[i, j] -> [(4i)] }"))
    (found,) = requests(when, [rows], AccessBlock({0: 0}, Threads((32,), 32), (4, 32, 128)))
    assert found.accuracy.startswith("estimate") and found.requests == pytest.approx(10**8 / 32 * 36, rel=0.1)
