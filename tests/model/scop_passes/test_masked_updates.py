"""Sums whose results a mask throws away do not run, and no bit of a result changes."""

import numpy as np
import pytest

import polyml
from polyml.model.scop_passes.masked_updates import BLOCK
from polyml.pipeline.passes import without
from polyml.polyhedra import points

N, D = 150, 5


def below(A, B):
    places = np.arange(A.shape[0])
    S = A @ B.T * 0.25
    return np.sum(np.exp(np.where(places[None, :] <= places[:, None], S, -np.inf)), axis=1)


def window(A, B):
    places = np.arange(A.shape[0])
    S = A @ B.T
    T = np.where(places[None, :] > places[:, None] + 20, 1.0, np.where(places[None, :] < places[:, None] - 70, 2.0, S))
    return np.max(T, axis=1)


def in_loops(A, B, R):
    S = np.zeros((A.shape[0], A.shape[0]))
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            for k in range(A.shape[1]):
                S[i, j] += A[i, k] * B[j, k]
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            if j > i + 3:
                S[i, j] = -1.0
            else:
                S[i, j] *= 2.0
    for i in range(A.shape[0]):
        R[i] = 0.0
        for j in range(A.shape[0]):
            R[i] = max(R[i], S[i, j])


def columns(A, B):
    places = np.arange(A.shape[0])
    return np.sum(np.where(places[:, None] < places[None, :] - 9, A @ B.T, 0.5), axis=0)


def read_before(A, B, R):  # what the mask overwrites is read before it
    S = np.zeros((A.shape[0], A.shape[0]))
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            for k in range(A.shape[1]):
                S[i, j] += A[i, k] * B[j, k]
    for i in range(A.shape[0]):
        R[i] = S[i, A.shape[0] - 1 - i]
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            if j > i:
                S[i, j] = -1.0
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            R[i] += S[i, j]


def by_data(A, B):
    S = A @ B.T
    return np.sum(np.where(S > 0, S, -1.0), axis=1)


def added_later(A, B, R):  # what the mask writes is a part of the sum
    S = np.zeros((A.shape[0], A.shape[0]))
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            if j > i:
                S[i, j] = -1.0
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            for k in range(A.shape[1]):
                S[i, j] += A[i, k] * B[j, k]
    for i in range(A.shape[0]):
        R[i] = S[i, 0] + S[i, A.shape[0] - 1]


def returned(A, B):  # a product that the caller gets is whole
    places = np.arange(A.shape[0])
    S = A @ B.T
    return S, np.where(places[None, :] <= places[:, None], S, 0.0)


CHANGED = (below, window, in_loops, columns)
KEPT = (by_data, added_later, returned)


def arguments(function, n=N):
    rng = np.random.default_rng(3)
    given = [rng.standard_normal((n, D)), rng.standard_normal((n, D)), np.zeros(n)]
    return given[: function.__code__.co_argcount]


def sum_elements(function):
    """The elements (i, j) to which the sum over k adds, at 150 x 5."""
    model = polyml.kernel(function).model(*arguments(function))
    at = points(model.domain, A_0=N, B_0=N, A_1=D, B_1=D)
    return {point[:2] for _, point in at if len(point) == 3}


@pytest.mark.parametrize("function", CHANGED, ids=lambda f: f.__name__)
def test_a_sum_has_the_elements_that_its_mask_lets_through(function):
    lets = {
        "below": lambda i, j: j <= i,
        "window": lambda i, j: i - 70 <= j <= i + 20,
        "in_loops": lambda i, j: j <= i + 3,
        "columns": lambda i, j: i < j - 9,
    }[function.__name__]
    every = {(i, j) for i in range(N) for j in range(N)}
    needed = {(i, j) for i, j in every if lets(i, j)}
    left = sum_elements(function)
    assert needed <= left < every
    starts = {i: i // BLOCK * BLOCK for i in range(N)}
    assert left <= {(i, j) for i, j in every if any(lets(k, j) for k in range(starts[i], starts[i] + BLOCK))}
    with without("masked_updates"):
        assert sum_elements(function) == every


@pytest.mark.parametrize("function", KEPT, ids=lambda f: f.__name__)
def test_a_sum_whose_elements_are_read_is_whole(function):
    assert len(sum_elements(function)) == N * N


def test_elements_that_are_read_before_the_mask_are_kept():
    assert {(i, N - 1 - i) for i in range(N)} <= sum_elements(read_before) < {(i, j) for i in range(N) for j in range(N)}


@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("n", [N, 1, 64, 65])
@pytest.mark.parametrize("function", (*CHANGED, *KEPT, read_before), ids=lambda f: f.__name__)
@pytest.mark.sweep(keep=24)
def test_no_bit_changes_but_by_the_order_of_sums(function, n, fp):
    def call():
        given = arguments(function, n)
        with np.errstate(all="ignore"):
            result = polyml.kernel(fp=fp, cache=False, fallback="error", threads=1)(function)(*given)
        return [*given, *(result if isinstance(result, tuple) else () if result is None else (result,))]

    with without("masked_updates"):
        wanted = call()
    for got, right in zip(call(), wanted, strict=True):
        if fp == "strict":
            np.testing.assert_array_equal(got, right)
        else:
            np.testing.assert_allclose(got, right, rtol=1e-12, atol=1e-12)
