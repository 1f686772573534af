"""Numbers that are Python ints on some paths and floats or NumPy's integers on others, where no use shows the difference."""

from __future__ import annotations

import numpy as np
import pytest

import polyml
from polyml.errors import PolymlError

FAR = 2**53 + 1  # the first int that float64 rounds


def stored(A, m, out):
    for i in range(A.shape[0]):
        if A[i] < 0:
            d = np.inf
        elif A[i] == 0:
            d = m
        elif A[i] > 2:
            d = 0
        else:
            d = A[i] * 0.5
        out[i] = d


def computed_with(A, m, out):
    for i in range(A.shape[0]):
        d = m if A[i] > 1 else 0.25
        out[i] = d * A[i] + A[i] / (d + A[i])
        if d > A[i]:
            out[i] -= 1
        if d:
            out[i] += 2


def from_int_to_float(A, m):
    x = m
    s = 0.0
    for i in range(A.shape[0]):
        x = x * 0.5
        s += A[i] * x
    return s


def copied(A, m, out):
    for i in range(A.shape[0]):
        d = m
        if A[i] > 1:
            d = A[i]
        e = d
        out[i] = np.sqrt(e) + float(e)


def least(a, b, k, out):
    for i in range(out.shape[0]):
        if k[i] >= 0:
            out[i] = min(a - k[i], b)
        else:
            out[i] = min(a, b + k[i])


def returned(A, m):
    d = m
    if A[0] > 1:
        d = A[1]
    return d


def added_to_an_int(A, m, out):
    d = m
    if A[0] > 1:
        d = A[1]
    out[0] = d + 1


def compared_with_an_int(A, m, out):
    d = m
    if A[0] > 1:
        d = A[1]
    if d == m:
        out[0] = 1


def made_an_int(A, m, out):
    d = m
    if A[0] > 1:
        d = A[1]
    out[0] = int(d)


def stored_in_ints(A, m, out):
    d = m
    if A[0] > 1:
        d = A[1]
    out[0] = d


def negated(A, m, out):
    d = m
    if A[0] > 1:
        d = A[1]
    out[0] = -d


def rounded_down(A, m, out):
    d = m
    if A[0] > 1:
        d = A[1]
    out[0] = np.floor(d)


def read_as_an_int_before(A, m, out):
    d = m
    out[1] = d + 1
    if A[0] > 1:
        d = A[1]
    out[0] = d


def check(function, *arguments, whole=True, **settings):
    """Checks that a kernel does what plain Python does; in a call of its own, whether it is compiled whole."""
    kernel = polyml.kernel(function, cache=False, fallback="error" if whole else "warn", on_defect="raise", **settings)
    own, changed = ([a.copy() if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2))
    with np.errstate(all="ignore"):
        result, wanted = kernel(*own), function(*changed)
    assert type(result) is type(wanted)
    assert wanted is None or result == wanted
    for mine, theirs in zip(own, changed):
        np.testing.assert_array_equal(mine, theirs)
    assert kernel.compiled == whole


@pytest.mark.parametrize("settings", [{}, {"fp": "strict"}, {"threads": 2}], ids=str)
@pytest.mark.parametrize("m", [3, 0, -5, FAR, -(2**62) - 1])
def test_an_int_beside_floats_is_rounded_where_numpy_rounds_it(m, settings):
    A = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 0.5])
    settings = {"fp": "strict", **settings}
    check(stored, A, m, np.zeros(6), **settings)
    check(stored, A, m, np.zeros(6, np.float32), **settings)
    check(stored, A[:0], m, np.zeros(6), **settings)
    check(stored, A[:1], m, np.zeros(1), **settings)
    check(computed_with, A, m, np.zeros(6), **settings)
    check(copied, abs(A), abs(m), np.zeros(6), **settings)
    check(from_int_to_float, A, m, **settings)


@pytest.mark.parametrize("k", [np.int64, np.int32])
def test_an_int_beside_numpy_s_int64_is_stored_as_it_is(k):
    numbers = np.array([0, 3, -4, 9, -9], k)
    check(least, 7, 2, numbers, np.zeros(5, np.int64))
    if k is np.int64:
        check(least, 2**40, 2**41, numbers, np.zeros(5, np.int64))


@pytest.mark.parametrize(
    "function",
    [added_to_an_int, compared_with_an_int, made_an_int, negated, rounded_down, read_as_an_int_before],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("out", [np.float64, np.int64])
def test_what_would_show_the_rounding_is_left_to_python(function, out):
    for first in (0.0, 2.0):
        check(function, np.array([first, 7.0]), FAR, np.zeros(2, out), whole=False)


def test_ints_of_arrays_and_results_keep_the_int():
    for first in (0.0, 2.0):
        A = np.array([first, 7.0])
        check(stored_in_ints, A, FAR, np.zeros(2, np.int64), whole=False)
        check(returned, A, FAR, whole=False)


def test_the_error_names_the_types():
    kernel = polyml.kernel(added_to_an_int, cache=False, fallback="error")
    with pytest.raises(PolymlError, match="the type of this depends on the path the program takes: a Python int or float64"):
        kernel(np.zeros(2), FAR, np.zeros(2))
