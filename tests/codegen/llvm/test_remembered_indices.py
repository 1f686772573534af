"""An index that remembers the variable of a loop is not tested, and one that may be another number is."""

import numpy as np
import pytest

import polyml


def nearest(x, done):
    best = -1
    for i in range(x.shape[0]):
        if done[i] == 0 and (best < 0 or x[i] < x[best]):
            best = i
    return best


def last_two(x, done):
    one = other = -1
    for i in range(x.shape[0] - 1, -1, -1):
        if done[i] == 0 and (one < 0 or x[i] + x[one] > 1.0):
            one, other = i, one
    return one + 3 * other


def too_far(x, done):
    best = -1
    for i in range(x.shape[0] + 1):
        if best >= 0 and x[best] > 0.5:
            return i
        if i > 3:
            best = i
    return best


def moved(x, done):
    best = -1
    for i in range(x.shape[0]):
        if done[i] == 0 and (best < 0 or x[i] < x[best]):
            best = i
        if done[i] == 2:
            best += 1
    return best


def of_another(x, done):
    best, total = -1, 0.0
    for i in range(done.shape[0]):
        if done[i] == 0 and (best < 0 or x[i] < 0.5 or x[best] < 0.3):
            best = i
        total += done[i]
    return total + best


FUNCTIONS = (nearest, last_two, too_far, moved, of_another)


def outcome(function, x, done):
    try:
        return function(x, done)
    except IndexError:
        return "IndexError"


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.sweep("function", keep=1)
def test_as_in_python(function, dtype):
    kernel, rng = polyml.kernel(function, fallback="error"), np.random.default_rng(0)
    for size in (0, 1, 2, 3, 5, 17, 60):
        for rest in (0, 3):
            x, done = rng.integers(0, 2, size).astype(dtype), rng.integers(0, 3, size + rest * (function is of_another))
            assert outcome(kernel, x, done) == outcome(function, x, done), (size, rest)


def test_what_remembers_a_variable_is_not_tested():
    counts = []
    for function in (nearest, moved):
        kernel = polyml.kernel(function, fallback="error", threads=1)
        kernel(np.ones(5), np.zeros(5, np.int64))
        counts.append(kernel.inspect_llvm().count("label %outside"))
    assert counts[0] < counts[1]
