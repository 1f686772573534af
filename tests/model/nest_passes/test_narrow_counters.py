"""Python ints that only count are 64-bit integers to the compiler, and to nobody else."""

import numpy as np
import pytest

import polyml
from polyml.dtypes import I64, PYINT
from polyml.frontend.syntax import ArrayType
from tests.model.modelling import INT, MATRIX, model

COUNTS = ArrayType(I64, 1)


def of_rows(A, r):
    for i in range(A.shape[0]):
        c = 0
        for j in range(A.shape[1]):
            if A[i, j] > 0.5:
                c += 1
        r[i] = c


def up_and_down(A, r):
    c = 5
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] > 0.7:
                c += 1
            elif A[i, j] < 0.2:
                c -= 2
            else:
                c = 3 + c
    r[0] = c


def runs(A, r):
    longest = 0
    now = 0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            now = now + 1 if A[i, j] > 0.3 else 0
            r[i] = now
            longest += now > 2
    r[0] = longest


def used(A, r):
    for i in range(A.shape[0]):
        c = 0
        for j in range(A.shape[1]):
            c += 1 if A[i, j] > 0.5 else 0
            A[i, j] = A[i, j] * c + c / 3 + 10 * c + (c - 7) // 2
        r[i] = c * c - c % 3


def of_others(A, r):
    best = A[0, 0]
    at = 0
    for j in range(1, A.shape[1]):
        at = at + 2 if A[0, j] > best else at
        best = max(best, A[0, j])
    r[0] = at


COUNTERS = {of_rows: ["c"], up_and_down: ["c"], runs: ["longest", "now"], used: ["c"], of_others: ["at"]}


@pytest.mark.parametrize("function", COUNTERS)
@pytest.mark.parametrize("shape", [(5, 70), (1, 1), (3, 9)])
def test_counters_count_as_python_does(function, shape):
    A = np.random.default_rng(1).random(shape)
    r = np.zeros(max(shape), np.int64)
    expected = A.copy(), r.copy()
    found = A.copy(), r.copy()
    function(*expected)
    polyml.kernel(cache=False, fallback="error", threads=2)(function)(*found)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("function, names", COUNTERS.items())
def test_counters_are_64_bit_integers(function, names):
    arrays = model(function, MATRIX, COUNTS).arrays.values()
    assert not [a.name for a in arrays if a.element == PYINT]
    assert all(a.element == I64 for a in arrays if a.source_name in names)


def doubled(A, n):
    c = 1
    for i in range(A.shape[0]):
        c = c + c
    A[0, 0] = c


def by_an_argument(A, n):
    c = 0
    for i in range(A.shape[0]):
        c += n
    A[0, 0] = c


def by_much(A, n):
    c = 0
    for i in range(A.shape[0]):
        c += 2**60
    A[0, 0] = c


def returned(A, n):
    c = 0
    for i in range(A.shape[0]):
        c += 1
    return c


@pytest.mark.parametrize("function", [doubled, by_an_argument, by_much, returned])
def test_what_may_grow_or_is_returned_stays_a_python_int(function):
    assert any(a.element == PYINT for a in model(function, MATRIX, INT).arrays.values())


@pytest.mark.parametrize("function", [doubled, by_much])
def test_what_leaves_64_bits_is_refused(function):
    with pytest.raises(OverflowError):
        polyml.kernel(cache=False)(function)(np.zeros((80, 1)), 1)


def test_a_returned_count_is_a_python_int():
    found = polyml.kernel(cache=False, fallback="error")(returned)(np.zeros((7, 1)), 1)
    assert type(found) is int and found == 7
