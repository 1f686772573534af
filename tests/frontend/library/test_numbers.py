"""Functions of math and Python on numbers: what they give, the types of what they give, and what they raise."""

from __future__ import annotations

import cmath
import itertools
import math
import operator
import sys
import types

import numpy as np
import pytest

import polyml
from polyml.frontend import elementwise_functions

LARGE = (2**39, 2**40 - 1)


def divisors(a, b, c):
    return math.gcd(a, b), math.gcd(a, b, c), math.gcd(a), math.lcm(a, b), math.lcm(a, b, c), math.lcm(b)


def root(n):
    return math.isqrt(n)


def counted(n):
    return math.factorial(n)


def chosen(n, k):
    return math.comb(n, k)


def placed(n, k):
    return math.perm(n, k)


def close(a, b):
    return (
        math.isclose(a, b),
        math.isclose(a, b, rel_tol=0.1),
        math.isclose(a, b, abs_tol=2),
        math.isclose(b, a, rel_tol=0, abs_tol=0.5),
    )


def parts(x):
    fraction, whole = math.modf(x)
    return fraction, whole, math.degrees(x), math.radians(x)


def nearest(x, y):
    return math.remainder(x, y)


def divided(a, b):
    quotient, rest = divmod(a, b)
    return quotient, rest


def rounded(x):
    return round(x)


def whole(x):
    return operator.index(x), round(x)


def towards_zero(x):
    return np.fix(x)


def lengths(a, b, c):
    return math.hypot(a, b, c), math.hypot(a), math.hypot(a, b, c, a)


def of_the_normal_distribution(x):
    return math.erf(x), math.erfc(x)


def logarithms(x):
    return math.log(abs(x), 2), math.log(abs(x) + 1, 10.0)


def factorials(x):
    return math.gamma(x), math.lgamma(x)


def of_complex_numbers(z):
    return (
        cmath.sqrt(z),
        cmath.exp(z),
        cmath.log(z),
        cmath.log10(z),
        cmath.log(z, 3),
        cmath.sin(z),
        cmath.acos(z),
        cmath.tanh(z),
        cmath.asinh(z),
    )


def in_polar_coordinates(z):
    length, angle = cmath.polar(z)
    return length, angle, cmath.phase(z), cmath.rect(abs(z), angle), z.conjugate()


def products(A):
    return math.prod(A), math.prod(a + 1 for a in A)


def in_a_loop(A, B):
    for i in range(A.shape[0]):
        B[i] = math.gcd(int(A[i]), 12) + math.erfc(A[i]) + (round(A[i]) if A[i] > 3 and math.gcd(int(A[i]), 2) == 2 else 0)


def ran(function, *arguments):
    """Returns what a call gives or raises, and the types of its parts."""
    try:
        result = function(*arguments)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError) as error:
        return next(kind for kind in (TypeError, OverflowError, ZeroDivisionError, ValueError) if isinstance(error, kind))
    return [(type(part), repr(part)) for part in (result if isinstance(result, tuple) else (result,))]


def compiled(function, **settings):
    return polyml.kernel(function, **{"cache": False, "fallback": "error", "on_defect": "raise", **settings})


INTS = (0, 1, 2, 4, 12, 18, -6, 97, np.int8(6), np.uint64(9), *LARGE)
FLOATS = (0.0, -0.0, 1.5, 2.5, -2.5, -0.5, 1e300, math.inf, -math.inf, math.nan, 5e-324, 3, True, np.float32(2.5), np.int8(-7))


@pytest.mark.parametrize(
    "function, domain",
    [
        (divisors, itertools.product(INTS, INTS[:9], (0, 5, 6))),
        (root, [(n,) for n in (*INTS[:6], 15, 16, 17, 2**26 - 1, *LARGE)]),
        (counted, [(n,) for n in range(21)]),
        (chosen, itertools.product((0, 1, 2, 5, 30, 61, 62), (0, 1, 2, 5, 29, 30, 31, 62))),
        (placed, itertools.product((0, 1, 5, 20), (0, 1, 3, 20, 21))),
        (close, itertools.product(FLOATS, FLOATS)),
        (parts, [(x,) for x in FLOATS]),
        (nearest, [(x, y) for x, y in itertools.product(FLOATS, FLOATS) if y != 0 and (abs(x) != math.inf or y != y)]),
        (divided, itertools.product((5, -5, 2.5, np.int32(7), -7.5), (3, -3, 2.0, np.int64(-2), np.float32(1.5)))),
        (rounded, [(x,) for x in FLOATS if abs(x) < 1e18]),
        (whole, [(n,) for n in (3, -2, np.int8(3), np.uint16(4))]),
        (towards_zero, [(x,) for x in FLOATS]),
    ],
)
def test_results_and_their_types_are_pythons(function, domain):
    kernel = compiled(function)
    for arguments in domain:
        assert ran(kernel, *arguments) == ran(function, *arguments), arguments


@pytest.mark.parametrize("function", [lengths, of_the_normal_distribution, logarithms, factorials])
def test_floats_are_exact_up_to_rounding(function):
    kernel, finite = compiled(function), (0.5, 1.0, 2.5, 7.25, 33.0, np.float32(0.75), 3, True, -0.5, -2.25)
    for x in finite:
        arguments = (x, 3.5, -1) if function is lengths else (x,)
        got, wanted = kernel(*arguments), function(*arguments)
        assert [*map(type, got)] == [*map(type, wanted)]
        np.testing.assert_allclose(got, wanted, rtol=1e-14)


@pytest.mark.parametrize("function", [of_complex_numbers, in_polar_coordinates])
def test_complex_numbers(function):
    kernel = compiled(function)
    for z in (1 + 2j, -2 + 0j, complex(-2, -0.0), 0.5, -3, 2.5j, np.complex64(1 + 1j), np.float32(0.25), np.complex128(-3 - 4j)):
        got, wanted = kernel(z), function(z)
        assert [*map(type, got)] == [*map(type, wanted)]
        np.testing.assert_allclose(got, wanted, rtol=1e-14)


def test_gamma_outside_its_domain_gives_what_floats_give():
    kernel = compiled(factorials)
    assert [repr(kernel(x)) for x in (0.0, -0.0, -1.0, -math.inf)] == ["(inf, inf)", "(-inf, inf)", "(nan, inf)", "(nan, inf)"]
    assert kernel(200.0)[0] == math.inf


@pytest.mark.parametrize(
    "function, arguments, message",
    [
        (root, (-1,), "isqrt() argument must be nonnegative"),
        (counted, (-1,), "factorial() not defined for negative values"),
        (chosen, (-1, 2), "n must be a non-negative integer"),
        (placed, (3, -1), "k must be a non-negative integer"),
    ],
)
def test_errors_are_pythons(function, arguments, message):
    for run in (function, compiled(function)):
        with pytest.raises(ValueError) as raised:
            run(*arguments)
        assert str(raised.value) == message


@pytest.mark.parametrize(
    "function, arguments, error",
    [
        (root, (2.0,), TypeError),
        (divisors, (2.5, 1, 1), TypeError),
        (rounded, (1j,), TypeError),
        (rounded, (math.nan,), ValueError),
        (rounded, (math.inf,), OverflowError),
        (counted, (21,), OverflowError),
    ],
)
def test_what_has_no_result_raises(function, arguments, error):
    with pytest.raises(error):
        compiled(function)(*arguments)


@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8])
@pytest.mark.parametrize("size", [1, 5])
def test_products_of_what_a_loop_goes_over(size, dtype, fp):
    A = np.arange(1, size + 1).astype(dtype)
    assert ran(compiled(products, fp=fp), A) == ran(products, A)


def test_a_product_of_nothing_is_pythons():
    kernel = compiled(products, fallback="silent")
    assert ran(kernel, np.zeros(0)) == ran(products, np.zeros(0))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
@pytest.mark.parametrize("size", [0, 1, 300])
def test_in_loops_on_threads(size, dtype, threads):
    A = (np.arange(size) / 4).astype(dtype)
    got, wanted = np.zeros(size), np.zeros(size)
    compiled(in_a_loop, threads=threads)(A, got)
    in_a_loop(A, wanted)
    np.testing.assert_allclose(got, wanted, rtol=1e-14)


def test_functions_of_scipy_are_those_of_the_c_library(monkeypatch):
    special = types.ModuleType("scipy.special")
    special.gammaln = np.frompyfunc(math.lgamma, 1, 1)  # a ufunc, as SciPy's
    monkeypatch.setitem(sys.modules, "scipy.special", special)
    assert elementwise_functions.special_function(special.gammaln) == ("lgamma", "scipy", 1)

    def of_elements(A):
        return special.gammaln(A)

    kernel = compiled(of_elements)
    for dtype, result in ((np.float64, np.float64), (np.float32, np.float32), (np.int8, np.float64), (np.bool_, np.float64)):
        A = np.array([[1, 2.5, 7]]).astype(dtype)
        assert kernel(A).dtype == result
        np.testing.assert_allclose(kernel(A), [[math.lgamma(a) for a in A[0]]], rtol=1e-6 if dtype == np.float32 else 1e-14)
    assert type(kernel(3)) is np.float64 and kernel(-math.inf) == -math.inf
