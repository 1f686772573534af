"""Quotients of Python ints by zero, and shifts by negative counts: they raise where Python raises."""

from __future__ import annotations

import numpy as np
import pytest

import polyml


def quotient(a, b):
    return a // b, a % b


def shifted(a, b):
    return a << b, a >> b


def of_the_loop(A, n):
    for i in range(A.shape[0]):
        A[i] = i // n + (1 << n)


def guarded(A, n):
    for i in range(A.shape[0]):
        if n > 0:
            A[i] = i % n


def of_elements(A, B):
    for i in range(A.shape[0]):
        A[i] = 100 // int(B[i])


def of_counts(A, B):
    for i in range(A.shape[0]):
        A[i] = 100 >> int(B[i])


def in_a_region(A, B):
    k = 0
    while k < A.shape[0]:
        A[k] = (7 << int(B[k])) % (1 + int(B[k]))
        k += 1


def ran(function, *arguments):
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        result = function(*given)
    except ZeroDivisionError:
        result = ZeroDivisionError
    except ValueError as error:
        result = error.args
    return [result, *(a.tolist() for a in given if isinstance(a, np.ndarray))]


def compiled(function, **settings):
    return polyml.kernel(function, cache=False, fallback="error", on_defect="raise", **settings)


@pytest.mark.parametrize("function", [quotient, shifted])
def test_of_arguments(function):
    kernel = compiled(function)
    for a in (0, 5, -7):
        for b in (3, 0, -2, 1):
            assert ran(kernel, a, b) == ran(function, a, b)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("function", [of_the_loop, guarded])
@pytest.mark.parametrize("size", [0, 1, 9])
def test_of_loop_variables(function, size, fp, threads):
    kernel = compiled(function, fp=fp, threads=threads)
    for n in (2, 0, -1, 5):
        assert ran(kernel, np.zeros(size), n) == ran(function, np.zeros(size), n)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int8])
@pytest.mark.parametrize("function", [of_elements, of_counts, in_a_region])
@pytest.mark.parametrize("values", [[1, 2, 3], [2, 0, 4], [3, -1, 5], [], [-1]])
def test_of_elements(function, values, dtype):
    B = np.array(values).astype(dtype)
    assert ran(compiled(function, threads=1), np.zeros(len(values)), B) == ran(function, np.zeros(len(values)), B)


def test_a_call_that_raises_does_not_keep_others_from_being_compiled():
    kernel = compiled(quotient)
    with pytest.raises(ZeroDivisionError, match="integer division or modulo by zero|division by zero"):
        kernel(1, 0)
    assert kernel(7, 2) == (3, 1) and kernel.compiled
