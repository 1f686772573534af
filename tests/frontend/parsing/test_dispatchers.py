"""Functions that another compiler made of Python functions, such as numba's: they are inlined as what their texts say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import polyml


class Dispatcher:
    """A Dispatcher looks like numba's: it holds the Python function, and rounds what this returns where it has a signature."""

    def __init__(self, py_func: Callable, signature: type | None = None, types: dict[str, object] | None = None):
        self.py_func, self.locals = py_func, types or {}
        self._can_compile = signature is None
        self._signature = signature

    def __call__(self, *values):
        result = self.py_func(*values)
        return result if self._signature is None else self._signature(result)


class prange:
    """A prange is what numba's is in plain Python: making one gives a range."""

    def __new__(cls, *values):
        return range(*values)


prange.__module__ = "numba.misc.special"


def _tripled(x):
    return 3 * x


lazily = Dispatcher(_tripled)
eagerly = Dispatcher(_tripled, signature=np.int8)
locally = Dispatcher(_tripled, types={"y": np.int8})


def calls_lazily(A):
    for i in range(A.shape[0]):
        A[i] = lazily(A[i])


def calls_eagerly(A):
    for i in range(A.shape[0]):
        A[i] = eagerly(A[i])


def calls_locally(A):
    for i in range(A.shape[0]):
        A[i] = locally(A[i])


def sums_of_rows(A, sums):
    for i in prange(A.shape[0]):
        for j in prange(1, A.shape[1], 2):
            sums[i] += A[i, j]


def test_a_function_that_is_compiled_for_any_types_is_inlined():
    A = np.arange(5)
    polyml.kernel(calls_lazily, fallback="error", cache=False)(A)
    assert A.tolist() == [0, 3, 6, 9, 12]


@pytest.mark.parametrize("function", [calls_eagerly, calls_locally])
def test_a_function_that_rounds_to_types_of_its_own_is_not(function):
    with pytest.raises(polyml.NotAffineError, match=r"`(eager|local)ly` rounds to types that are not in its text"):
        polyml.kernel(function, fallback="error", cache=False)(np.arange(5))


def test_such_a_function_is_called_by_python():
    A = np.array([1, 100])
    polyml.kernel(calls_eagerly, fallback="silent", cache=False)(A)
    assert A.tolist() == [3, 44]  # 300 - 256


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["reassociate", "strict"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32])
@pytest.mark.parametrize("shape", [(5, 6), (1, 1), (0, 4), (3, 0)])
def test_prange_is_a_range(shape, dtype, fp, threads):
    A = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    wanted, sums = np.zeros(shape[0], dtype), np.zeros(shape[0], dtype)
    sums_of_rows(A, wanted)
    polyml.kernel(sums_of_rows, fallback="error", cache=False, fp=fp, threads=threads)(A, sums)
    assert np.array_equal(sums, wanted)
