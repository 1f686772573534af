"""Sums beside regions may be added up in any order, where the setting `fp` says so."""

import numpy as np
import pytest

import polyml


def summed(k, a, b):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    n = 0
    while k[n] > 0:
        n += 1
    return total, n


@pytest.mark.parametrize("fp, is_free", [("reassociate", True), ("strict", False)])
def test_sums_beside_a_region_are_lanes_where_their_order_is_free(fp, is_free):
    rng = np.random.default_rng(0)
    k, a, b = np.array([2, 1, 0]), rng.random(1000), rng.random(1000)
    kernel = polyml.kernel(summed, fallback="error", fp=fp, cache=False)
    got, wanted = kernel(k, a, b), summed(k, a, b)
    assert got == wanted if fp == "strict" else np.allclose(got, wanted, rtol=1e-12)
    assert ("fadd reassoc" in str(kernel.inspect_llvm())) is is_free


def into_elements(ptr, columns, data, x, y):
    for i in range(ptr.shape[0] - 1):
        y[i] = 0.0
        for p in range(ptr[i], ptr[i + 1]):
            y[i] += data[p] * x[columns[p]]


@pytest.mark.parametrize("fp, is_free", [("reassociate", True), ("strict", False)])
def test_sums_in_elements_of_a_region_are_as_free_as_those_in_numbers(fp, is_free):
    rng = np.random.default_rng(1)
    ptr = np.concatenate([[0], np.cumsum(rng.integers(0, 40, 50))])
    given = ptr, rng.integers(0, 30, ptr[-1]), rng.random(ptr[-1]), rng.random(30)
    own, other = np.zeros(50), np.zeros(50)
    kernel = polyml.kernel(into_elements, fallback="error", fp=fp, cache=False)
    kernel(*given, own)
    into_elements(*given, other)
    assert np.array_equal(own, other) if fp == "strict" else np.allclose(own, other, rtol=1e-12)
    assert ("fadd reassoc" in str(kernel.inspect_llvm())) is is_free
