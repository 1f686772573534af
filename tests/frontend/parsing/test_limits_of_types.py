"""`np.iinfo(t)` and `np.finfo(t)` of types that are known before a call: their attributes are constants."""

from __future__ import annotations

import numpy as np
import pytest

import polyml

KIND = np.int16


def given(A):
    return np.iinfo(np.int32).max - np.iinfo(np.uint8).max, np.finfo(float).max, np.finfo(np.float16).resolution


def of_argument(A):
    return np.iinfo(A.dtype).max


def of_wrong_type(A):
    return np.iinfo(np.float32).max


@pytest.mark.parametrize("fp", ["reassociate", "strict"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("size", [0, 1, 4])
def test_they_are_constants_with_their_types(size, dtype, fp):
    A = np.array([1, 300, -40000, 7])[:size].astype(dtype)
    found, wanted = polyml.kernel(given, fallback="error", cache=False, fp=fp)(A), given(A)
    assert [(type(value), value) for value in found] == [(type(value), value) for value in wanted]


@pytest.mark.parametrize("threads", [1, 2])
def test_loops_compare_with_them(threads):
    def clipped(A):
        for i in range(A.shape[0]):
            if A[i] < np.iinfo(KIND).min or A[i] > np.iinfo("int8").max:
                A[i] = 1 + np.finfo(np.float32).eps * np.finfo(float).bits

    A = np.array([1, 300, -40000, 7.0])
    wanted = A.copy()
    clipped(wanted)
    polyml.kernel(clipped, fallback="error", cache=False, threads=threads)(A)
    assert np.array_equal(A, wanted)


def test_the_type_of_an_argument_is_looked_up_by_python():
    with pytest.raises(polyml.LanguageError, match=r"`\.max` is not part of the language"):
        polyml.kernel(of_argument, fallback="error", cache=False)(np.ones(2, int))
    assert polyml.kernel(of_argument, fallback="silent", cache=False)(np.ones(2, np.int8)) == 127


def test_a_type_that_has_none_raises_what_python_raises():
    with pytest.raises(ValueError, match="Invalid integer data type 'f'"):
        polyml.kernel(of_wrong_type, fallback="silent", cache=False)(np.ones(2))
