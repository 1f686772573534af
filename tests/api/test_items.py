"""`.item()` of NumPy's numbers gives Python's own numbers."""

from __future__ import annotations

import numpy as np
import pytest

import polyml


def total(A):
    s = A[0].item()
    for i in range(1, A.shape[0]):
        s = s + A[i].item()
    return s


def whole(A):
    return A.sum().item(), A[0].item()


def by_name(A):
    s = 0
    for i in range(A.shape[0]):
        a = A[i].item()
        s = s + (a + 1)
    return s


def on_the_way(A, n):
    k = 0
    while k < 3 and A[k].item() > n:
        A[k] = A[k].item() // 2
        k += 1
    return k


TYPES = [np.float64, np.float32, np.int64, np.int8, np.uint16, np.uint64, np.bool_, np.complex128, np.complex64]


@pytest.mark.parametrize("function", [total, whole])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("dtype", TYPES)
def test_the_number_is_pythons(function, fp, dtype):
    for values in ([1, 2, 0.5], [3]):
        A = np.array(values).astype(dtype)
        got, wanted = polyml.kernel(function, cache=False, fallback="error", fp=fp)(A), function(A)
        assert (type(got), got) == (type(wanted), wanted)
        if isinstance(wanted, tuple):
            assert [*map(type, got)] == [*map(type, wanted)]


@pytest.mark.parametrize("dtype", [np.int64, np.int16, np.uint8])
def test_an_element_with_a_name_is_pythons(dtype):
    A = np.arange(5).astype(dtype)
    assert polyml.kernel(by_name, cache=False, fallback="error", on_defect="raise")(A) == by_name(A)


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_in_a_region(dtype):
    got, wanted = np.array([9, 8, 1]).astype(dtype), np.array([9, 8, 1]).astype(dtype)
    assert polyml.kernel(on_the_way, cache=False, fallback="error")(got, 2) == on_the_way(wanted, 2)
    assert got.tolist() == wanted.tolist()


def of_rows(A):
    return A[0].item()


def of_pythons(n):
    return n.item()


@pytest.mark.parametrize("function, argument", [(of_rows, np.ones((2, 2))), (of_pythons, 3), (of_pythons, 2.5)])
def test_others_are_left_to_python(function, argument):
    with pytest.raises(polyml.NotAffineError):
        polyml.kernel(function, cache=False, fallback="error")(argument)
    with pytest.raises((ValueError, AttributeError)):
        polyml.kernel(function, cache=False, fallback="silent")(argument)
