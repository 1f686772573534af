"""The examples that remarks give, of kernels with subscripts that count from the end of an array, and of threads inside of other loops."""

import re

import numpy as np
import pytest

import polyml


def last_column(A, n):
    for i in range(A.shape[0]):
        for j in range(n):
            A[i, 0] = A[i, -1] + A[i, 0]


def test_an_example_has_the_sizes_that_its_subscripts_need():
    """A[i, -1] is A[i, A_1 - 1], and no loop depends on A_1: it is as large as a call has it at least."""
    kernel = polyml.kernel(last_column, cache=False)
    found = kernel.why("j", "parallel", "f64[:,:]", "int").conflict
    assert found.element == "A[0, 0]" and found.sizes["A_1"] >= 1
    kernel(np.ones((3, 5)), 4)
    assert "not explained" not in kernel.explain() and "j" in kernel.explain()


def wrapped(D, n):
    for i in range(n):
        for j in range(3):
            D[j - D.shape[0]] = D[j] + i


@pytest.mark.parametrize("question", ["parallel", "interchanged", "tiled"])
def test_the_sizes_of_an_example_are_those_of_a_call(question):
    """Plain Python takes arrays of these sizes."""
    kernel = polyml.kernel(wrapped, cache=False)
    for answer in kernel.remarks("f64[:]", "int")[0].loops:
        conflict = answer.of(question).conflict
        if conflict is not None:
            wrapped(np.zeros(conflict.sizes.get("D_0", 3)), conflict.sizes.get("n", 1))


def lower(A):
    for i in range(A.shape[0]):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] = A[i, j] / 5


def test_threads_inside_of_a_loop_that_keeps_the_order_are_said_to_be_there():
    """Row i reads row j < i, so iterations of i are not independent by themselves."""
    [found] = polyml.kernel(lower, cache=False, threads=2).remarks("f64[:,:]")
    remark = next(each for each in found.loops if each.iterator == "i").of("parallel")
    assert remark.kind == "passed"
    assert re.search(r"to threads, \d+ at a time, within an iteration of the schedule's `\w+`", remark.text), remark.text
