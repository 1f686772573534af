"""Names of a function that stand for a type: `dtype = np.int64`."""

from __future__ import annotations

import numpy as np
import pytest

import polyml

KIND = np.float32


def numbered(n):
    dtype = np.int_
    a = np.empty(n, dtype=dtype)
    for i in range(n):
        a[i] = i
    return a


def rounded(x):
    kind = KIND
    least = np.finfo(kind).min
    s = kind(0)
    for i in range(x.shape[0]):
        s += kind(x[i] / 3)
    return s, least, x.astype(kind)


def of_one_of_two(x, n):
    dtype = np.int64
    if n > 2:
        dtype = np.int8
    return np.zeros(n, dtype)


def read_before(x):
    y = x.astype(dtype)  # noqa: F821  which is the point
    dtype = np.int64
    return y


def beside_a_dict(x):
    dtype, seen = np.float32, {}
    kind = np.int32
    y = np.zeros(x.shape[0], kind)
    for i in range(x.shape[0]):
        y[i] = kind(x[i] * 2)
    seen[0] = y.sum()
    return y, kind, dtype, seen


def _same(found, wanted):
    assert type(found) is type(wanted)
    if isinstance(wanted, tuple):
        for one, other in zip(found, wanted, strict=True):
            _same(one, other)
    elif isinstance(wanted, np.ndarray):
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted)
    else:
        assert found == wanted


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [0, 1, 5])
def test_arrays_are_made_of_the_type(size, threads):
    _same(polyml.kernel(numbered, fallback="error", cache=False, threads=threads)(size), numbered(size))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("size", [0, 1, 5])
def test_numbers_are_rounded_to_the_type(size, dtype):
    x = np.arange(size).astype(dtype)
    _same(polyml.kernel(rounded, fallback="error", cache=False, fp="strict")(x), rounded(x))


def test_a_name_of_two_types_is_left_to_python():
    with pytest.raises(polyml.LanguageError, match="the type `int64` is not a number of the language"):
        polyml.kernel(of_one_of_two, fallback="error", cache=False)(np.ones(2), 3)
    _same(polyml.kernel(of_one_of_two, fallback="silent", cache=False)(np.ones(2), 3), np.zeros(3, np.int8))


def test_a_type_that_is_read_before_it_has_a_name_raises_what_python_raises():
    with pytest.raises(UnboundLocalError):
        polyml.kernel(read_before, fallback="silent", cache=False)(np.ones(2))


def test_parts_of_a_function_know_the_type():
    kernel = polyml.kernel(beside_a_dict, fallback="silent", cache=False)
    for _ in range(3):
        _same(kernel(np.ones(4)), beside_a_dict(np.ones(4)))
