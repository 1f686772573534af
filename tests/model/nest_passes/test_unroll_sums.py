"""Short loops that add up one element become one statement; other loops stay, and all compute what Python computes."""

import numpy as np
import pytest

import polyml
from polyml.errors import PolymlError
from tests.model.modelling import MATRIX, VECTOR, model


def convolution(A, w, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            s = 0.0
            for p in range(3):
                for q in range(3):
                    s += w[p, q] * A[i + p - 1, j + q - 1]
            B[i, j] = s


def into_the_array(A, w, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            B[i, j] = 0.0
            for p in range(3):
                B[i, j] += w[p, 0] * A[i + p - 1, j]


def in_place(A, w, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            for p in range(-1, 2):
                for q in range(-1, 2):
                    A[i, j] += w[p + 1, q + 1] * A[i + p, j + q]


def neighbours(A, w, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            s = 0.0
            for p in range(1, -2, -1):
                for q in range(-1, 2):
                    if p != 0 or q != 0:
                        d = A[i + p, j + q] - A[i, j]
                        s += d * abs(d)
            B[i, j] = s


def wrapped(A, w, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            m = A[i, j]
            for p in range(3):
                m = max(m, A[i - i % 2, j - p])
            B[i, j] = m


def triangle(A, w, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s = 1.0
            for p in range(3):
                for q in range(p, 3):
                    s *= 1.0 + 0.5 * w[p, q] * A[i, j]
            B[i, j] = s


def where(A, w, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            best = w[0, 0]
            at = 0
            for p in range(1, 3):
                if abs(w[p, 0] - A[i, j]) < abs(best - A[i, j]):
                    best = w[p, 0]
                    at = p
            B[i, j] = best + at


def never(A, w, B):
    for i in range(A.shape[0]):
        s = A[i, 0]
        for p in range(3, 3):
            s += w[p, p]
        B[i, 0] = s


WRITTEN_OUT = {convolution: 1, into_the_array: 1, in_place: 2, neighbours: 1, wrapped: 1, triangle: 1, never: 1}


@pytest.mark.parametrize("function", [*WRITTEN_OUT, where])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
@pytest.mark.parametrize("shape", [(9, 21), (3, 3), (2, 7), (4, 0)])
@pytest.mark.sweep(keep=16)
def test_what_is_written_out_computes_what_python_computes(function, dtype, shape):
    rng = np.random.default_rng(7)
    A, w, B = (rng.integers(-3, 4, s).astype(dtype) for s in (shape, (3, 3), shape))
    if dtype != "i4":
        A += np.asarray(0.25, dtype)
    expected, found = [A.copy(), w.copy(), B.copy()], [A.copy(), w.copy(), B.copy()]
    try:
        with np.errstate(over="ignore"):
            function(*expected)
    except (IndexError, OverflowError) as error:
        with pytest.raises(type(error)):
            polyml.kernel(cache=False, fallback="error", threads=2)(function)(*found)
        return
    try:
        polyml.kernel(cache=False, fallback="error", threads=2)(function)(*found)
    except PolymlError:
        assert dtype == "i4"  # whose types depend on the path
        return
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=1e-5 if dtype == "f4" else 1e-12)


@pytest.mark.parametrize("function, statements", WRITTEN_OUT.items())
def test_as_few_statements_as_there_are_elements(function, statements):
    scop = model(function, MATRIX, MATRIX, MATRIX)
    assert len(scop.statements) == statements
    assert all(len(s.iterators) <= 2 for s in scop.statements.values())


def channels(A, w, B):
    for i in range(A.shape[0]):
        s = 0.0
        for c in range(A.shape[1]):
            for p in range(3):
                s += w[c, p] * A[i, c]
        B[i, 0] = s


def columns(A, w, B):
    for i in range(A.shape[0]):
        for p in range(3):
            B[i, p] = A[i, p] * w[p, p]


def long(A, w, B):
    for i in range(A.shape[0]):
        s = 0.0
        for p in range(40):
            s += A[i, p]
        B[i, 0] = s


@pytest.mark.parametrize("function", [channels, columns, long])
def test_sums_that_go_on_other_elements_and_long_loops_stay_loops(function):
    deepest = max(len(s.iterators) for s in model(function, MATRIX, MATRIX, MATRIX).statements.values())
    assert deepest == (3 if function is channels else 2)


def beyond(A, x):
    for i in range(A.shape[0]):
        s = 0.0
        for p in range(3):
            s += A[i, p]
        x[i] = s


def test_an_index_outside_is_still_found_at_entry_with_its_iteration():
    kernel = polyml.kernel(cache=False, fallback="error")(beyond)
    x = np.zeros(4)
    with pytest.raises(IndexError, match="p = 2"):
        kernel(np.ones((4, 2)), x)
    assert not x.any()
    assert len(model(beyond, MATRIX, VECTOR).statements) == 1


def constants(A, w, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            for p in range(3):
                for q in range(3):
                    B[i, j] += A[i, j] * p + q


def whole_rows(A, w, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            for p in range(14):
                for q in range(3):
                    B[i, j] += A[i, j] * p + q


@pytest.mark.parametrize("function", [constants, whole_rows])
def test_short_loops_are_not_cut_into_pieces(function):
    kernel = polyml.kernel(cache=False, fallback="error")(function)
    A, B = np.random.default_rng(0).random((2, 40, 50))
    expected = B.copy()
    function(A, None, expected)
    kernel(A, A, B)
    np.testing.assert_allclose(B, expected)
    assert "split" not in kernel.explain()
