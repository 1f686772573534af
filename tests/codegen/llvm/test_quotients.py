"""// and % of integers in regions are Python's and NumPy's for divisors of either sign, and divide once where the divisor is positive."""

import re

import numpy as np
import pytest

import polyml
from polyml.kernels.irregular.numerics import modular_powers


def of_arrays(x, y, k, quotients, rests):
    for i in range(k.shape[0]):
        quotients[k[i]] = x[i] // y[i]
        rests[k[i]] = x[i] % y[i]


def of_a_number(x, m, k, quotients, rests):
    for i in range(k.shape[0]):
        quotients[k[i]] = x[i] // m
        rests[k[i]] = x[i] % m


def of_python_ints(n, m, k, out):
    value = n
    for i in range(k.shape[0]):
        out[k[i], 0] = value // m
        out[k[i], 1] = value % m
        out[k[i], 2] = value % (i + 1)
        out[k[i], 3] = (i + 7) // (k[i] + 1)
        value = value // 3 - i


LEAST = {np.int8: -128, np.int32: -(2**31), np.int64: -(2**63)}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint16, np.uint64])
def test_arrays_divide_as_in_numpy(dtype, threads):
    numbers = [LEAST.get(dtype, 200), 100, -7 if dtype in LEAST else 7, 0, 1, 5]
    x = np.array([a for a in numbers for _ in numbers], dtype=dtype)
    y = np.array([b for _ in numbers for b in (*numbers[:-1], 255 if dtype not in LEAST else -1)], dtype=dtype)
    order = np.random.default_rng(0).permutation(len(x))
    found, wanted = np.zeros((2, len(x)), dtype), np.zeros((2, len(x)), dtype)
    polyml.kernel(of_arrays, fallback="error", threads=threads)(x, y, order, found[0], found[1])
    with np.errstate(all="ignore"):
        of_arrays(x, y, order, wanted[0], wanted[1])
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("size", [0, 1, 40])
@pytest.mark.parametrize("divisor", [-(2**40), -3, -1, 1, 4, 9, 2**62])
@pytest.mark.sweep("divisor", keep=1)
def test_one_divisor_for_all(divisor, size):
    x = np.random.default_rng(1).integers(-(2**62), 2**62, size)
    order = np.arange(size)[::-1].copy()
    found, wanted = np.zeros((2, size), np.int64), np.zeros((2, size), np.int64)
    polyml.kernel(of_a_number, fallback="error")(x, divisor, order, found[0], found[1])
    of_a_number(x, divisor, order, wanted[0], wanted[1])
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("number", [-(2**62), -17, 0, 1, 12345])
@pytest.mark.parametrize("divisor", [-5, -1, 3])
@pytest.mark.sweep("divisor", keep=2)
def test_python_ints(number, divisor):
    order = np.random.default_rng(2).permutation(30)
    found, wanted = np.zeros((2, 30, 4), np.int64)
    polyml.kernel(of_python_ints, fallback="error")(number, divisor, order, found)
    of_python_ints(number, divisor, order, wanted)
    assert np.array_equal(found, wanted)


def test_python_ints_by_zero():
    with pytest.raises(ZeroDivisionError):
        polyml.kernel(of_python_ints, fallback="error")(3, 0, np.arange(4), np.zeros((4, 4), np.int64))


@pytest.mark.parametrize("modulus", [1000, -1000, 1, -1])
def test_a_chain_of_remainders(modulus):
    base, exponent = np.random.default_rng(3).integers(-50, 50, (2, 60))
    found, wanted = np.zeros((2, 60), np.int64)
    kernel = polyml.kernel(modular_powers, fallback="error", threads=1)
    kernel(base, exponent, modulus, found)
    modular_powers(base, exponent, modulus, wanted)
    assert np.array_equal(found, wanted)
    assert len(re.findall(r"icmp sgt i64 %\S+, 0", kernel.inspect_llvm())) >= 3
