"""np.quantile and np.percentile in kernels, beside NumPy's."""

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check, runs_as_python

KINDS = ["float64", "int64", "int32", "int8", "uint8", "uint64"]


def of_rows(A):
    return np.percentile(A, 30, axis=1), np.quantile(A, 0.71, axis=0), np.percentile(A, 100.0, axis=-1)


def high_ones(A):
    return np.quantile(A, 0.95, axis=1)


def in_loops(A, q):
    out = np.empty((A.shape[0], 4))
    for i in range(A.shape[0]):
        out[i, 0] = np.quantile(A[i], q)
        out[i, 1] = np.percentile(A[i], 25)
        out[i, 2] = np.percentile(A[i, 1:], 2.5)
        out[i, 3] = np.quantile(A[:, i], q) if i < A.shape[1] else 0.0
    return out


def of_a_vector(v, at):
    return np.quantile(v, at), np.percentile(v, at * 100.0), np.percentile(v, 50)


def numbers(kind, shape, seed=0):
    random = np.random.default_rng(seed)
    if kind == "float64":
        return random.standard_normal(shape)
    limits = np.iinfo(kind)
    return random.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)


@pytest.mark.parametrize("kind", KINDS)
def test_quantiles_of_each_type_are_numpys(kind):
    check(
        of_rows,
        *((numbers(kind, shape),) for shape in ((3, 9), (5, 70), (1, 1), (2, 1), (4, 2))),
        settings=({}, {"fp": "strict", "threads": 2}),
    )
    check(in_loops, *((numbers(kind, shape), q) for shape in ((3, 9), (2, 2)) for q in (0.0, 0.5, 0.37, 1.0)), settings=({},))


@pytest.mark.parametrize("kind", KINDS[1:])
def test_quantiles_of_a_vector_of_integers_are_numpys(kind):
    given = [numbers(kind, size) for size in (1, 2, 10, 300, (4, 5))]
    check(of_a_vector, *((v, at) for v in given for at in (0.0, 0.1, 0.77, 1.0)), settings=({},))


def test_quantiles_beside_infinity_and_of_nan_are_numpys():
    A = np.array([[1.0, np.inf, 2.0, 3.0], [np.nan, 1.0, 2.0, 5.0], [-np.inf, np.inf, 0.0, -0.0], [np.inf, np.inf, 1.0, 2.0]])
    check(of_rows, (A,), (A[:1],))
    check(in_loops, (A, 0.4), (A, np.float64(0.9)))


def slow_to_part(size, place):
    """Returns numbers of which each pivot leaves out few: they are chosen while comparisons ask for them (McIlroy, "A killer adversary", 1999)."""
    chosen, undecided = {}, [0]

    def value(k):
        return chosen.get(k, size)

    def less(a, b):
        if a != b and a not in chosen and b not in chosen:
            chosen[a if a == undecided[0] else b] = len(chosen)
        if a not in chosen:
            undecided[0] = a
        elif b not in chosen:
            undecided[0] = b
        return value(a) < value(b)

    order, low, high, rounds = list(range(size)), 0, size - 1, 0
    while low < high:
        pivot, i, j, rounds = order[(low + high) // 2], low, high, rounds + 1
        while i <= j:
            while less(order[i], pivot):
                i += 1
            while less(pivot, order[j]):
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i, j = i + 1, j - 1
        low, high = (low, j) if place <= j else (i, high) if place >= i else (low, low)
    return np.array([float(value(k)) for k in range(size)]), rounds


def test_numbers_that_part_slowly_are_sorted():
    numbers, rounds = slow_to_part(400, int(399 * 0.95))
    assert rounds > 100
    check(high_ones, (np.array([numbers, numbers[::-1]]),), settings=({},))


def test_errors_are_numpys():
    kernel = polyml.kernel(fallback="error")(in_loops)
    for q in (-0.1, 1.5, np.nan):
        with pytest.raises(ValueError, match=r"Quantiles must be in the range \[0, 1\]"):
            kernel(np.ones((2, 3)), q)


def test_what_is_refused_says_what_would_be_accepted():
    def nearest(A):
        return np.quantile(A, 0.5, axis=1, method="nearest")

    def single(v):
        return np.percentile(v, 50)

    for function, given, text in (
        (nearest, np.ones((2, 3)), "np.quantile by this method(.|\n)*polyml compiles: 'linear'"),
        (single, np.ones(3), "one of integers, and others in loops"),
        (of_rows, np.ones((2, 3), "float32"), "np.percentile of this type(.|\n)*polyml compiles: float64 and integers"),
    ):
        with pytest.raises(polyml.NotAffineError, match=text):
            polyml.kernel(fallback="error")(function)(given)
        runs_as_python(function, given)


def test_quantiles_of_no_elements_run_as_plain_python():
    def of_columns(A):
        return np.quantile(A, 0.5, axis=0)

    check(of_columns, (np.ones((3, 0)),), settings=({},))
    with pytest.raises(IndexError) as plain:
        of_columns(np.ones((0, 3)))
    with pytest.raises(IndexError, match=str(plain.value)):
        polyml.kernel(of_columns)(np.ones((0, 3)))
