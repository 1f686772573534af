"""Kernels of which data decide the control: what they return, write and raise, and what is told of them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polyml


def csr_product(ptr, col, val, x, y):
    for i in range(y.shape[0]):
        s = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            s += val[k] * x[col[k]]
        y[i] = s


def matrix(rows, per_row=3, seed=0):
    rng = np.random.default_rng(seed)
    ptr = np.arange(rows + 1) * per_row
    return ptr, rng.integers(0, rows, rows * per_row), rng.random(rows * per_row), rng.random(rows)


def compiled(function, **settings):
    return polyml.kernel(function, cache=False, fallback="error", on_defect="raise", **settings)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_rows_of_a_sparse_product_go_to_threads(threads):
    ptr, col, val, x = matrix(5_000)
    kernel, y, wanted = compiled(csr_product, threads=threads), np.zeros(5_000), np.zeros(5_000)
    kernel(ptr, col, val, x, y)
    csr_product(ptr, col, val, x, wanted)
    np.testing.assert_allclose(y, wanted, rtol=1e-13)
    assert ("its iterations go to threads" in kernel.explain()) is (threads > 1)
    assert "x[col[k]] may be any element of x" in kernel.explain()


def test_an_index_outside_its_array_ends_the_call_where_python_ends_it():
    ptr, col, val, x = matrix(4)
    col[7] = 9
    kernel, y, wanted = compiled(csr_product, threads=1), np.zeros(4), np.zeros(4)
    with pytest.raises(IndexError, match=r"`x\[col\[k\]\]` is out of bounds: index 9 in dimension 0 of size 4"):
        kernel(ptr, col, val, x, y)
    with pytest.raises(IndexError):
        csr_product(ptr, col, val, x, wanted)
    np.testing.assert_allclose(y, wanted)


def test_threads_report_the_first_iteration_in_the_sources_order():
    ptr, col, val, x = matrix(40_000)
    col[[3 * 700, 3 * 39_000]] = 50_001, 50_002
    kernel, y, wanted = compiled(csr_product, threads=4), np.zeros(40_000), np.zeros(40_000)
    with pytest.raises(IndexError, match="index 50001"):
        kernel(ptr, col, val, x, y)
    col[[3 * 700, 3 * 39_000]] = 0
    csr_product(ptr, col, val, x, wanted)
    np.testing.assert_allclose(y[:700], wanted[:700])


def test_negative_indices_count_from_the_end():
    ptr, col, val, x = matrix(50)
    kernel, y, wanted = compiled(csr_product), np.zeros(50), np.zeros(50)
    kernel(ptr, col - 50, val, x, y)
    csr_product(ptr, col, val, x, wanted)
    np.testing.assert_allclose(y, wanted)


def test_indices_far_away_are_told_without_their_value():
    def chosen(A, k):
        n = 0
        while n < 1:
            A[k[n]] = 1.0
            n += 1

    with pytest.raises(IndexError, match="an index in dimension 0"):
        compiled(chosen)(np.zeros(3), np.array([2**60]))


def packed(A, out):
    n = 0
    for i in range(A.shape[0]):
        if A[i] > 0.0:
            out[n] = A[i]
            n += 1
    return n


@pytest.mark.parametrize("room", [500, 100])
def test_counters_that_fit_need_no_tests_and_others_have_them(room):
    A = np.random.default_rng(1).standard_normal(400)
    got, wanted = np.zeros(room), np.zeros(room)
    kernel = compiled(packed)
    try:
        right = packed(A, wanted)
    except IndexError:
        with pytest.raises(IndexError):
            kernel(A, got)
    else:
        assert kernel(A, got) == right
    assert got.tolist() == wanted.tolist()


def test_a_division_by_zero_raises():
    def digits(n, base):
        count = 0
        while n > 0:
            n //= base
            count += 1
        return count

    kernel = compiled(digits)
    assert kernel(12345, 10) == 5
    with pytest.raises(ZeroDivisionError, match="`n //= base` divides by zero"):
        kernel(1, 0)


def test_bits_under_a_mask_do_not_overflow():
    def generated(state, n):
        while n > 0:
            state = (state * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFFFFFFFFFF
            n -= 1
        return state

    assert compiled(generated)(2**40 + 1, 9) == generated(2**40 + 1, 9)


def test_a_sum_that_leaves_64_bits_ends_the_call():
    def doubled(n):
        while n < 0 or n > 1:
            n = n * 3
        return n

    with pytest.raises(OverflowError):
        compiled(doubled)(2)


def swept(A, tolerance):
    count = 0
    change = 1.0
    while change > tolerance:
        change = 0.0
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                new = 0.25 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])
                change = max(change, abs(new - A[i, j]))
                A[i, j] = new
        count += 1
    return count


@pytest.mark.filterwarnings("ignore::polyml.PolymlPerformanceWarning")
def test_sweeps_over_large_grids_are_lifted_out_of_their_loop():
    kernel = polyml.kernel(swept, cache=False, fp="strict")
    for size, is_whole in ((20, True), (300, False)):
        A = np.random.default_rng(0).random((size, size))
        B = A.copy()
        assert kernel(A, 0.2) == swept(B, 0.2) and np.array_equal(A, B)
        assert kernel.compiled is is_whole
        assert is_whole or [*kernel.compiled_parts()]


def test_arguments_that_share_memory_run_in_order():
    def moved(A, B, n):
        i = 0
        while i < n:
            A[i + 1] = B[i] + 1.0
            i += 1

    got, wanted = np.arange(6.0), np.arange(6.0)
    compiled(moved)(got, got, 5)
    moved(wanted, wanted, 5)
    assert got.tolist() == wanted.tolist()


def test_a_loop_that_runs_in_order_is_named():
    def histogram(x, counts):
        for i in range(x.shape[0]):
            counts[x[i]] += 1

    kernel = compiled(histogram)
    counts = np.zeros(4, np.int64)
    kernel(np.array([1, 3, 1, -1]), counts)
    assert counts.tolist() == [0, 2, 0, 2]
    told = r"the loop in line \d+ runs in order, in a region, since counts\[x\[i\]\] may be any element of counts"
    assert re.search(told, kernel.explain())


def test_a_number_that_goes_from_one_iteration_to_the_next_is_named():
    def last_above(x, limits):
        state = 0.0
        for i in range(x.shape[0]):
            while state < x[i]:
                state += limits[i]
        return state

    kernel = compiled(last_above)
    assert kernel(np.array([1.0, 5.0]), np.array([0.75, 2.0])) == last_above(np.array([1.0, 5.0]), np.array([0.75, 2.0]))
    assert "since state goes from one iteration to the next" in kernel.explain()


def test_what_pictures_and_texts_show_of_regions():
    kernel = compiled(csr_product)
    lowered = kernel.lower("i64[:]", "i64[:]", "f64[:]", "f64[:]", "f64[:]")
    assert "y[i] = region(ptr[i], ptr[i + 1], val[?], col[?], x[?])" in lowered.stages["domain"]()
    assert "region(ptr[c0], ptr[c0 + 1]" in lowered.stages["ast"]()
    assert kernel.why("i", "parallel", "i64[:]", "i64[:]", "f64[:]", "f64[:]", "f64[:]").conflict is None


def test_a_refused_loop_beside_other_work_warns_once():
    def exchanged(A, B):
        n = 0
        while A[n] < 5.0:
            A, B = B, A
            n += 1
        for i in range(A.shape[0]):
            B[i] = A[i] * 2.0
        return n

    with pytest.warns(polyml.PolymlPerformanceWarning) as warned:
        assert polyml.kernel(exchanged, cache=False)(np.arange(6.0), np.arange(6.0)) == 5
    assert [str(each.message).count("is bound to another array in each iteration") for each in warned] == [1]


def last_of_largest(A, k):
    last = 0
    for i in range(1, A.shape[0]):
        if A[i, k[0]] > A[last, k[0]]:
            last = i
    return A[last, k[1]], last, A[k[0], 0] * 2


@pytest.mark.parametrize("k", [[0, 1], [2, -1], [1, 3], [-4, 0]])
def test_elements_at_places_that_data_decide_are_results(k):
    A = np.random.default_rng(0).random((5, 3))
    kernel = polyml.kernel(last_of_largest, fallback="error", cache=False)
    try:
        wanted = last_of_largest(A, np.array(k))
    except IndexError:
        with pytest.raises(IndexError):
            kernel(A, np.array(k))
        return
    got = kernel(A, np.array(k))
    assert got == wanted and list(map(type, got)) == list(map(type, wanted))
