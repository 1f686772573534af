"""What kernels assume of arrays that nobody can change is tested once: results, errors, and which code runs."""

from __future__ import annotations

import numpy as np
import pytest

import polyml
from polyml.frontend.library import frozen_arrays

LIMIT = 3


def scattered(b, k, x):
    polyml.assume(polyml.injective(k))
    for i in range(k.shape[0]):
        b[k[i]] += x[i]


def rows_scaled(ptr, data, factors):
    polyml.assume(polyml.monotonic(ptr) and polyml.within(ptr, 0, len(data) + 1), "no pointers")
    for i in range(factors.shape[0]):
        for p in range(ptr[i], ptr[i + 1]):
            data[p] *= factors[i]


def gathered(x, k, n):
    polyml.assume(polyml.within(k, 0, n))
    polyml.assume(polyml.within(k, 0, LIMIT))
    total = 0.0
    for i in range(k.shape[0]):
        total += x[k[i]]
    return total


def ran(function, *given):
    try:
        return function(*given), None, given
    except Exception as problem:
        return None, (type(problem), str(problem)), given


def same(one, other):
    return one[:2] == other[:2] and all(np.array_equal(a, b) for a, b in zip(one[2], other[2]))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("element", ["int64", "int32", "uint8"])
@pytest.mark.parametrize("numbers", [[], [0], [2, 0, 1], [1, 1], [0, 2, 5]], ids=str)
def test_calls_with_frozen_arrays_do_what_python_does(threads, fp, element, numbers):
    kernel = polyml.kernel(scattered, threads=threads, fp=fp, fallback="error")
    k = np.array(numbers, element)
    for given in (k, polyml.freeze(k), k.copy(), polyml.freeze(k[::-1])):
        for _ in range(2):
            make = lambda: (np.zeros(4), given, np.arange(1.0, len(k) + 1))  # noqa: E731
            if 5 not in numbers:
                assert same(ran(kernel, *make()), ran(scattered, *make()))
                continue
            got, wanted = ran(kernel, *make()), ran(scattered, *make())
            assert got[1][0] is polyml.BoundsError and wanted[1][0] is IndexError


def test_a_condition_is_not_tested_again(monkeypatch):
    kernel = polyml.kernel(scattered, fallback="error")
    k, seen = polyml.freeze(np.array([2, 0])), []
    monkeypatch.setitem(frozen_arrays._FINDERS, "injective", lambda array: seen.append(array) or True)
    b = np.zeros(3)
    for _ in range(3):
        kernel(b, k, np.ones(2))
    assert len(seen) == 1 and b.tolist() == [3.0, 0.0, 3.0]
    kernel(b, np.array([1, 2]), np.ones(2))  # another form runs, whose test fails
    with pytest.raises(ValueError, match="an assumption does not hold"):
        kernel(b, np.array([1, 1]), np.ones(2))
    kernel(b, k, np.ones(2))
    assert len(seen) == 1 and b.tolist() == [4.0, 1.0, 5.0]


def test_a_frozen_array_is_found_behind_others_and_others_behind_it():
    kernel = polyml.kernel(rows_scaled, fallback="error")
    good, bad = np.array([0, 1, 3]), np.array([0, 2, 1])
    for ptr in (
        good,
        polyml.freeze(good),
        bad,
        polyml.freeze(bad),
        polyml.freeze(good),
        good,
        np.array([0, 1, 9]),
        polyml.freeze(good),
    ):
        got, wanted = (ran(each, ptr, np.ones(3), np.array([2.0, 3.0])) for each in (kernel, rows_scaled))
        assert same(got, wanted)


def test_arrays_that_are_only_marked_as_read_only_are_tested_in_each_call():
    kernel = polyml.kernel(scattered, fallback="error")
    k = np.array([2, 0])
    k.flags.writeable = False
    b = np.zeros(3)
    kernel(b, k, np.ones(2))
    k.flags.writeable = True
    k[:] = 1
    k.flags.writeable = False
    with pytest.raises(ValueError, match="an assumption does not hold"):
        kernel(b, k, np.ones(2))


def test_bounds_are_compared_with_the_numbers_of_each_call(monkeypatch):
    kernel = polyml.kernel(gathered, fallback="error")
    k = polyml.freeze(np.array([2, 0]))
    for n in (3, 2, np.int64(5), 4, True):
        assert same(ran(kernel, np.arange(3.0), k, n), ran(gathered, np.arange(3.0), k, n))
    monkeypatch.setitem(globals(), "LIMIT", 2)
    assert same(ran(kernel, np.arange(3.0), k, 3), ran(gathered, np.arange(3.0), k, 3))


def chosen(b, k, mode, flag=True):
    polyml.assume(polyml.injective(k))
    x = b if flag else b + 1
    for i in range(k.shape[0]):
        if mode == "add":
            b[k[i]] += 1.0
        else:
            b[k[i]] = 5.0
    return x.sum()


def test_conditions_beside_other_constants():
    kernel = polyml.kernel(chosen, fallback="error")
    k = np.array([2, 0])
    for given in (k, polyml.freeze(k), np.array([1, 1]), polyml.freeze(np.array([1, 1])), k, polyml.freeze(k)):
        for mode in ("add", "set"):
            for rest in ((), (False,), (True,)):
                assert same(ran(kernel, np.zeros(3), given, mode, *rest), ran(chosen, np.zeros(3), given, mode, *rest))
    with pytest.raises(TypeError, match="positional arguments"):
        kernel(np.zeros(3), k, "add", True, 1)


def many(a, b, c, d, x):
    polyml.assume(polyml.injective(a) and polyml.injective(b) and polyml.injective(c) and polyml.injective(d))
    for i in range(a.shape[0]):
        x[a[i]] += 1.0


def test_code_is_made_for_a_few_combinations_of_conditions():
    kernel = polyml.kernel(many, fallback="error")
    k = np.array([1, 0])
    frozen = polyml.freeze(k)
    for choice in range(16):
        x = np.zeros(2)
        kernel(*(frozen if choice >> bit & 1 else k for bit in range(4)), x)
        assert x.tolist() == [1.0, 1.0]
    assert len(kernel._by_constants) <= 9


def sparse_scatter(A, y):
    polyml.assume(polyml.monotonic(A.indptr))
    for i in range(A.shape[0]):
        for p in range(A.indptr[i], A.indptr[i + 1]):
            y[i] += A.data[p]


def test_the_arrays_of_frozen_matrices():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    kernel = polyml.kernel(sparse_scatter, fallback="error")
    matrix = scipy_sparse.csr_array(np.array([[1.0, 0], [2, 3]]))
    for given in (matrix, polyml.freeze(matrix), matrix, polyml.freeze(matrix)):
        y = np.zeros(2)
        kernel(given, y)
        assert y.tolist() == [1.0, 5.0]
