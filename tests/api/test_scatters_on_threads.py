"""Sums at indices from data go to threads in chunks: sums, and what is raised and written before, are those of plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import polyml

SIZE = 140_000


def counted(k, counts):
    for i in range(k.shape[0]):
        counts[k[i]] += 1


def weighted(k, w, sums):
    for i in range(1, k.shape[0]):
        sums[k[i]] = w[i] + sums[k[i]]


def in_bins(x, low, high, counts):
    for i in range(x.shape[0]):
        if x[i] >= low and x[i] < high:
            b = int((x[i] - low) / (high - low) * counts.shape[0])
            counts[b] -= 1


def truncated(x, counts):
    for i in range(x.shape[0]):
        counts[int(x[i])] += 1


def pairs(k, other, counts):
    for i in range(k.shape[0]):
        a = k[i]
        counts[a, other[i]] += 1


def of_columns(ptr, col, val, x, y):
    for i in range(ptr.shape[0] - 1):
        for p in range(ptr[i], ptr[i + 1]):
            y[col[p]] += val[p] * x[i]


def largest(k, x, best, least):
    for i in range(k.shape[0]):
        if x[i] > best[k[i]]:
            best[k[i]] = x[i]
        least[k[i]] = min(least[k[i]], x[i])


def last_of_equals(k, x, best):
    """Keeps what stands first among numbers and what is no number: the order counts."""
    for i in range(k.shape[0]):
        best[k[i]] = max(x[i], best[k[i]])


def added_and_largest(k, x, best):
    for i in range(k.shape[0]):
        best[k[i]] = max(best[k[i]], x[i])
        best[k[i]] += x[i]


def returned(k):
    largest = 0
    for i in range(k.shape[0]):
        largest = max(largest, int(k[i]))
    counts = np.zeros(300, dtype=np.int64)
    sums = np.zeros(300)
    for i in range(k.shape[0]):
        counts[k[i]] += 1
        sums[k[i]] -= 0.5
    return counts, sums, largest


def written_before(k, counts, last):
    last[0] = 5
    for i in range(k.shape[0]):
        counts[k[i]] += 1


def largest_of_each(k, x, best):
    best[:] = -1.0
    for i in range(x.shape[0]):
        if x[i] > best[k[i]]:
            best[k[i]] = x[i]


def doubled_before(k, counts):
    counts[:] = 2 * counts
    for i in range(k.shape[0]):
        counts[k[i]] += 1


def carried(k, counts):
    seen = 0
    for i in range(k.shape[0]):
        seen += k[i]
        counts[k[i]] += seen


def kept_number(k, counts):
    """Reads a number of the iteration before."""
    last = 0
    for i in range(k.shape[0]):
        counts[k[i]] += last
        last = k[i]


def read_too(k, counts):
    for i in range(k.shape[0]):
        counts[k[i]] += counts[0]


def kernel_of(function, **settings):
    return polyml.kernel(fallback="error", **settings)(function)


def indices(dtype=np.int64, most=100):
    return np.random.default_rng(3).integers(0, most, SIZE).astype(dtype)


def agree(function, *args, rounding=0.0, **settings):
    """Calls a function compiled and as Python, compares, and returns the kernel."""
    own, other = ([np.copy(a) if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    kernel = kernel_of(function, **settings)
    got, expected = kernel(*own), function(*other)
    for one, right in zip([*own, *(got or ())], [*other, *(expected or ())]):
        assert type(one) is type(right)
        np.testing.assert_allclose(one, right, rtol=rounding, atol=0)
    return kernel


def runs_in_chunks(kernel):
    return "chunks on threads" in str(kernel.explain())


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.uint32])
def test_integers_are_the_same(dtype):
    for numbers in (np.int64, np.int32, np.uint8):
        assert runs_in_chunks(agree(counted, indices(numbers), np.full(100, 7, dtype), threads=2))
    x = np.random.default_rng(4).uniform(-1.1, 1.1, SIZE)
    assert runs_in_chunks(agree(in_bins, x, -1.0, 1.0, np.zeros(64, dtype), threads=2))
    assert runs_in_chunks(agree(pairs, indices(), indices(most=9), np.zeros((100, 9), dtype), threads=3))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_floats_are_those_of_another_order(dtype):
    w = np.random.default_rng(5).uniform(0, 1, SIZE).astype(dtype)
    rounding = 1e-12 if dtype is np.float64 else 1e-3
    assert runs_in_chunks(agree(weighted, indices(), w, np.ones(100, dtype), threads=2, rounding=rounding))
    ptr = np.arange(0, SIZE + 1, 7)
    args = (ptr, indices(np.int32), w, np.ones(len(ptr) - 1, dtype), np.zeros(100, dtype))
    assert runs_in_chunks(agree(of_columns, *args, threads=2, rounding=rounding))
    assert not runs_in_chunks(agree(weighted, indices(), w, np.ones(100, dtype), threads=2, fp="strict"))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int16, np.uint8])
def test_extrema_are_the_same(dtype):
    x = np.random.default_rng(6).uniform(0, 200, SIZE).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[::7] = np.nan
    best, least = (np.full(101, value, dtype) for value in (20, 100))
    if np.dtype(dtype).kind == "f":
        best[3], least[100] = np.nan, np.inf
    assert runs_in_chunks(agree(largest, indices(), x, best, least, threads=2))
    assert runs_in_chunks(agree(last_of_equals, indices(), x, best, threads=2)) == (np.dtype(dtype).kind != "f")
    assert not runs_in_chunks(agree(added_and_largest, indices(), x, best, threads=2))


def test_an_element_without_updates_keeps_its_sign():
    sums = np.full(101, -0.0)
    kernel_of(weighted, threads=2)(indices(), np.ones(SIZE), sums)
    assert np.signbit(sums[100])


def test_arrays_of_the_kernel_itself_are_added_to():
    assert runs_in_chunks(agree(returned, indices(), threads=2, rounding=1e-12))


@pytest.mark.parametrize("place", [0, 70_000, SIZE - 1])
def test_an_error_leaves_what_python_leaves(place):
    k = indices()
    k[place] = 100
    for number in (100, -101):
        k[place] = number
        counts, expected = np.zeros(100, int), np.zeros(100, int)
        with pytest.raises(IndexError):
            counted(k, expected)
        with pytest.raises(IndexError, match="index -?10[01] is out of bounds"):
            kernel_of(counted, threads=2)(k, counts)
        assert counts.tolist() == expected.tolist()
    k[place] = -1
    agree(counted, k, np.zeros(100, int), threads=2)


def test_what_is_no_number_raises_what_python_raises():
    x = np.random.default_rng(4).uniform(0, 50, SIZE)
    for value, kind in ((np.nan, ValueError), (np.inf, OverflowError), (-51.0, IndexError)):
        x[90_000] = value
        counts, expected = np.zeros(50, int), np.zeros(50, int)
        with pytest.raises(kind) as right:
            truncated(x, expected)
        with pytest.raises(kind, match=str(right.value)):
            kernel_of(truncated, threads=2)(x, counts)
        assert counts.tolist() == expected.tolist()


@pytest.mark.parametrize("function", [carried, kept_number, read_too])
def test_what_iterations_hand_on_stays_in_order(function):
    assert not runs_in_chunks(agree(function, indices(most=3), np.ones(3, np.int64), threads=2))


def test_what_was_written_before_is_written_once_more():
    assert runs_in_chunks(agree(written_before, indices(), np.zeros(100, int), np.zeros(1), threads=2))
    last = np.zeros(1)
    with pytest.raises(IndexError):
        kernel_of(written_before, threads=2)(indices(most=101), np.zeros(100, int), last)
    assert last == [5]


def test_large_targets_and_short_loops_stay_in_order():
    assert not runs_in_chunks(agree(counted, indices(), np.zeros(SIZE, int), threads=2))
    assert not runs_in_chunks(agree(counted, indices()[:5000], np.zeros(100, int), threads=2))
    assert not runs_in_chunks(agree(counted, indices(), np.zeros(100, int), threads=1))


def test_arguments_that_share_memory_stay_in_order():
    k = indices(most=90)
    agree_k, other = np.copy(k), np.copy(k)
    kernel_of(counted, threads=2)(agree_k, agree_k[:90])
    counted(other, other[:90])
    assert agree_k.tolist() == other.tolist()


def test_a_call_with_large_arrays_has_chunks_though_the_first_one_had_small_ones():
    kernel = kernel_of(counted, threads=2)
    kernel(indices()[:50], np.zeros(100, int))
    assert not runs_in_chunks(kernel)
    counts = np.zeros(100, int)
    kernel(indices(), counts)
    assert runs_in_chunks(kernel)
    assert counts.tolist() == np.bincount(indices(), minlength=100).tolist()


@pytest.mark.parametrize("place", [None, 0, SIZE - 1])
def test_what_fills_an_array_before_does_so_again_in_plain_python(place):
    k = indices()
    x = np.random.default_rng(7).uniform(0, 1, SIZE)
    if place is None:
        assert runs_in_chunks(agree(largest_of_each, k, x, np.ones(100), threads=2))
        return
    k[place] = 100
    best, expected = np.ones(100), np.ones(100)
    with pytest.raises(IndexError):
        largest_of_each(k, x, expected)
    with pytest.raises(IndexError, match="index 100 is out of bounds"):
        kernel_of(largest_of_each, threads=2)(k, x, best)
    assert best.tolist() == expected.tolist()


def test_what_reads_an_array_before_that_it_writes_stays_in_order():
    assert not runs_in_chunks(agree(doubled_before, indices(), np.ones(100, int), threads=2))
