"""Expressions that are statements, and `with np.errstate(...)`."""

from __future__ import annotations

import numpy as np
import pytest

import polyml


def mentioned(A, n):
    A
    A[0] + n
    n // 2
    for i in range(A.shape[0]):
        A[i]
        A[i] = A[i] + n
    A[n]
    return A.sum()


def divided(n):
    12 // n
    return n


def logarithms(A):
    with np.errstate(divide="ignore", invalid="ignore"):
        B = np.log(A)
    with np.errstate(all="ignore"):
        for i in range(A.shape[0]):
            B[i] = B[i] / A[i]
    return B


def raising(A):
    with np.errstate(divide="raise"):
        return 1 / A


def ran(function, *arguments):
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        result = function(*given)
    except (IndexError, ZeroDivisionError) as error:
        return IndexError if isinstance(error, IndexError) else ZeroDivisionError
    return [type(result), np.asarray(result).tolist(), *(a.tolist() for a in given if isinstance(a, np.ndarray))]


def compiled(function, **settings):
    return polyml.kernel(function, **{"cache": False, "fallback": "error", "on_defect": "raise", **settings})


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("size", [0, 1, 5])
def test_expressions_are_evaluated_for_their_errors(size, dtype, fp, threads):
    kernel = compiled(mentioned, fp=fp, threads=threads)
    for n in (0, 1, 4, 7, -1):
        assert ran(kernel, np.arange(size, dtype=dtype), n) == ran(mentioned, np.arange(size, dtype=dtype), n)


@pytest.mark.parametrize("n", [0, 5])
def test_a_division_that_nothing_reads(n):
    assert ran(compiled(divided), n) == ran(divided, n)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [0, 1, 9])
def test_what_errstate_ignores(size, dtype):
    A = (np.arange(size) - 2).astype(dtype)
    np.testing.assert_allclose(compiled(logarithms)(A), logarithms(A), rtol=1e-5 if dtype == np.float32 else 1e-14)


def test_an_errstate_that_raises_is_left_to_python():
    with pytest.raises(polyml.LanguageError, match="a with statement is not part of the language"):
        compiled(raising)(np.zeros(2))
    with pytest.raises(FloatingPointError):
        compiled(raising, fallback="silent")(np.zeros(2))
