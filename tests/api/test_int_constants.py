"""Int arguments where NumPy's functions and slices need constants: a call is compiled by their values."""

from __future__ import annotations

import numpy as np
import pytest

import polyml
from polyml.api.calls import constants


def every(A, step):
    return A[::step] * 2


def stored(A, step, x):
    A[1::step] = x + step


def rolled(A, n):
    return np.roll(A, n) + 0


def repeated(A, n):
    return np.repeat(A, n) + A.shape[0]


def along(A, axis):
    return A.sum(axis=axis)


def twice(A, n):
    return A[:: 2 * n].sum() + np.roll(A, n - 1)[: A.shape[0] // 2].sum()


def within(A, n):
    return inner(A, n) + n


def inner(A, n):
    return A[::n].sum()


def assigned(A, n):
    n = n + 1
    return A[::n] + 0


def ran(function, *arguments):
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        result = function(*given)
    except (ValueError, TypeError) as error:
        result = (type(error), error.args)
    result = (result.dtype, result.tolist()) if isinstance(result, np.ndarray) else (type(result), result)
    return [result, *(a.tolist() for a in given if isinstance(a, np.ndarray))]


def compiled(function, **settings):
    return polyml.kernel(function, **{"cache": False, "fallback": "error", "on_defect": "raise", **settings})


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
@pytest.mark.parametrize("function", [every, rolled, repeated, twice, within])
def test_results_are_numpys(function, dtype, fp, threads):
    kernel = compiled(function, fp=fp, threads=threads)
    for n in (1, 2, 3, 300, 2):
        for size in (0, 1, 7):
            A = np.arange(size, dtype=dtype)
            assert ran(kernel, A, n) == ran(function, A, n), (n, size)


@pytest.mark.parametrize("step", [1, 2, 5, -1, -3])
def test_steps_of_targets(step):
    assert ran(compiled(stored), np.zeros(9), step, 2) == ran(stored, np.zeros(9), step, 2)


def test_axes():
    kernel, A = compiled(along), np.arange(6.0).reshape(2, 3)
    for axis in (0, 1, -1):
        assert ran(kernel, A, axis) == ran(along, A, axis)


@pytest.mark.parametrize("n", [0, -1, True, np.int64(2)])
def test_others_give_what_python_gives(n):
    for function in (every, repeated):
        assert ran(compiled(function, fallback="silent"), np.arange(5.0), n) == ran(function, np.arange(5.0), n)


def test_a_number_that_is_assigned_is_no_constant():
    kernel = compiled(assigned, fallback="silent")
    assert [ran(kernel, np.arange(9.0), n) for n in (1, 2)] == [ran(assigned, np.arange(9.0), n) for n in (1, 2)]


def test_values_beyond_a_number_run_as_plain_python():
    kernel = compiled(every, fallback="silent")
    for n in range(1, constants.MOST + 4):
        assert ran(kernel, np.arange(50.0), n) == ran(every, np.arange(50.0), n)
    assert not kernel.compiled
    assert ran(kernel, np.arange(50.0), 3) == ran(every, np.arange(50.0), 3) and kernel.compiled
