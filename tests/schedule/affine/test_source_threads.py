"""Loops around regions go to threads where no two of their iterations depend on each other."""

import math

import numpy as np
import pytest

import polyml
from polyml.dtypes import I64
from polyml.frontend.syntax import ArrayType
from polyml.model.core.dependence import dependences
from polyml.model.lowering.regions.region_building import LoopsAround
from polyml.polyhedra import set_names
from polyml.schedule.affine.source_threads import RowWork, loops_around_threads, sequential_loops, with_threads
from polyml.schedule.legality.check import parallel_bands
from tests.model.modelling import MATRIX, VECTOR, model

INDICES = ArrayType(I64, 1)


def csr_product(ptr, col, val, x, y):
    for i in range(y.shape[0]):
        s = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            s += val[k] * x[col[k]]
        y[i] = s


def histogram(k, b):
    for i in range(k.shape[0]):
        b[k[i]] += 1.0


def rows_in_turn(A, k):
    for t in range(k.shape[0]):
        for i in range(A.shape[0]):
            while A[i, t] < k[t]:
                A[i, t + 1] += A[i, t]
                A[i, t] += 1.0


def inner_rows(A, k):
    for t in range(k.shape[0]):
        for i in range(A.shape[0]):
            while A[i, 0] < k[t]:
                A[i, 0] += 1.0


def scaled_and_scattered(k, b, A):
    for i in range(A.shape[0]):
        A[i] *= 2.0
    for i in range(k.shape[0]):
        b[k[i]] += 1.0


def added_rows(k, A, B):
    for p in range(k.shape[0]):
        for r in range(A.shape[1]):
            A[k[p], r] += B[p, r]


def gathered_rows(k, A, B):
    for p in range(k.shape[0]):
        for r in range(A.shape[1]):
            if B[p, r] > 0.0:
                B[p, r] = A[k[p], int(B[p, r])]


def threaded(scop):
    """The lines of the statements around which a loop goes to threads, and how many loops are around that loop."""
    schedule = with_threads(scop, dependences(scop))
    return {
        scop.statements[name].loc.line: depth
        for node, _ in parallel_bands(schedule.get_root())
        for name in set_names(node.get_domain())
        for depth in [node.get_schedule_depth()]
    }


def lines(function, *types, is_shared=True, **options):
    """The loops for threads and the loops that become parts of regions, by their lines in the function, counted from 0."""
    scop, first = model(function, *types, regions=True, **options), function.__code__.co_firstlineno
    found = sequential_loops(scop, dependences(scop), worth=RowWork(0.0 if is_shared else math.inf))
    return {line - first: depth for line, depth in threaded(scop).items()}, {place.line - first for place in found}


def test_rows_of_a_sparse_matrix_are_independent():
    assert lines(csr_product, INDICES, INDICES, VECTOR, VECTOR, VECTOR) == ({2: 0}, set())


def test_scattered_sums_are_in_one_loop_of_the_region():
    assert lines(histogram, INDICES, VECTOR) == ({}, {1})


def test_the_outermost_loop_that_carries_nothing_goes_to_threads():
    assert lines(inner_rows, MATRIX, VECTOR) == ({3: 1}, set())
    assert lines(rows_in_turn, MATRIX, VECTOR) == ({3: 1}, set())


def test_loops_without_regions_are_no_part_of_them():
    assert lines(scaled_and_scattered, INDICES, VECTOR, VECTOR) == ({2: 0}, {3})


def test_one_thread_has_no_use_for_short_rows_of_regions():
    assert lines(added_rows, INDICES, MATRIX, MATRIX) == ({3: 1}, set())
    assert lines(added_rows, INDICES, MATRIX, MATRIX, is_shared=False) == ({3: 1}, {1})
    assert lines(inner_rows, MATRIX, VECTOR, is_shared=False) == ({3: 1}, set())


def test_loops_inside_of_one_for_threads_are_parts_of_regions_without_loops():
    assert lines(gathered_rows, INDICES, MATRIX, MATRIX) == ({3: 0}, {2})
    assert lines(gathered_rows, INDICES, MATRIX, MATRIX, is_shared=False) == ({3: 0}, {2})


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("function", [added_rows, gathered_rows])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (40, 17), (300, 70)])
def test_rows_of_regions_are_as_in_python(function, shape, threads):
    rng = np.random.default_rng(2)
    k = rng.integers(-shape[0], shape[0], shape[0]) if shape[0] else np.zeros(0, np.int64)
    made, wanted = ([rng.uniform(0, shape[1], shape) for rng in map(np.random.default_rng, (3, 4))] for _ in range(2))
    polyml.kernel(function, fallback="error", threads=threads)(k, *made)
    function(k, *wanted)
    assert all(map(np.allclose, made, wanted))


def test_an_index_that_no_row_has_ends_a_row_where_python_ends_it():
    k, B = np.array([1, 0, 7, 2]), np.ones((4, 40))
    made, wanted = np.zeros((2, 4, 40))
    with pytest.raises(IndexError):
        polyml.kernel(added_rows, fallback="error", threads=1)(k, made, B)
    with pytest.raises(IndexError):
        added_rows(k, wanted, B)
    assert np.array_equal(made, wanted)


def test_what_would_make_the_outer_loop_parallel_is_told():
    kernel = polyml.kernel(added_rows, fallback="error", threads=1)
    kernel(np.arange(4), np.zeros((4, 40)), np.ones((4, 40)))
    assert "it would be parallel if no number were twice in k: polyml.assume(polyml.injective(k))" in kernel.explain()


def test_without_dependences_every_loop_around_a_region_is_sequential():
    scop = model(csr_product, INDICES, INDICES, VECTOR, VECTOR, VECTOR, regions=True)
    assert len(sequential_loops(scop, None)) == 1


def test_threads_compute_what_python_computes():
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 9, 300)
    ptr = np.concatenate([[0], np.cumsum(counts)])
    col, val, x = rng.integers(0, 50, ptr[-1]), rng.random(ptr[-1]), rng.random(50)
    wanted, found = np.zeros(300), np.zeros(300)
    csr_product(ptr, col, val, x, wanted)
    polyml.kernel(csr_product, cache=False, fallback="error", threads=2)(ptr, col, val, x, found)
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


def steps(ptr, col, val, x, y):
    for t in range(4):
        for i in range(y.shape[0]):
            s = 0.0
            for k in range(ptr[i], ptr[i + 1]):
                s += val[k] * x[col[k]]
            y[i] = s
        total = 0.0
        for i in range(y.shape[0]):
            total += y[i] * y[i]
        for i in range(y.shape[0]):
            x[i] = y[i] / total
        for i in range(y.shape[0]):
            s = x[i]
            for k in range(ptr[i], ptr[i + 1]):
                s -= val[k] * x[col[k]]
            x[i] = s


def test_rows_in_a_loop_over_steps_go_to_threads_and_what_stands_beside_them_stays_affine():
    """The product's rows are independent; the last rows read what those before them store, and are a region as a whole."""
    types = (INDICES, INDICES, VECTOR, VECTOR, VECTOR)
    [whole] = [s for s in model(steps, *types, regions=True).statements.values() if s.region is not None]
    assert lines(steps, *types) == ({}, {1})
    assert lines(steps, *types, around=LoopsAround(divided=frozenset(whole.loops))) == ({3: 1, 11: 1}, {12})


def test_steps_are_compiled_whole_and_compute_what_python_does():
    rng = np.random.default_rng(0)
    ptr, col = np.array([0, 2, 2, 5]), np.array([0, 2, 1, 0, 2])
    for threads in (1, 2):
        for fp in ("strict", "reassociate"):
            args = ptr, col, rng.random(5), rng.random(3), np.zeros(3)
            own, plain = [[a.copy() for a in args] for _ in range(2)]
            kernel = polyml.kernel(steps, fallback="error", threads=threads, fp=fp, cache=False)
            kernel(*own)
            steps(*plain)
            assert kernel.explain().count("its iterations go to threads") == (threads > 1) * (2 + (fp != "strict"))
            assert all(np.allclose(a, b, rtol=0 if fp == "strict" else 1e-12, atol=0) for a, b in zip(own, plain))


def eliminated(A, pivots):
    for k in range(A.shape[0]):
        p = k
        for i in range(k + 1, A.shape[0]):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        pivots[k] = p
        for j in range(A.shape[0]):
            A[k, j], A[p, j] = A[p, j], A[k, j]
        for i in range(k + 1, A.shape[0]):
            A[i, k] /= A[k, k]
            for j in range(k + 1, A.shape[0]):
                A[i, j] -= A[i, k] * A[k, j]


def test_a_loop_stays_affine_where_assignments_beside_its_regions_have_loops_for_threads():
    [whole] = [s for s in model(eliminated, MATRIX, INDICES, regions=True).statements.values() if s.region is not None]
    scop = model(eliminated, MATRIX, INDICES, regions=True, around=LoopsAround(divided=frozenset(whole.loops)))
    assert loops_around_threads(scop, dependences(scop)) == {*whole.loops, *scop.statements[[*scop.statements][-1]].loops}
    assert not loops_around_threads(scop, None)
    rng = np.random.default_rng(0)
    matrix = rng.random((90, 90))
    for threads in (1, 2):
        own, plain = (matrix.copy(), np.zeros(90, int)), (matrix.copy(), np.zeros(90, int))
        kernel = polyml.kernel(eliminated, fallback="error", threads=threads, fp="strict", cache=False)
        kernel(*own)
        eliminated(*plain)
        assert all(map(np.array_equal, own, plain))
        assert "for c2_0" in str(kernel.inspect_ast(*own))  # it has vectors


def scattered_rows(ptr, col, other, data, y):
    for i in range(ptr.shape[0] - 1):
        for p in range(ptr[i], ptr[i + 1]):
            data[p] = y[other[i]]
            y[col[p]] = data[p]


def apart(ptr, col, data, y):
    for i in range(ptr.shape[0] - 1):
        for p in range(ptr[i], ptr[i + 1]):
            data[p] = 1.0
            y[col[p]] += 1.0


def local(n, y):
    k = np.arange(n)
    for i in range(n):
        y[k[i]] += 1.0


def ordered(function, *types):
    """Returns what is said of the loops of a kernel that run in order."""
    return polyml.kernel(fallback="error")(function).lower(*types).ordered


def test_what_would_have_to_be_known_of_index_arrays_is_found():
    [loop] = ordered(apart, "i64[:]", "i32[:]", "f64[:]", "f64[:]")
    assert loop.advice == "polyml.assume(polyml.monotonic(ptr)); polyml.assume(polyml.injective(col))"
    assert str(loop).endswith(
        "since data[p] may be any element of data and y[col[p]] may be any element of y; it would be parallel if no number in ptr were "
        f"less than the one before it and no number were twice in col: {loop.advice}"
    )


@pytest.mark.parametrize(
    ("function", "types"),
    [(scattered_rows, ("i64[:]", "i64[:]", "i64[:]", "f64[:]", "f64[:]")), (local, ("int", "f64[:]"))],
)
def test_nothing_is_said_where_nothing_would_help(function, types):
    [loop] = ordered(function, *types)
    assert not loop.helpful and not loop.wish and not loop.advice and "parallel" not in str(loop)


def test_what_is_advised_makes_the_loop_parallel():
    def advised(ptr, col, data, y):
        polyml.assume(polyml.monotonic(ptr))
        polyml.assume(polyml.injective(col))
        for i in range(ptr.shape[0] - 1):
            for p in range(ptr[i], ptr[i + 1]):
                data[p] = 1.0
                y[col[p]] += 1.0

    assert not ordered(advised, "i64[:]", "i32[:]", "f64[:]", "f64[:]")
    [remarks] = polyml.kernel(fallback="error")(apart).remarks("i64[:]", "i32[:]", "f64[:]", "f64[:]")
    [found] = [remark for each in remarks.statements for remark in each.remarks if remark.question == "parallel"]
    assert found.kind == "missed" and found.advice == "polyml.assume(polyml.monotonic(ptr)); polyml.assume(polyml.injective(col))"


def test_rows_inside_of_loops_in_order_go_to_threads_where_they_have_the_work():
    for width, is_threaded in ((20, False), (5000, True)):
        rng = np.random.default_rng(1)
        given = rng.integers(0, 3, 300), rng.random((3, width)), rng.integers(-1, width, (300, width)).astype(float)
        kernel = polyml.kernel(gathered_rows, cache=False, fallback="error", threads=2)
        own, other = [a.copy() for a in given], [a.copy() for a in given]
        kernel(own[0][::-1].copy(), *own[1:])
        gathered_rows(other[0][::-1].copy(), *other[1:])
        assert all(map(np.array_equal, own, other))
    assert "its iterations go to threads" in kernel.explain()
    scattered = polyml.kernel(scattered_sums, cache=False, fallback="error", threads=2)
    for width, is_threaded in ((20, False), (5000, True)):
        k, A, B = np.array([0, 2, 0, 1]), np.ones((4, width)), np.zeros((3, width))
        scattered(k, A, B)
        assert ("its iterations go to threads" in scattered.explain()) is is_threaded
        assert B.sum() == 4.0 * width


def scattered_sums(k, A, B):
    for p in range(k.shape[0]):
        for r in range(A.shape[1]):
            if A[p, r] > 0.0:
                B[k[p], r] += A[p, r]
