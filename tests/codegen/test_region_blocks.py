"""Loops of regions run several iterations behind one test of their indices, and do what they would do one by one."""

import numpy as np
import pytest

import polyml
from polyml.codegen.analysis.region_blocks import LEAST


def gathered(ptr, col, val, x, y):
    for i in range(y.shape[0]):
        total = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            total += val[k] * x[col[k]]
        y[i] = total


def scattered(rows, columns, val, x, y):
    for p in range(rows.shape[0]):
        j = columns[p]
        y[rows[p]] += val[p] * x[j - 1]


def products(first, col, x):
    total = 1.0
    for k in range(first[0], col.shape[0]):
        total *= x[col[k]]
    return total


def both(first, col, x):
    total = 0.0
    largest = 0.0
    for k in range(first[0], col.shape[0]):
        total += x[col[k]]
        largest = max(largest, x[col[k]])
    return total, largest


def backwards(first, col, x):
    total = 0.0
    for k in range(first[0] - 1, -1, -3):
        total += x[col[k]] * k
    return total


def followed(first, following, x):
    for k in range(first[0], following.shape[0]):
        x[following[k]] += 1.0
        following[k] = following[k - 1]


def same(function, *args, exact=True, **settings):
    kernel = polyml.kernel(function, fallback="error", **settings)
    own, plain = [[a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2)]
    got, wanted = _outcome(kernel, own), _outcome(function, plain)
    assert kernel.compiled is not False
    assert isinstance(got, type(wanted))
    if isinstance(wanted, IndexError):
        got = wanted = 0
    np.testing.assert_allclose(got if got is not None else 0, wanted if wanted is not None else 0, rtol=0 if exact else 1e-12)
    for one, other in zip(own, plain):
        np.testing.assert_allclose(one, other, rtol=0 if exact else 1e-12)


def _outcome(function, args):
    try:
        return function(*args)
    except IndexError as error:
        return IndexError(*error.args[:0])


def rows(lengths, columns, seed=0, dtype=np.int32):
    rng = np.random.default_rng(seed)
    ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(dtype)
    return ptr, rng.integers(-columns, columns, ptr[-1]).astype(dtype), rng.uniform(1, 2, ptr[-1])


@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_rows_of_all_lengths(fp, threads, dtype):
    ptr, col, val = rows([*range(LEAST + 9), 0, 100, 3, 64], 50, dtype=dtype)
    x = np.random.default_rng(1).uniform(1, 2, 50)
    for columns in (col, abs(col) % 50):  # with indices from the end, and without
        same(gathered, ptr, columns.astype(dtype), val, x, np.zeros(len(ptr) - 1), exact=fp == "strict", fp=fp, threads=threads)


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.int8])
def test_other_elements(kind):
    ptr, col, val = rows([40, 5, 40], 50)
    x = np.arange(50).astype(kind)
    same(gathered, ptr, col, (val * 9).astype(kind), x, np.zeros(3), fp="strict")


@pytest.mark.parametrize("wrong", [0, 3, 17, 18, 39])
def test_an_index_outside_raises_after_what_came_before(wrong):
    rng = np.random.default_rng(2)
    r, c, val = rng.integers(0, 9, 40), rng.integers(0, 30, 40), rng.uniform(0, 1, 40)
    x, y = rng.uniform(0, 1, 30), np.zeros(9)
    for broken, value in ((r, 9), (r, -10), (c, 31), (c, -30)):
        kept = broken[wrong]
        broken[wrong] = value
        same(scattered, r, c, val, x, y, threads=1, fp="strict")
        broken[wrong] = kept
    same(scattered, r, c, val, x, y, threads=1, fp="strict")


@pytest.mark.parametrize("function", [products, both, backwards])
@pytest.mark.parametrize("size", [0, 1, 15, 16, 19, 77])
def test_several_totals_products_and_steps(function, size):
    rng = np.random.default_rng(3)
    first = np.array([size if function is backwards else 0])
    same(function, first, rng.integers(-20, 20, size), rng.uniform(0.9, 1.1, 20), exact=False)
    same(function, first, rng.integers(-20, 20, size), rng.uniform(0.9, 1.1, 20), fp="strict")


def test_indices_that_the_loop_changes_are_read_when_they_are_used():
    same(followed, np.array([1]), np.random.default_rng(4).integers(0, 8, 50), np.zeros(8), threads=1)


def test_arrays_that_overlap_are_read_when_they_are_used():
    base = np.random.default_rng(5).integers(0, 60, 60)
    kernel = polyml.kernel(overlapping, fallback="error", threads=1)
    one, other = base.copy(), base.copy()
    kernel(one[:1], one[1:], one[3:])
    overlapping(other[:1], other[1:], other[3:])
    assert one.tolist() == other.tolist()


def overlapping(first, col, y):
    for k in range(first[0] * 0, y.shape[0]):
        y[col[k] % y.shape[0]] = k


def factors(first, rows, columns, val, B, y):
    for p in range(first[0], val.shape[0]):
        for r in range(B.shape[1]):
            y[rows[p], r] += val[p] * B[columns[p], r]


@pytest.mark.parametrize("width", [0, 1, 5, 16, 40])
def test_indices_that_do_not_change_in_a_loop_are_tested_before_it(width):
    rng = np.random.default_rng(6)
    r, c, val = rng.integers(-9, 9, 20), rng.integers(0, 30, 20), rng.uniform(0, 1, 20)
    B, y = rng.uniform(0, 1, (30, width)), np.zeros((9, width))
    same(factors, np.array([0]), r, c, val, B, y, fp="strict")
    same(factors, np.array([0]), r, c, val, B, y, exact=False)
    for broken, value in ((r, 9), (c, 30), (c, -31)):
        kept = broken[11]
        broken[11] = value
        same(factors, np.array([0]), r, c, val, B, y, fp="strict")
        broken[11] = kept


def chosen(first, rows, x, y):
    for p in range(first[0], rows.shape[0]):
        for r in range(x.shape[0]):
            if x[r] > 0.5:
                y[rows[p]] += x[r]


def test_an_index_on_a_path_that_does_not_run_raises_nothing():
    rows, x = np.array([0, 7, 2]), np.full(30, 0.1)
    same(chosen, np.array([0]), rows, x, np.zeros(3), fp="strict")
    x[5] = 1.0
    same(chosen, np.array([0]), rows, x, np.zeros(3), fp="strict")


def moved(first, rows, y):
    for p in range(first[0], 3):
        for r in range(rows.shape[0]):
            rows[p] = (rows[p] + 1) % 5
            y[rows[p]] += r


def test_an_index_that_is_stored_in_the_loop_is_read_again():
    same(moved, np.array([0]), np.arange(5), np.zeros(5))
