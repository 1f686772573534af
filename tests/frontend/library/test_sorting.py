"""np.sort, np.argsort, np.median and A.sort() in kernels, beside NumPy's."""

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check, runs_as_python

KINDS = ["float64", "float32", "float16", "complex128", "int64", "int32", "int8", "uint64", "bool"]


def stable(v):
    return np.sort(v, kind="stable")


def rows(A):
    return np.sort(A), np.sort(A, axis=0)


def in_place(A):
    A.sort()
    A.sort(axis=0)


def order(A):
    return np.argsort(A, kind="stable"), A.argsort(axis=0, stable=True)


def in_loops(A):
    total = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        row = np.sort(A[i])
        total[i] = row[0] - row[A.shape[1] // 2]
    return total


def reordered(v, w):
    at = np.argsort(v, kind="stable")
    return v[at], w[at]


def medians(A):
    return np.median(A, axis=1), np.median(A, axis=0), np.median(A * 2, axis=-1)


def filtered(v):
    out = np.zeros(v.shape[0] - 4)
    for i in range(v.shape[0] - 4):
        window = np.empty(5, v.dtype)
        for j in range(5):
            window[j] = v[i + j]
        out[i] = np.median(window)
    return out


def arrays(kind):
    """Returns matrices of a type with equal elements, of several sizes, some with NaN."""
    numbers = np.random.default_rng(0)
    made = [
        (numbers.random(shape) * 9).astype(kind) for shape in ((3, 50), (40, 7), (1, 1), (2, 0), (0, 2), (5, 16), (5, 17), (2, 200))
    ]
    if made[0].dtype.kind in "fc":
        made.append(np.where(numbers.random((6, 40)) > 0.8, np.nan, made[0][0, 0] * numbers.random((6, 40))).astype(kind))
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_each_type_are_sorted(kind):
    given = arrays(kind)
    check(rows, *((A,) for A in given), (given[0][:, ::-2].T,), settings=({}, {"threads": 2}))
    check(in_place, *((A,) for A in given), (given[0][:, ::-2].T,), settings=({},))
    check(stable, *((A[0],) for A in given if len(A)), settings=({},))


@pytest.mark.parametrize("kind", KINDS)
def test_equal_elements_keep_their_order(kind):
    check(order, *((A,) for A in arrays(kind)), settings=({}, {"threads": 2}))
    check(reordered, *((A[0], A[-1] + A[0]) for A in arrays(kind) if len(A)), settings=({},))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("float16", "complex128")])
def test_medians_are_numpys(kind):
    check(medians, *((A,) for A in arrays(kind) if A.size), settings=({}, {"threads": 2}))


def test_vectors_are_sorted_in_loops():
    check(in_loops, (np.random.default_rng(0).random((30, 9)),), (np.ones((0, 3)),))
    check(filtered, (np.random.default_rng(0).random(100),), (np.random.default_rng(0).random(40).astype("float32"),))


def test_a_median_of_no_elements_runs_as_plain_python():
    with pytest.warns(RuntimeWarning):
        runs_as_python(medians, np.ones((3, 0)))


def test_what_is_refused_says_what_would_be_accepted():
    def single(v):
        return np.sort(v)

    def ties(v):
        return np.argsort(v)

    for function, text in (
        (single, "np.sort in loops, and along one of several axes"),
        (ties, "kind='stable', which says what it is"),
    ):
        with pytest.raises(polyml.NotAffineError, match=text):
            polyml.kernel(fallback="error")(function)(np.ones(3))
        runs_as_python(function, np.array([3.0, 1.0, 2.0]))


@pytest.mark.parametrize("kind", ["int64", "int32", "int8", "uint64", "uint8", "bool"])
def test_integers_that_lie_close_together_are_counted(kind):
    limits = (0, 1) if kind == "bool" else (np.iinfo(kind).min, np.iinfo(kind).max)
    close = np.random.default_rng(3).integers(0, 2 if kind == "bool" else 40, (3, 90))
    least, greatest = (np.array([limits[0]]).astype(kind), np.array([limits[1]]).astype(kind))
    lowest, highest = (least + close.astype(kind), greatest - close.astype(kind)) if kind != "bool" else (close > 0, close > 1)
    both = np.append(lowest.ravel(), highest.ravel()).reshape(3, 180)
    check(rows, (lowest,), (highest,), (both,), (lowest[:, ::2],))
    check(order, (lowest,), (highest,), (both,), settings=({},))
