"""Strips of rows take in nests that add what rows have to results that do not move with them: sums, maxima, products over rows."""

import numpy as np
import pytest

import polyml
from polyml.schedule.legality import check
from tests.schedule.strips.test_row_strips import noted


def squares(X, W):
    P = X @ W
    return np.sum(P * P)


def column_sums(X, W):
    return np.sum(np.maximum(X @ W, 0), axis=0)


def column_tops(X, W):
    P = X @ W
    top = np.zeros(W.shape[1], X.dtype)
    for i in range(X.shape[0]):
        for j in range(W.shape[1]):
            top[j] = max(top[j], P[i, j])
    return top


def column_extrema(X, W):
    P = X @ W
    return np.max(P, axis=0), np.min(P)


def moments(X, W):
    Y = X @ W
    return np.sum(Y, axis=0), np.sum(Y * Y, axis=0)


def gradient(X, W, Y):
    R = np.tanh(X @ W) - Y
    return X.T @ R


def clusters(X, W):
    labels = np.argmin((W * W).sum(axis=0) - 2 * (X @ W), axis=1)
    member = (labels[:, None] == np.arange(W.shape[1])[None, :]).astype(X.dtype)
    return member.T @ X, member.sum(axis=0)


def in_loops(X, W, H, total, R):
    for i in range(X.shape[0]):
        for j in range(W.shape[1]):
            H[i, j] = 0.0
            for k in range(X.shape[1]):
                H[i, j] += X[i, k] * W[k, j]
    for j in range(W.shape[1]):
        for i in range(X.shape[0]):
            total[j] += abs(H[i, j])
    for k in range(X.shape[1]):
        for j in range(W.shape[1]):
            for i in range(X.shape[0]):
                R[k, j] += X[i, k] * H[i, j]


SHAPES = {
    squares: ((1031, 32), (32, 1029)),
    column_sums: ((1031, 32), (32, 1029)),
    column_tops: ((1031, 32), (32, 1029)),
    column_extrema: ((1031, 32), (32, 1029)),
    moments: ((1031, 32), (32, 1029)),
    gradient: ((4099, 24), (24, 67), (4099, 67)),
    clusters: ((4099, 24), (24, 67)),
    in_loops: ((4099, 24), (24, 67), (4099, 67), (67,), (24, 67)),
}


def arguments(function, dtype=np.float32, shapes=()):
    rng = np.random.default_rng(0)
    return [(rng.standard_normal(shape) * 3).astype(dtype) for shape in shapes or SHAPES[function]]


def results(function, given):
    found = function(*given)
    return [*(found if isinstance(found, tuple) else (found,)), *given]


def agree(kernel, function, given, wanted):
    for got, right in zip(results(kernel, given), results(function, wanted)):
        if right is not None:
            np.testing.assert_allclose(got, right, rtol=3e-3, atol=3e-2 if np.asarray(right).dtype.kind == "f" else 0)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("function", SHAPES, ids=lambda f: f.__name__)
def test_strips_that_add_compute_what_plain_python_does(function, threads):
    kernel = polyml.kernel(function, cache=False, threads=threads)
    agree(kernel, IN_NUMPY.get(function, function), arguments(function), arguments(function))
    (note,) = noted(kernel)
    assert "which add to" in note


def looped_in_numpy(X, W, H, total, R):
    H[:] = X @ W
    total += np.abs(H).sum(axis=0)
    R += X.T @ H


IN_NUMPY = {
    in_loops: looped_in_numpy,
    column_tops: lambda X, W: np.maximum(np.max(X @ W, axis=0), 0),
}  # plain Python takes its time


@pytest.mark.parametrize("rows", [1, 7, 16, 17, 63, 64, 65, 130, 1025])
@pytest.mark.parametrize("function", [squares, moments, column_extrema, clusters], ids=lambda f: f.__name__)
def test_for_any_number_of_rows(function, rows):
    kernel = polyml.kernel(function, cache=False, threads=2)
    shapes = ((rows, 24), (24, 1029 if function is not clusters else 67))
    agree(kernel, function, arguments(function, np.float64, shapes), arguments(function, np.float64, shapes))


@pytest.mark.parametrize("function", [column_sums, column_tops, column_extrema, gradient], ids=lambda f: f.__name__)
def test_whole_numbers_are_added_exactly_whatever_fp_says(function):
    function = {gradient: whole_gradient}.get(function, function)
    shapes = SHAPES.get(function, SHAPES[gradient])
    kernel = polyml.kernel(function, cache=False, threads=2, fp="strict")
    agree(kernel, IN_NUMPY.get(function, function), arguments(function, np.int64, shapes), arguments(function, np.int64, shapes))
    assert any("which add to" in note for note in noted(kernel))


def whole_gradient(X, W, Y):
    return X.T @ (X @ W - Y)


def test_results_are_the_same_in_each_run():
    kernel = polyml.kernel(moments, cache=False, threads=2)
    given = arguments(moments)
    first = [np.copy(r) for r in kernel(*given)]
    assert all(np.array_equal(a, b) for _ in range(5) for a, b in zip(first, kernel(*given)))


@pytest.mark.parametrize("function", [squares, moments], ids=lambda f: f.__name__)
def test_sums_in_order_are_left_alone(function):
    kernel = polyml.kernel(function, cache=False, threads=2, fp="strict")
    given = arguments(function, np.float64)
    agree(kernel, function, given, arguments(function, np.float64))
    assert not noted(kernel)


def test_threads_without_partial_results_are_refused(monkeypatch):
    from polyml.schedule.strips import row_strips

    monkeypatch.setattr(row_strips, "parallel_mark", lambda partial: "parallel")
    refused = []
    monkeypatch.setattr(check, "_refuse_carried", seen(check._refuse_carried, refused))
    kernel = polyml.kernel(squares, cache=False, threads=2)
    agree(kernel, squares, arguments(squares), arguments(squares))
    assert refused and not noted(kernel)
    assert "no strips of rows" in str(kernel.explain())


def seen(function, refused):
    def wrapped(*given):
        try:
            function(*given)
        except Exception as problem:
            refused.append(problem)
            raise

    return wrapped


def test_the_checkers_of_passes_accept_it():
    kernel = polyml.kernel(moments, cache=False, threads=2, check=True)
    agree(kernel, moments, arguments(moments), arguments(moments))
    assert noted(kernel)
