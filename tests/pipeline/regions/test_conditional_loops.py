"""Loops that a condition skips run where it holds alone, and compute what plain Python computes."""

import numpy as np
import pytest

import polyml
from polyml.dtypes import BOOL
from polyml.frontend.syntax import ArrayType
from polyml.pipeline.regions.conditional_loops import conditional_loops
from tests.model.modelling import MATRIX, VECTOR, model

FLAGS = ArrayType(BOOL, 1)


def sums_of_some_rows(A, known, out):
    for i in range(A.shape[0]):
        if not known[i]:
            for j in range(A.shape[1]):
                out[i] += A[i, j]


def sums_of_others(A, known, out):
    for i in range(A.shape[0]):
        if known[i]:
            out[i] = 0.0
        else:
            for j in range(A.shape[1]):
                out[i] += A[i, j]


def means_of_some_windows(A, known, out):
    last, half = 0.0, A.shape[0] // 2
    for i in range(A.shape[0] - half):
        if i == 0 or known[i]:
            last = A[i : i + half, 0].mean()
        out[i] = last


def some_elements(A, known, out):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if known[i]:
                A[i, j] += 1.0


def chosen_values(A, known, out):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = out[i] if known[i] else A[i, 0]


def conditions_in_the_loop(A, known, out):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] > 0.5:
                out[i] += A[i, j]


def products_of_some_rows(A, known, out):
    for i in range(A.shape[0]):
        if known[i]:
            for j in range(A.shape[0]):
                for k in range(A.shape[1]):
                    A[i, j] += A[j, k] * A[k, i]


FUNCTIONS = {
    sums_of_some_rows: {4}, sums_of_others: {6}, means_of_some_windows: {5}, some_elements: {3}, chosen_values: set(), conditions_in_the_loop: set(),
    products_of_some_rows: set(),
}  # fmt: skip


@pytest.mark.parametrize("function, wanted", FUNCTIONS.items())
def test_which_loops_are_skipped(function, wanted):
    first = function.__code__.co_firstlineno - 1
    assert {place.line - first for place in conditional_loops(model(function, MATRIX, FLAGS, VECTOR))} == wanted


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_they_compute_what_python_computes(function, fp, threads):
    rng = np.random.default_rng(0)
    args = rng.random((40, 40)), rng.random(40) < 0.3, rng.random(40)
    own, plain = [[a.copy() for a in args] for _ in range(2)]
    kernel = polyml.kernel(function, cache=False, fallback="error", threads=threads, fp=fp)
    kernel(*own)
    function(*plain)
    assert all(
        np.allclose(a, b, rtol=0 if fp == "strict" and "mean" not in function.__name__ else 1e-12, atol=0)
        for a, b in zip(own, plain)
    )


def test_skipped_loops_have_a_branch():
    args = np.ones((4, 4)), np.ones(4, bool), np.ones(4)
    kernel = polyml.kernel(sums_of_some_rows, cache=False, fallback="error", threads=1)
    assert "region(" in str(kernel.inspect_ast(*args))
    assert "region(" not in str(polyml.kernel(products_of_some_rows, cache=False).inspect_ast(*args))
