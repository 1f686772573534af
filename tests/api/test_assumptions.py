"""`polyml.assume` in kernels: what it raises is what Python raises, and loops that it makes parallel give what Python gives."""

from __future__ import annotations

import traceback
from itertools import product

import numpy as np
import pytest

import polyml

INTEGERS = (np.int64, np.int32, np.uint8, np.uint64)


def scattered(b, k, x):
    polyml.assume(polyml.injective(k))
    for i in range(k.shape[0]):
        b[k[i]] += x[i]


def scattered_between(b, k, x):
    polyml.assume(polyml.injective(k))
    for i in range(2, k.shape[0] - 1):
        if x[i] > 1:
            b[k[i]] = b[k[i]] * 2 + x[i]


def rows_scaled(ptr, data, s):
    polyml.assume(polyml.monotonic(ptr))
    for i in range(ptr.shape[0] - 1):
        for p in range(ptr[i], ptr[i + 1]):
            data[p] *= s[i]


def rows_scattered(ptr, col, y, s):
    polyml.assume(polyml.monotonic(ptr) and polyml.injective(col))
    for i in range(len(ptr) - 1):
        start = ptr[i]
        end = ptr[i + 1]
        for p in range(start, end):
            j = col[p]
            y[j] += s[i]


def inside(b, k, x):
    n = b.shape[0]
    polyml.assume(polyml.within(k, 0, n), "an index is outside")
    for i in range(k.shape[0]):
        b[k[i]] += x[i]


def shifted(b, k):
    """Has a dependence from each iteration to the next one, whatever is known of k."""
    polyml.assume(polyml.injective(k))
    for i in range(1, k.shape[0]):
        b[k[i]] = b[k[i - 1]] + 1.0


def first_rows_twice(ptr, data, s):
    """Rows overlap, although `ptr` is monotonic."""
    polyml.assume(polyml.monotonic(ptr))
    for i in range(ptr.shape[0] - 2):
        for p in range(ptr[i], ptr[i + 2]):
            data[p] = data[p] * 0.5 + s[i]


def changed_later(b, k, x):
    """Says nothing of k where it is used: the kernel changes it before."""
    polyml.assume(polyml.injective(k))
    for i in range(k.shape[0]):
        k[i] = i // 2
    for i in range(k.shape[0]):
        b[k[i]] += x[i]


def bounded(b, n):
    polyml.assume(n >= 1)
    polyml.assume(condition=n <= b.shape[0], message="too many")
    for i in range(n):
        b[i] += 1


def behind(b, k, x):
    """Assumes something behind a loop, of which the loop may make no use."""
    for i in range(k.shape[0]):
        b[k[i]] += x[i]
    polyml.assume(polyml.injective(k))
    b[0] = 5


def is_injective(k):
    return polyml.injective(k)


def is_monotonic(k):
    return polyml.monotonic(k)


def ended(kernel, *args):
    """Returns what a call returns or raises, and its arguments behind it."""
    copies = [np.copy(each) if isinstance(each, np.ndarray) else each for each in args]
    try:
        result = kernel(*copies)
    except Exception as error:
        known = (ValueError, IndexError)
        result = next((kind.__name__ for kind in known if isinstance(error, kind)), error)
        result = (result, str(error)) if result == "ValueError" else result
    return result, [each.tolist() if isinstance(each, np.ndarray) else each for each in copies]


def agree(function, *args, **settings):
    kernel = polyml.kernel(fallback="error", **settings)(function)
    assert ended(kernel, *args) == ended(function, *args)
    return kernel


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("function", [scattered, inside])
def test_an_assumption_raises_what_python_raises(function, dtype):
    for numbers in ([1, 0, 2], [0, 1, 1], [0, 1, 9], [], [2, 1], [3]):
        agree(function, np.zeros(4), np.array(numbers, dtype), np.arange(len(numbers)) + 1.0)


@pytest.mark.parametrize("numbers", [[0, -1], [-3, 1], [2**40, 2**50, 3], [2**40, 3, 2**40], [2**62, 7]])
def test_negative_numbers_and_large_ones(numbers):
    agree(scattered, np.zeros(4), np.array(numbers), np.ones(3))


def test_conditions_are_the_same_in_loops():
    rng = np.random.default_rng(0)
    kernels = {is_injective: polyml.injective, is_monotonic: polyml.monotonic}
    compiled = {each: polyml.kernel(fallback="error")(each) for each in kernels}
    for dtype, size, top in product((np.int64, np.int32, np.int8), (0, 1, 2, 10, 80), (1, 8, 90, 2**31 - 1, 2**62)):
        if top <= np.iinfo(dtype).max:
            for sort in (False, True):
                k = rng.integers(0, top + 1, size).astype(dtype)
                k = np.sort(k) if sort else k
                for function, condition in kernels.items():
                    assert compiled[function](k) == condition(k)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["reassociate", "strict"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_loops_that_are_parallel_by_an_assumption(dtype, fp, threads):
    rng = np.random.default_rng(1)
    for rows in (0, 1, 2, 256, 259, 5000):
        ptr = np.concatenate([[0], np.cumsum(rng.integers(0, 6, rows))])
        size = int(ptr[-1])
        s = rng.integers(1, 5, rows).astype(dtype)
        agree(scattered, np.zeros(rows + 3, dtype), rng.permutation(rows), s, threads=threads, fp=fp)
        agree(scattered_between, np.ones(rows + 3, dtype), rng.permutation(rows), s, threads=threads, fp=fp)
        agree(rows_scaled, ptr, np.ones(size, dtype), s, threads=threads, fp=fp)
        agree(rows_scattered, ptr, rng.permutation(size), np.ones(size, dtype), s, threads=threads, fp=fp)


@pytest.mark.parametrize("function", [scattered, rows_scaled, rows_scattered])
def test_they_go_to_threads(function):
    types = {"scattered": ("f64[:]", "i64[:]", "f64[:]"), "rows_scaled": ("i64[:]", "f64[:]", "f64[:]")}
    given = types.get(function.__name__, ("i64[:]", "i64[:]", "f64[:]", "f64[:]"))
    [found] = polyml.kernel(fallback="error")(function).remarks(*given)
    assert found.loops[-1].written.startswith("for i in") and found.loops[-1].of("parallel").kind == "passed"


def test_loops_with_other_dependences_run_in_order():
    rng = np.random.default_rng(2)
    k, b = rng.permutation(3000), np.zeros(3000)
    for kernel in (agree(shifted, b, k, threads=2), agree(changed_later, b, k, np.ones(3000), threads=2)):
        assert "since b[k[i]] may be any element of b" in str(kernel.explain())
    ptr = np.concatenate([[0], np.cumsum(rng.integers(0, 6, 500))])
    agree(first_rows_twice, ptr, np.ones(ptr[-1]), np.ones(500), threads=2)
    agree(behind, b, rng.integers(0, 3000, 5000), np.ones(5000), threads=2)


def test_arguments_that_share_memory():
    k = np.arange(8)
    kernel = polyml.kernel(fallback="error")(scattered)
    kernel(k, k, np.full(8, 2))
    expected = np.arange(8)
    scattered(expected, expected, np.full(8, 2))
    assert k.tolist() == expected.tolist()


def test_an_index_beyond_the_array_raises_as_without_an_assumption():
    kernel = polyml.kernel(fallback="error", threads=2)(scattered)
    with pytest.raises(IndexError, match="index 9 in dimension 0 of size 4"):
        kernel(np.zeros(4), np.array([0, 9, 1]), np.ones(3))


def test_numbers_are_assumed():
    for n in (0, 1, 3, 4):
        agree(bounded, np.zeros(3), n)


def test_the_traceback_shows_the_assumption():
    with pytest.raises(ValueError, match="^an assumption does not hold$") as raised:
        polyml.kernel(fallback="error")(scattered)(np.zeros(3), np.array([1, 1]), np.ones(2))
    assert traceback.extract_tb(raised.value.__traceback__)[-1].line == "polyml.assume(polyml.injective(k))"


def test_the_text_must_be_a_constant():
    def told(b, n):
        polyml.assume(n > 0, b)

    with pytest.raises(polyml.NotAffineError, match="an assumption is a condition, with a constant text"):
        polyml.kernel(fallback="error")(told)(np.zeros(3), 1)


def test_no_index_is_tested_twice():
    kernel = polyml.kernel(fallback="error")(inside)
    text = kernel.lower("f64[:]", "i32[:]", "f64[:]").llvm
    assert text.count("outside") == 2 * text.count("label %outside"), "the slow form of the loop tests x[i] alone"
    assert text.count("label %outside") == 1
