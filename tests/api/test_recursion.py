"""Functions that call themselves: results, errors and arrays as in plain Python, and what is refused."""

from __future__ import annotations

import copy
import math
import sys

import numpy as np
import pytest

import polyml


def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def fibonacci(n):
    return fib(n)


def gcd(a, b):
    return a if b == 0 else gcd(b, a % b)


def divisors(k, m, out):
    for i in range(k.shape[0]):
        out[i] = gcd(k[i], m[i])


def ackermann_of(m, n):
    if m == 0:
        return n + 1
    return ackermann_of(m - 1, 1) if n == 0 else ackermann_of(m - 1, ackermann_of(m, n - 1))


def ackermann(m, n):
    return ackermann_of(m, n)


def moves(n, source, target, spare, counts):
    if n > 0:
        moves(n - 1, source, spare, target, counts)
        counts[source, target] += 1
        moves(n - 1, spare, target, source, counts)


def hanoi(n, counts):
    moves(n, 0, 2, 1, counts)


def simpson(f, a, b):
    return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))


def refined(f, a, b, whole, eps=1e-9):
    m = (a + b) / 2
    left, right = simpson(f, a, m), simpson(f, m, b)
    error = left + right - whole
    if abs(error) <= 15 * eps:
        return left + right + error / 15
    return refined(f, a, m, left, eps / 2) + refined(f, m, b, right, eps=eps / 2)


def quadrature(a, b):
    f = lambda x: x * x * x - 2 / (x + 1)  # noqa: E731
    return refined(f, a, b, simpson(f, a, b))


def part_sorted(a, lo, hi):
    if lo >= hi:
        return
    pivot, i, j = a[(lo + hi) // 2], lo, hi
    while i <= j:
        while a[i] < pivot:
            i += 1
        while a[j] > pivot:
            j -= 1
        if i <= j:
            a[i], a[j] = a[j], a[i]
            i += 1
            j -= 1
    part_sorted(a, lo, j)
    part_sorted(a, i, hi)


def quicksort(a):
    part_sorted(a, 0, a.shape[0] - 1)


def placed(n, row, columns, down, up):
    if row == n:
        return 1
    count = 0
    for c in range(n):
        if columns & 1 << c or down & 1 << (row + c) or up & 1 << (row - c + n):
            continue
        count += placed(n, row + 1, columns | 1 << c, down | 1 << (row + c), up | 1 << (row - c + n))
    return count


def queens(n):
    return placed(n, 0, 0, 0, 0)


def height(left, right, node):
    return 0 if node < 0 else 1 + max(height(left, right, left[node]), height(left, right, right[node]))


def tree(left, right):
    return height(left, right, 0)


def halves(re, im, n, step, at, x, y, to):
    if n == 1:
        x[to], y[to] = re[at], im[at]
        return
    h = n // 2
    halves(re, im, h, 2 * step, at, x, y, to)
    halves(re, im, h, 2 * step, at + step, x, y, to + h)
    for k in range(h):
        c, s = math.cos(2 * math.pi * k / n), -math.sin(2 * math.pi * k / n)
        a, b = x[to + k + h] * c - y[to + k + h] * s, x[to + k + h] * s + y[to + k + h] * c
        x[to + k + h], y[to + k + h] = x[to + k] - a, y[to + k] - b
        x[to + k] += a
        y[to + k] += b


def fourier(re, im, x, y):
    halves(re, im, re.shape[0], 1, 0, x, y, 0)


def pair(n):
    if n == 0:
        return 0, 1
    a, b = pair(n - 1)
    return b, a + b


def pairs(n):
    a, b = pair(n)
    return b, a


def power(x, n):
    if n == 0:
        return x * 0 + 1
    half = power(x, n // 2)
    return half * half if n % 2 == 0 else half * half * x


def powers(a, n):
    for i in range(a.shape[0]):
        a[i] = power(a[i], n)


def some(a, i):
    return i < a.shape[0] and (bool(a[i] > 0) or some(a, i + 1))


def found(a):
    return some(a, 0)


def checked(a, i):
    if a[i] < 0:
        raise AssertionError("negative")
    a[i] += 1
    if i > 0:
        checked(a, i - 1)
        if a[i] > 8:
            raise ValueError("large")


def down(a):
    checked(a, a.shape[0] - 1)


def reversed_sum(a, i, stop):
    total = a[0] * 0
    while i < stop:
        if a[i] < 0:
            break
        for k in range(i + 2, i, -1):
            if k % 2 == 0:
                total += reversed_sum(a, k + 1, stop) * 0.5
        i += 1
        total += a[i - 1] if i % 2 else -reversed_sum(a, i + 1, stop)
    return total


def nested(a):
    return reversed_sum(a, 0, a.shape[0])


def scaled_inside(n, scale):
    def factorial(k, one=1):
        return scale if k <= one else k * factorial(k - 1)

    total = 0.0
    for i in range(n):
        total += factorial(i)
    return total


RNG = np.random.default_rng(1)
CASES = [
    (fibonacci, (0,)), (fibonacci, (15,)), (fibonacci, (np.int64(9),)), (fibonacci, (1.5,)), (ackermann, (2, 3)), (queens, (5,)), (pairs, (9,)),
    (divisors, (np.array([12, 0, 7, 30]), np.array([18, 0, 0, 12]), np.zeros(4, int))),
    (divisors, (np.array([12], np.int32), np.array([18], np.int32), np.zeros(1, np.int32))),
    (divisors, (np.zeros(0, int), np.zeros(0, int), np.zeros(0, int))),
    (hanoi, (5, np.zeros((3, 3), int))), (hanoi, (0, np.zeros((3, 3), int))), (quadrature, (0.0, 2.0)), (quadrature, (1.0, 1.0)),
    (quicksort, (RNG.random(200),)), (quicksort, (RNG.random(1).astype(np.float32),)), (quicksort, (np.zeros(0),)),
    (quicksort, (RNG.integers(0, 9, 50, dtype=np.int8),)),
    (tree, (np.array([1, -1, 3, -1]), np.array([2, -1, -1, -1]))), (found, (np.array([-1.0, 0, 3]),)), (found, (np.zeros(0),)),
    (down, (np.array([1, 2, 3]),)), (down, (np.array([1, -2, 3]),)), (down, (np.array([8, 8, 3]),)),
    (nested, (np.arange(6.0),)), (nested, (np.array([1.0, -1]),)), (scaled_inside, (6, 2.0)), (scaled_inside, (0, 2.0)),
    *((powers, (np.arange(4).astype(element), 5)) for element in ("f4", "f8", "f2", "i4", "i8", "u1", "c16")),
]  # fmt: skip


def ran(function, given):
    try:
        return function(*given), None, given
    except Exception as problem:
        return None, (type(problem), str(problem)), given


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize(("function", "given"), CASES, ids=lambda each: getattr(each, "__name__", ""))
@pytest.mark.sweep("function", keep=2)
def test_calls_do_what_python_does(function, given, fp, threads):
    kernel = polyml.kernel(function, fp=fp, threads=threads, fallback="error")
    got, wanted = ran(kernel, copy.deepcopy(given)), ran(function, copy.deepcopy(given))
    assert got[0] == wanted[0] and type(got[0]) is type(wanted[0]) and got[1] == wanted[1] and kernel.compiled
    for one, other in zip(got[2], wanted[2]):
        assert np.array_equal(one, other)


def test_a_transform_by_halves():
    re, im = RNG.random(32), RNG.random(32)
    x, y = np.zeros(32), np.zeros(32)
    polyml.kernel(fourier, fallback="error")(re, im, x, y)
    assert np.allclose(x + 1j * y, np.fft.fft(re + 1j * im))


def test_a_kernel_that_calls_itself_is_compiled():
    @polyml.kernel(fallback="error")
    def own(n):
        return n if n < 2 else own(n - 1) + own(n - 2)

    assert own(20) == 6765 and own.compiled


def sunk(n):
    return 0 if n == 0 else 1 + sunk(n - 1)


def sinking(n):
    return sunk(n)


def test_the_recursion_limit_is_that_of_the_call():
    kernel = polyml.kernel(sinking, fallback="error")
    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(2000)
        assert kernel(1999) == 1999
        for n in (2000, 10**6, -1):
            with pytest.raises(RecursionError, match="^maximum recursion depth exceeded$"):
                kernel(n)
        sys.setrecursionlimit(3000)
        assert kernel(2500) == 2500
        sys.setrecursionlimit(2000)
        with pytest.raises(RecursionError):
            kernel(2500)
    finally:
        sys.setrecursionlimit(before)


def of_parts(a):
    return 0.0 if a.shape[0] == 0 else a[0] + of_parts(a[1:])


def mixed(n):
    return 0 if n == 0 else mixed(n - 1) + 0.5


def inside(n):
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    return even(n)


def listed(n):
    return 0 if n == 0 else sum([listed(n - 1) for i in range(2)])


def perhaps(n):
    if n > 5:
        x = n
    if n > 0:
        perhaps(n - 1)
        return x
    return 0


def some_values(n):
    if n > 3:
        return n, n
    return some_values(n + 1) if n > 2 else 0


def stepping(n, step):
    total = 0
    for i in range(0, n, step):
        total += stepping(i, step)
    return total


def with_a_list(n):
    w = [n, 1]
    return w[1] if n == 0 else with_a_list(n - 1) + w[0]


def with_a_tuple(n):
    w = n, 1
    return w[1] if n == 0 else with_a_tuple(n - 1) + w[0]


def with_a_list_that_grows(n):
    w = []
    for k in range(n):
        w.append(k)
    return 0 if n == 0 else with_a_list_that_grows(n - 1) + len(w)


REFUSED = [
    *(
        (each, (3,), "`w`, a list or tuple of each call of a function that calls itself, is not compiled")
        for each in (with_a_list, with_a_tuple, with_a_list_that_grows)
    ),
    (of_parts, (np.ones(3),), "(?s)a list that has arrays in it.*a function that calls itself hands arrays on as they are"),
    (mixed, (3,), "the type of this depends on the path the program takes"),
    (inside, (3,), "`even` calls itself"),
    (listed, (2,), "a call of the function itself in a function or comprehension inside of it is not compiled"),
    (perhaps, (3,), "a function that calls itself, in which some path does not assign `x`, is not compiled"),
    (some_values, (3,), "a function that calls itself and returns as many values as the path decides is not compiled"),
    (stepping, (3, 1), "a loop whose steps are not constant, around a call of the function itself is not compiled"),
]


@pytest.mark.parametrize(("function", "given", "text"), REFUSED, ids=[each[0].__name__ for each in REFUSED])
def test_what_is_not_compiled_says_so(function, given, text):
    with pytest.raises(polyml.PolymlError, match=text):
        polyml.kernel(function, fallback="error")(*given)
    assert ran(polyml.kernel(function, fallback="silent"), given)[:2] == ran(function, given)[:2]
