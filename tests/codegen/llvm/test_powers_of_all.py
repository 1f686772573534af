"""Powers whose exponent is one number in the whole call: where it is 1, 2, 3, 0.5 or -1 as the code runs, as for a constant."""

import numpy as np
import pytest

import polyml
from tests.codegen.elementwise import floats
from tests.frontend.define import define

EXPONENTS = (2, 1, 3, 0, -1, 5, 2.0, 1.0, 0.5, -1.0, 3.0, 0.0, -0.0, -0.5, 2.5, 1e-3, 700.0, np.inf, -np.inf, np.nan)
CONSTANTS = (2, 1, 0.5, 3, -1)


def of_elements(A, p):
    R = np.zeros_like(A)
    for i in range(A.shape[0]):
        R[i] = A[i] ** p
    return R


def of_differences(A, p):
    R = np.zeros(A.shape[0])
    for i in range(1, A.shape[0]):
        R[i] = np.power(abs(A[i] - A[i - 1]), p - 1.0) * pow(abs(A[i]), 1.0 / p)
    return R


def in_a_region(A, p):
    count, total = 0, 0.0
    for i in range(A.shape[0]):
        if not A[i] ** p < 50.0:  # not `>=`, which NaN passes
            break
        count += 1
        total = max(total, A[i] ** p)
    return count, total


def of_each_number(A, p):
    R = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        R[i] = A[i] ** (p + A[i])
    return R


def kernel(function, **options):
    return polyml.kernel(cache=False, fallback="error", **options)(function)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_powers_are_numpys(dtype, fp, threads):
    compiled, A = kernel(of_elements, fp=fp, threads=threads), floats(np.dtype(dtype).name)
    with np.errstate(all="ignore"):
        for p in EXPONENTS:
            found, wanted = compiled(A, p), np.array([a ** dtype(p) for a in A])
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=2 * np.finfo(dtype).eps, atol=2 * np.finfo(dtype).smallest_subnormal)
            np.testing.assert_array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize("vectorize", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_exponents_give_the_same_bits_as_constants(dtype, vectorize):
    compiled, A = kernel(of_elements, vectorize=vectorize), floats(np.dtype(dtype).name)
    for p in CONSTANTS:
        same = kernel(define(f"def f(A):\n R = np.zeros_like(A)\n for i in range(A.shape[0]): R[i] = A[i] ** {p}\n return R"))(A)
        for given in (p, float(p)):
            np.testing.assert_array_equal(compiled(A, given), same)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("function", [of_differences, in_a_region, of_each_number])
def test_loops_have_the_values_of_python(function, threads):
    compiled = kernel(function, threads=threads, fp="strict")
    for size in (0, 1, 2, 67):
        A = np.random.default_rng(size).uniform(0.1, 9, size)
        for p in (1, 2, 1.0, 2.0, 0.5, 3.0, 1.7, -1.0):
            found, wanted = compiled(A, p), function(A, p)
            np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-14)
            assert type(found) is type(wanted)


def test_the_exponents_are_tested_where_they_are_the_same_for_all():
    assert "then" in str(kernel(of_elements, threads=1).inspect_llvm("f64[:]", "f64"))
    assert "then" not in str(kernel(of_each_number, threads=1).inspect_llvm("f64[:]", "f64"))
