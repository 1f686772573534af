"""Reductions that leave NaN out, and comparisons of whole arrays, beside NumPy's."""

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check, runs_as_python


def without_nan(A):
    return (
        np.nansum(A),
        np.nanmean(A),
        np.nanvar(A),
        np.nanstd(A, ddof=1),
        np.nansum(A, axis=1),
        np.nanmean(A, axis=0),
        np.nanstd(A, axis=1, keepdims=True),
    )


def extremes(A):
    return np.nanmax(A), np.nanmin(A), np.nanmax(A, axis=0), np.nanmin(A, axis=1, keepdims=True)


def windows(x, n, out):
    for i in range(out.shape[0]):
        out[i] = np.nanstd(x[i : i + n])


def comparisons(A, B):
    return (
        np.isclose(A, B),
        np.allclose(A, B),
        np.allclose(A, A),
        np.isclose(A, B, rtol=0.1, atol=2),
        np.array_equal(A, B),
        np.array_equal(A, A),
    )


def of_numbers(x, y):
    return np.isclose(x[0], 1.0), np.isclose(x[0], y), np.isclose(0.5, y), np.allclose(x, 1)


def other_shapes(x, A):
    return np.array_equal(x, A), np.array_equal(x, x[1:]), np.array_equal(x[:1], x)


def not_zero(A):
    return np.count_nonzero(A), np.count_nonzero(A, axis=0), np.count_nonzero(A > 1, axis=1, keepdims=True)


def evenly(n, a, b):
    return np.linspace(a, b, n), np.linspace(a, b, n, endpoint=False), np.linspace(a, 2, n, dtype=np.int64)


def numbers(kind):
    A = (np.random.default_rng(0).random((6, 7)) * 9).astype(kind)
    if A.dtype.kind in "fc":
        A[1, 2:4] = A[5, 0] = np.nan
    return A


@pytest.mark.parametrize("kind", ["float64", "float32", "complex128", "int64", "int8", "uint8", "bool"])
def test_reductions_leave_nan_out(kind):
    A = numbers(kind)
    check(without_nan, (A,), (A.T,), (A[:1],), bound=1e-5 if kind == "float32" else 1e-12)
    if kind != "complex128":
        check(extremes, (A,), (A[:, ::2],), settings=({},))


def test_rows_of_nan_give_nan():
    A = numbers(float)
    A[2] = np.nan
    check(extremes, (A,), (A[2:3],))
    check(without_nan, (A,), (A[2:3],), bound=1e-12)
    check(windows, (A.ravel(), 5, np.zeros(30)), bound=1e-12)


@pytest.mark.parametrize("kind", ["float64", "float32", "complex64", "int64", "uint8", "bool"])
def test_comparisons_are_numpys(kind):
    A = numbers(kind)
    B = A.copy()
    B[0, 0] += np.ones((), kind)
    B[3] = B[3] * 1
    check(comparisons, (A, B), (A, A), (A[:0], B[:0]), settings=({},))
    check(not_zero, (A,), (A[:0],), settings=({},))


def test_numbers_and_infinities_are_close_as_numpy_says():
    check(
        of_numbers,
        (np.array([1.0, np.inf]), 1.0),
        (np.array([np.inf, 1.0]), np.inf),
        (np.array([np.nan]), 1),
        (np.array([1.0]), 1 + 1e-9),
    )


def test_arrays_of_other_shapes_are_not_equal():
    runs_as_python(other_shapes, np.ones(3), np.ones((3, 3)))
    runs_as_python(other_shapes, np.ones(1), np.ones((1, 1)))


def test_np_linspace_is_numpys_bit_for_bit():
    for ends in ((0.1, 2.7), (1, 3), (np.float64(0.3), 7), (5e-324, 1e-323), (2.0, 2.0), (np.inf, 1.0), (-0.0, 0.0)):
        with np.errstate(all="ignore"):
            check(evenly, (5, *ends), settings=({"fp": "strict"},)) if np.isfinite(ends).all() else None
    runs_as_python(evenly, 5, np.float32(0.1), 2.0)
    runs_as_python(evenly, 1, 0.5, 2.0)


def test_an_extremum_of_nothing_runs_as_plain_python():
    with pytest.raises(ValueError, match="zero-size array to reduction operation fmax which has no identity"):
        polyml.kernel(fallback="silent")(extremes)(np.zeros((0, 3)))
