"""Which local arrays need memory for one iteration of a parallel loop alone."""

import numpy as np
import pytest

import polyml
from polyml.codegen.ir.program import loops
from polyml.config import Options
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.pipeline.compile import CompileRequest, compile


def normalised(A):
    e = np.exp(A - A.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def squares(A):
    t = np.sqrt(A[:, 0])
    return t * t - t


def neighbours(A):
    t = np.sqrt(A[:, 0])
    return t[1:] * t[:-1]


def kept(A):
    t = np.sqrt(A[:, 0])
    s = 0.0
    for i in range(A.shape[0]):
        s += t[i] * t[A.shape[0] - 1 - i]
    return s, t * t


def over_time(A):
    t = np.zeros(A.shape[0])
    for k in range(3):
        A[:, 0] += t
        t[1:] = A[:-1, 0]
        A[:, 1] += t


def from_the_second_row(A):
    B = np.zeros((A.shape[0], 3, A.shape[1]))
    for i in range(1, A.shape[0]):
        for j in range(1, A.shape[1]):
            s = A[i, j] * 0.5 + A[i - 1, j - 1]
            for k in range(3):
                B[i, k, j] = s * k + A[i, j]
    return B


def private(function) -> set[str]:
    made = compile(parse(function), CompileRequest((arg_type(np.ones((3, 3))),), ("C",), Options()))
    return {name for loop in loops(made.program.body) for name in loop.private}


def test_arrays_of_one_strip_are_private():
    assert private(normalised) == {"_best", "e_1", "_total"}


def test_a_strip_may_begin_in_a_later_row():
    assert private(from_the_second_row) == {"s"}


@pytest.mark.parametrize("function", [neighbours, kept, over_time])
def test_arrays_that_other_iterations_touch_are_not(function):
    assert private(function) == set()


@pytest.mark.filterwarnings("ignore::polyml.errors.PolymlPerformanceWarning")
@pytest.mark.parametrize("function", [normalised, squares, neighbours, kept, over_time, from_the_second_row])
@pytest.mark.parametrize("rows", [0, 1, 31, 32, 33, 600])
@pytest.mark.parametrize("threads", [1, 3])
def test_threads_do_not_meet_in_private_memory(function, rows, threads):
    A = np.random.default_rng(rows).uniform(1, 2, (rows, 70))
    own, other = A.copy(), A.copy()
    wanted, got = function(own), polyml.kernel(cache=False, threads=threads)(function)(other)
    for one, two in zip(wanted if isinstance(wanted, tuple) else (wanted,), got if isinstance(got, tuple) else (got,)):
        if one is not None:
            np.testing.assert_allclose(two, one, rtol=1e-12)
    np.testing.assert_allclose(other, own, rtol=1e-12)
