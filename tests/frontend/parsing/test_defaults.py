"""Defaults of parameters that are arrays: the array is an argument like others where the call gives none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import polyml


def _functions(default: np.ndarray) -> tuple[Callable, Callable]:
    def weighted(x, w=default, *, scale=2):
        s = 0.0
        for i in range(x.shape[0]):
            s += w[i] * x[i] * scale
        return s

    def counted(i, counts=default):
        counts[i] += 1

    return weighted, counted


@pytest.mark.filterwarnings("ignore::polyml.PolymlPerformanceWarning")  # of a loop that does not run
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8])
@pytest.mark.parametrize("size", [0, 1, 4])
def test_the_default_is_read_where_no_argument_is_given(size, dtype):
    weighted, _ = _functions(np.arange(size).astype(dtype))
    compiled = polyml.kernel(weighted, fallback="error", cache=False, fp="strict")
    x = np.linspace(1.0, 2.0, size)
    for given in ((x,), (x, np.ones(size)), (x, np.ones(size, np.int32))):
        result, wanted = compiled(*given), weighted(*given)
        assert (type(result), result) == (type(wanted), wanted)
    assert compiled(x, scale=3) == weighted(x, scale=3)


def test_a_call_changes_the_default_itself():
    default = np.zeros(3, int)
    _, counted = _functions(default)
    compiled = polyml.kernel(counted, fallback="error", cache=False)
    compiled(1), compiled(1), compiled(2)
    assert default.tolist() == [0, 2, 1]
    with pytest.raises(IndexError):
        compiled(3)


def test_a_default_that_was_replaced_is_read_anew():
    weighted, _ = _functions(np.ones(2))
    compiled = polyml.kernel(weighted, fallback="error", cache=False)
    assert compiled(np.ones(2)) == 4.0
    weighted.__defaults__ = (np.full(2, 2, np.int16),)
    assert compiled(np.ones(2)) == 8.0


def test_the_default_array_of_a_function_that_is_called_is_from_outside():
    weighted, _ = _functions(np.ones(2))

    def calls(x):
        return weighted(x)

    with pytest.raises(polyml.PolymlError, match="`w` is an array from outside the kernel"):
        polyml.kernel(calls, fallback="error", cache=False)(np.ones(2))
