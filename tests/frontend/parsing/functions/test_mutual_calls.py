"""Functions that call each other, beside plain Python."""

import sys

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check

LIMIT = 50


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


def female(n):
    return 1 if n == 0 else n - male(female(n - 1))


def male(n):
    return 0 if n == 0 else n - female(male(n - 1))


def sequences(out):
    for i in range(out.shape[0]):
        out[i] = female(i) * 100 + male(i)
    return out


def terms(t, p):
    v, p = factors(t, p)
    while p < t.shape[0] and (t[p] == -1 or t[p] == -2):
        op = t[p]
        w, p = factors(t, p + 1)
        v = v + w if op == -1 else v - w
    return v, p


def factors(text, at):
    v, at = atom(text, at)
    while at < text.shape[0] and text[at] == -3:
        w, at = atom(text, at + 1)
        v = v * w
    return v, at


def atom(t, p):
    if t[p] == -4:
        v, p = terms(t, p + 1)
        return v, p + 1
    return t[p], p + 1


def value(codes):
    v, _ = terms(codes, 0)
    return v


def down(out, n):
    if n > 0:
        out[n] = n
        further(out, n - 1)


def further(A, m):
    if m > 0:
        A[m] = -m * LIMIT
        down(A, m - 2)
    elif False:
        never(A)


def never(A):
    down(A, 1)


def filled(out):
    down(out, out.shape[0] - 1)
    return out


def in_a_closure():
    scale = 3

    def ping(k):
        return 0 if k <= 0 else pong(k - 1) + 1

    def pong(k):
        return scale if k <= 0 else ping(k - 2) + 2

    return ping, pong


def shares(n, x=1.5):
    return x if n < 1 else halves(n - 1, factor=x) / 2


def halves(n, *, factor):
    return shares(n - 1) + shares(n - 2, factor)


def test_functions_call_each_other():
    check(even, (0,), (7,), (8,), (500,))
    check(odd, (5,), (6,))
    check(sequences, (np.zeros(12, int),), (np.zeros(0, int),), (np.zeros(1),))
    check(shares, (0,), (5,), (6, 2.5))


@pytest.mark.parametrize("kind", ["int64", "int32", "float64", "float32"])
def test_arrays_are_handed_on_under_other_names(kind):
    check(value, (np.array([2, -3, -4, 3, -1, 4, -5, -2, 7]).astype(kind),), (np.array([5]).astype(kind),))
    check(filled, (np.zeros(9, kind),), (np.zeros(0, kind),), (np.zeros(1, kind),))


def test_functions_of_a_closure_call_each_other():
    ping, pong = in_a_closure()
    check(ping, (6,), (7,), (0,))
    assert polyml.kernel(fallback="silent")(pong)(7) == pong(7)


def test_errors_are_those_of_python():
    with pytest.raises(RecursionError, match="^maximum recursion depth exceeded$"):
        polyml.kernel(fallback="error")(even)(sys.getrecursionlimit() + 1)
    with pytest.raises(IndexError, match=r"`t\[p\]` is out of bounds: index 2"):
        polyml.kernel(fallback="error")(value)(np.array([5, -1]))


def test_the_recursion_limit_is_that_of_the_call():
    kernel, before = polyml.kernel(fallback="error")(even), sys.getrecursionlimit()
    assert kernel(500) is True
    try:
        sys.setrecursionlimit(400)
        with pytest.raises(RecursionError):
            kernel(500)
        sys.setrecursionlimit(3000)
        assert kernel(2500) is True
    finally:
        sys.setrecursionlimit(before)


def test_the_meaning_of_a_function_is_looked_up_in_each_call():
    global odd
    kernel, before = polyml.kernel(fallback="error")(even), odd
    assert kernel(4) is True
    try:
        odd = even
        assert kernel(3) is True
    finally:
        odd = before
    assert kernel(3) is False


def test_results_of_other_numbers_are_refused():
    def one(n):
        if n > 0:
            return two(n - 1)
        return 1

    def two(n):
        if n > 3:
            return one(n - 1)
        return 1, 2

    with pytest.raises(polyml.NotAffineError, match="returns as many values as the path decides"):
        polyml.kernel(fallback="error")(one)(3)
