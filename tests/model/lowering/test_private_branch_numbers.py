"""Numbers of one branch alone: the iteration before does not matter to them, so that loops under a condition have lanes and threads."""

from __future__ import annotations

import numpy as np
import pytest

import polyml
from polyml.frontend.parsing.parse import parse
from polyml.frontend.syntax import If
from polyml.model.index_arrays.kernel_names import mentions
from polyml.model.lowering.private_numbers import branch_locals
from tests.frontend.define import define


def _locals_of(text):
    """Returns the numbers of the first branch of the only `if` at the top of a function."""
    body = parse(define(text)).body
    branch = next(stmt for stmt in body if isinstance(stmt, If))
    return branch_locals(branch.then, mentions(body))


def test_a_number_that_a_loop_in_a_branch_assigns_first_is_its_own():
    assert _locals_of(
        "def f(A, s):\n    if s > 0.5:\n        for i in range(A.shape[0]):\n            t = A[i]\n            A[i] = t * t\n"
    ) == {"t"}


@pytest.mark.parametrize(
    "text",
    [
        "def f(A, s):\n    t = 1.0\n    if s > 0.5:\n        t = A[0]\n        A[1] = t\n    A[2] = t\n",  # read behind it
        "def f(A, s):\n    if s > 0.5:\n        t = A[0]\n        A[1] = t\n    else:\n        t = A[2]\n        A[0] = t\n    return t\n",
        "def f(A, s):\n    t = 1.0\n    if s > 0.5:\n        for i in range(A.shape[0]):\n            t = t + A[i]\n            A[i] = t\n",
        "def f(A, s):\n    t = 1.0\n    if s > 0.5:\n        for i in range(A.shape[0]):\n            A[i] = t\n            t = A[i] + 1\n",
    ],
)
def test_a_number_that_is_read_before_or_elsewhere_is_not(text):
    assert _locals_of(text) == frozenset()


def guarded(x, y, out):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
    if total > 1:
        for i in range(x.shape[0]):
            t = x[i] - y[i]
            u = t + 1
            if t < 0:
                u = t * t
                w = u + t
                out[i] += w
            else:
                out[i] = u
    return total


def returns_early(x, y, out):
    if x[0] < y[0]:
        return 0
    for i in range(x.shape[0]):
        s = x[i]
        for k in range(3):
            s = s + y[i] * k
        out[i] = s
    return 1


def in_each_iteration(x, y, out):
    last = y[0]
    for i in range(x.shape[0]):
        if x[i] > y[i]:
            t = x[i] / (x[i] - y[i])
            if t > 2:
                last = t
            out[i] = t + last
    return last


@pytest.mark.parametrize("function", [guarded, returns_early, in_each_iteration])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1, 2, 67])
@pytest.mark.parametrize(("fp", "threads"), [("strict", 1), ("strict", 2), ("reassociate", 1)])
def test_results_are_those_of_python(function, dtype, size, fp, threads):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x, y, out = (rng.random(size).astype(dtype) for _ in range(3))
        wanted = out.copy()
        with np.errstate(all="ignore"):
            result = function(x, y, wanted)
        found = polyml.kernel(function, fallback="error", cache=False, fp=fp, threads=threads)(x, y, out)
        assert type(found) is type(result)
        if fp == "strict":
            assert found == result and np.array_equal(out, wanted)
        else:
            np.testing.assert_allclose(out, wanted, rtol=1e-4)


def test_a_loop_under_a_condition_has_lanes():
    def f(x, out):
        if x[0] > 0:
            for i in range(x.shape[0]):
                t = x[i] - 1
                out[i] = t * t

    kernel = polyml.kernel(f, fallback="error", cache=False)
    kernel(np.ones(100), np.zeros(100))
    assert "+ vectorized" in kernel.explain()


def summed_behind_a_return(x, y):
    if x[0] == 0.0:
        return 0.0
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    mean = total / x.shape[0]
    most = x[0]
    for i in range(x.shape[0]):
        most = max(most, x[i] - mean)
    return most


@pytest.mark.parametrize("first", [0.0, 2.0])
def test_sums_of_one_branch_have_lanes(first):
    x, y = np.linspace(1.0, 2.0, 300), np.linspace(0.0, 1.0, 300)
    x[0] = first
    kernel = polyml.kernel(summed_behind_a_return, cache=False, fallback="error", threads=1)
    assert kernel(x, y) == pytest.approx(summed_behind_a_return(x, y), rel=1e-14)
    lines = str(kernel.inspect_ast(x, y)).splitlines()
    updates = [number for number, line in enumerate(lines) if "else total + " in line or "else max(" in line]
    assert updates and all("together" in lines[number - 1] for number in updates)
