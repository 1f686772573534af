"""Names that stand for another new array on each of several paths: they have one memory where one shape and type fit all."""

from __future__ import annotations

import numpy as np
import pytest

import polyml
from polyml.errors import NotAffineError


def two_branches(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        s += abs(x[i])
    if s > 3:
        g = (np.sign(x - y) - s) / s
    else:
        g = np.zeros(x.shape)
    return s, g


def allocated_twice(x, c):
    if c > 0:
        g = np.zeros(x.shape[0])
        g[0] = c
    else:
        g = np.ones(x.shape[0])
    g += x
    return g


def early_returns(x, y):
    s = np.sum(x)
    if s == 0:
        return s, np.zeros(x.shape, dtype=np.float32)
    if s < 3:
        return 1.0 * s, np.ones(x.shape[0], dtype=np.float32)
    g = np.empty(x.shape[0], dtype=np.float32)
    for i in range(x.shape[0]):
        g[i] = x[i] * s - y[i]
    h = g
    h[0] = 7
    return s, g


def of_loops(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] > 9:
            return np.full(x.shape[0], s)
        s += x[i]
    return x * s


def in_a_loop(A, c):
    total = np.zeros(A.shape[1])
    for i in range(A.shape[0]):
        if c[i] > 0:
            row = A[i] * 2
        elif c[i] < -1:
            row = np.zeros(A.shape[1])
        else:
            row = A[i] + total
        total += row
    return total


def matrices(A, B, c):
    if c > 2:
        M = A @ B
    elif c > 1:
        M = A.T.copy()
        M[0, 0] = 5
    else:
        M = np.eye(A.shape[0]) * 2
    return M.sum(), M[1:]


def two_names(x, c):
    if c > 0:
        u = x * 2
        v = x + 1
    else:
        v = np.zeros(x.shape[0])
        u = np.ones(x.shape[0])
    w = u
    w[0] = -1
    return u, v


def exchanged(x, c):
    u = x * 2
    v = x * 3
    if c > 0:
        a = u
        b = v
    else:
        a = v
        b = u
    a[0] = 9
    return a + 1, b + 1


def named_elsewhere(x, c):
    g = x * 2
    if c > 0:
        r = g
    else:
        r = np.zeros(x.shape[0])
    r[0] = 5
    return g, r


def argument(x, c):
    if c > 0:
        r = x
    else:
        r = np.zeros(x.shape[0])
    return r + 1


def both_live(x, c):
    if c > 0:
        g = x * 2
        h = x * 3
        g[0] = h[1]
    else:
        h = x * 4
        g = h
    return g + 1


def of_other_shapes(x, c):
    if c > 0:
        r = x[1:] * 2
    else:
        r = x * 1
    return r


def of_other_types(x, c):
    if c > 0:
        r = np.zeros(x.shape[0], dtype=np.float32)
    else:
        r = x * 1
    return r


def ran(function, arguments):
    own = [argument.copy() if isinstance(argument, np.ndarray) else argument for argument in arguments]
    results = function(*own)
    return results if isinstance(results, tuple) else (results,), own


def check(function, *arguments, whole=True, **settings):
    kernel = polyml.kernel(function, cache=False, on_defect="raise", **settings)
    results, own = ran(kernel, arguments)
    wanted, changed = ran(function, arguments)
    assert len(results) == len(wanted)
    for mine, theirs in (*zip(results, wanted), *zip(own, changed)):
        assert getattr(mine, "dtype", None) == getattr(np.asarray(theirs), "dtype", None) or isinstance(theirs, (float, int))
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)
    assert kernel.compiled == whole


@pytest.mark.parametrize("settings", [{}, {"fp": "strict"}, {"threads": 2}], ids=str)
@pytest.mark.parametrize("element", [np.float64, np.float32, np.int64])
def test_paths_that_make_an_array_of_one_shape_fill_one_memory(element, settings):
    for scale in (1, 0, 10):
        x, y, A, B = (np.asarray(np.arange(np.prod(shape)).reshape(shape) * scale, element) for shape in (5, 5, (4, 4), (4, 4)))
        if element is np.float64:
            check(two_branches, x, y, **settings)
            check(two_branches, x[:1], y[:1], **settings)
            check(of_loops, x, y, **settings)
            check(in_a_loop, A, np.array([1, -2, 0, -1]), **settings)
            for c in (3, 2, 1):
                check(matrices, A, B, c, **settings)
        for c in (-1, 0, 1):
            if element is np.float64:
                check(allocated_twice, x, c, **settings)
                check(two_names, x, c, **settings)
            check(both_live, x, c, **settings, whole=False)
        if element is not np.int64:
            check(early_returns, x, y, **settings)
            check(early_returns, x[:1] * 0, y[:1], **settings)


@pytest.mark.parametrize("function", [exchanged, named_elsewhere, argument, of_other_shapes, of_other_types])
def test_arrays_that_have_to_stay_apart_are_left_to_python(function):
    for c in (0, 1):
        check(function, np.arange(4.0), c, whole=False)


@pytest.mark.parametrize(
    "function, why",
    [
        (of_other_shapes, "`r` is bound to arrays of other shapes under a condition"),
        (argument, "`r` is bound to an array under a condition"),
        (of_other_types, "`r` is an array of float32 or of float64"),
    ],
)
def test_the_reason_is_told(function, why):
    kernel = polyml.kernel(function, cache=False, fallback="error")
    with pytest.raises(NotAffineError, match=why):
        kernel(np.arange(4.0), np.ones(1)[0])


def sizes_of_two(x, y, c):
    if c > 0:
        r = x * 2
    else:
        r = y * 2
    return r


def test_sizes_that_have_to_be_equal_are_tested_at_entry():
    check(sizes_of_two, np.arange(3.0), np.arange(3.0), 1)
    check(sizes_of_two, np.arange(3.0), np.arange(4.0), 1, whole=False)
