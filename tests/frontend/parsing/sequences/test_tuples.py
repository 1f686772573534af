"""Tuples as values: names for them, their parts and slices, from and to functions, constants from outside, shapes."""

import numpy as np
import pytest

import polyml
from tests.frontend.parsing.compared import assert_python, refusal

SHIFTS = ((0, 1), (1, 0), (1, 1))
WEIGHTS = (0.25, 0.5, 0.25)
AXES = (1, 0)


def extrema(x, y):
    if x < y:
        return x, y
    return y, x


def nested(x, y):
    return (x, y), x + y


def first_of(pair, scale):
    return pair[0] * scale


def swapped(pair):
    pair = (pair[1], pair[0])
    return pair


def named(A, B, n):
    t = (A[0, 0], n)
    u = t
    a, b = t
    return t[0] + u[1] + a + b * t[-1]


def of_constants(A, B, n):
    t = (2, 1)
    for i in range(A.shape[0] - t[0]):
        A[i, 0] = A[i + t[0], t[1]]
    return len(t), t[0] + n


def rebound_in_a_loop(A, B, n):
    t = (0, 1)
    for i in range(n):
        t = (t[1], t[0] + t[1])
    return t


def bound_in_a_branch(A, B, n):
    t = (n, 2 * n)
    if n > 2:
        t = (t[1], t[0])
    a, (b, c) = n, t
    return a, b, c, t[0]


def bound_in_a_loop(A, B, n):
    s = n
    for i in range(n):
        t = i, i * n
        s += t[0] * t[1]
    return s


def from_functions(A, B, n):
    t = extrema(A[0, 1], B[1, 0])
    pair, total = nested(A[0, 0], 2)
    q = nested(A[0, 1], A[1, 1])
    return t[0], t[1], pair[0], pair[1] + total, q[0][1] + q[1], extrema(n, 3)[1], nested(1, n)[0][1]


def to_functions(A, B, n):
    t = (A[0, 0], A[0, 1])
    u = swapped(t)
    return first_of(t, n) + first_of((A[1, 1], n), 2) + u[0] * 3 + t[0]


def of_arrays(A, B, n):
    t = (A, B)
    t[0][0, 1] = t[1][1, 1]
    for X in t:
        X[0, 0] += 1
    return np.stack(t)


def loops_over_constants(A, B, n):
    for i in range(A.shape[0] - 1):
        for j in range(A.shape[1] - 1):
            for di, dj in SHIFTS:
                B[i, j] += A[i + di, j + dj]
            for k, s in enumerate(SHIFTS):
                B[i, j] += A[i + s[0], j + s[1]] * k
    for s, w in zip(SHIFTS, WEIGHTS):
        B[s[0], 0] += A[0, s[1]] * w
    return SHIFTS[1][0], WEIGHTS[1 - 2], len(SHIFTS), A.sum(axis=AXES)


def slices_and_sums(A, B, n):
    t = (n, 2, A[0, 0])
    u = t[1:] + (5,)
    return u[0] + u[2], t[::2][1], (1, 2)[0] + u[-1], len(u)


def extremum_and_sum(A, B, n):
    t = (n, 2, 7)
    return min(t), max(t), sum(t), max((n, 3))


def of_shapes(A, B, n):
    s = A.shape
    m, k = s
    rows, columns = A.shape[:2]
    C = np.zeros(s)
    D = np.ones(A.shape[:1])
    E = np.zeros((m, s[1]))
    for i in range(s[0]):
        for j in range(s[1]):
            C[i, j] = A[i, j] + D[i] * k
            E[i, j] = rows + columns + n
    return C, D, E, len(s), len(A.shape), A.shape[-2:][0], np.zeros(A.shape[1:2])


def swaps(A, B, n):
    a, b, c = 1, n, 3
    a, b = b, a
    (a, b), c = (c, a), b
    A[0, 0], t = A[0, 1], (A[0, 0], 1)
    return a, b, c, t[0]


def with_continue(A, B, n):
    total = 0
    t = (0, 0)
    for s in (1, 2, 3):
        if s == n:
            continue
        t = (s, total)
        total += t[0]
    return total, t[0], t[1]


def of_pairs(A, B, n):
    s = A[0, 0]
    for p in zip(A[0], B[1]):
        s += p[0] * p[1]
    a = b, c = 1, n
    return s, a[1], b, c


FUNCTIONS = [
    named, of_constants, rebound_in_a_loop, bound_in_a_branch, bound_in_a_loop, from_functions, to_functions, of_arrays,
    loops_over_constants, slices_and_sums, extremum_and_sum, of_shapes, swaps, of_pairs, with_continue,
]  # fmt: skip


@pytest.mark.parametrize("kind", ["f8", "f4", "i8"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_tuples_are_pythons(function, kind):
    for size in (2, 5):
        given = np.arange(size * size).reshape(size, size).astype(kind), np.ones((size, size), kind)
        assert_python(function, *given, 3)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_these_arguments_do_is_pythons(function):
    assert_python(function, np.zeros((0, 2)), np.zeros((0, 2)), 3, compiles=False)
    assert_python(function, np.ones(3), np.ones(3), 1, compiles=False)


def tuple_or_number(A):
    t = 1
    if A[0] > 0:
        t = (1, 2)
    return t


def lengths_differ(A):
    t = (1, 2)
    for i in range(2):
        t = t + (i,)
    return t


def part_that_data_choose(A):
    t = (1, 2)
    return t[int(A[0])]


def stored(A):
    A[0] = (1, 2)
    return A


def compared(A):
    t = (1, 2)
    return t < (1, 2)


def out_of_range(A):
    t = (1, 2)
    return t[2]


def perhaps_bound(A):
    for s in (1, 2):
        if s > A[0]:
            continue
        t = (s, s)
    return t[0]


def otherwise(A):
    t = (0, 0)
    for i in range(3):
        if A[i] > 0:
            break
    else:
        t = (1, 1, 1)
    return t


REFUSED = {
    tuple_or_number: "`t` is this tuple on one path and something else on another",
    lengths_differ: "`t` is this tuple on one path and something else on another",
    part_that_data_choose: "a part of a tuple whose number is not a constant",
    stored: "a tuple is neither a number nor an array",
    compared: "an order of tuples",
    out_of_range: "a tuple of 2 has no part 2",
    perhaps_bound: "may be read before it is assigned",
    otherwise: "`t` is this tuple on one path and something else on another",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_is_refused_runs_as_python(function):
    given = np.arange(1.0, 4.0) - 1
    assert REFUSED[function] in refusal(function, given)
    assert_python(function, given, compiles=False)


def test_a_tuple_from_outside_is_looked_at_in_each_call(monkeypatch):
    kernel = polyml.kernel(cache=False, fallback="error")(loops_over_constants)
    given = [np.arange(9.0).reshape(3, 3), np.zeros((3, 3)), 1]
    assert kernel(*given)[2] == 3
    monkeypatch.setitem(loops_over_constants.__globals__, "SHIFTS", ((1, 1), (0, 0)))
    assert kernel(*given)[2] == 2


def rows_unpacked(A):
    total = 0
    for a, b in A:
        A[0, 0] += 1
        total += a * 10 + b
    for k, (a, b) in enumerate(A):
        total += a * k - b
    return total


def a_row_unpacked(A):
    a, b = A[-1]
    A[-1, 0] = 99
    A[0, 1], A[0, 0] = A[0]
    return a + b


def an_array_unpacked(A):
    a, b = A
    a[0] = 5
    return a * b


def lists_unpacked(A):
    steps = [(0, 1), (1, 0), (0, -1)]
    w = [[0] * 2 for _ in range(3)]
    total = 0
    for k in range(3):
        w[k][0] = k
        x, y = w[k]
        dx, dy = steps[k]
        total += x * dx + y + dy
    for dx, dy in steps:
        total += dx * 3 + dy
    return total


@pytest.mark.parametrize("function", [rows_unpacked, a_row_unpacked, an_array_unpacked, lists_unpacked])
def test_rows_are_unpacked(function):
    for shape in ((3, 2), (2, 2), (2, 3), (1, 2), (0, 2), (0, 3)):
        for dtype in (np.float32, np.int64):
            A = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
            assert_python(function, A, compiles=shape == (3, 2) and function is not an_array_unpacked)
    assert_python(function, np.arange(4.0), compiles=False)
    assert_python(function, np.arange(8.0).reshape(2, 2, 2), compiles=False)
